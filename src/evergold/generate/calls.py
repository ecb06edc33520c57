"""The calls of a generation: the model that writes, the model that embeds, the judge of support, and what they share."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from evergold import plugins
from evergold.calls.budget import Budget
from evergold.calls.caller import Caller, Gate, RetryPolicy, close_all
from evergold.calls.embeddings import EmbeddingTarget, batches, case_of, vectors_of
from evergold.calls.endpoints import openai_endpoint
from evergold.calls.targets import make_target, parse_name
from evergold.errors import BadInput, Unavailable
from evergold.generate.maker import Supports
from evergold.generate.model_writer import Asker, CallLog, Spent
from evergold.generate.passages import Embed
from evergold.generate.spec import GenerationSpec
from evergold.judge.names import check_judge, judge_named, make_judge
from evergold.model.case import Case, Context
from evergold.model.run import Attempt
from evergold.settings import Settings
from evergold.text.embed import embedder

STATIC = "static"


@asynccontextmanager
async def open_calls(
    spec: GenerationSpec, log_path: Path, settings: Settings, spent: Spent, *, fresh: bool
) -> AsyncIterator[tuple[Asker | None, Embed | None]]:
    """Open everything that can be called, and close it at the end. Nothing is opened that the spec does not use.

    Without a model there is nobody to ask; without vectors contexts are found by words.
    """
    embeds = spec.retrieval.method == "embeddings"
    calls_out = embeds and spec.retrieval.model != STATIC
    # Nothing that could be called: then no log is opened, and no key or price is needed.
    if not spec.model and not calls_out:
        yield None, _static_embed() if embeds else None
        return
    target = make_target(spec.model, spec.params, settings) if spec.model else None
    # A budget in money without a price would never end the generation.
    if spec.budget.money is not None and target is not None and not getattr(target, "priced", True):
        raise BadInput(f"no price is known for {target.identity}; give the budget in tokens")
    vectors = _embedding_target(spec.retrieval.model, settings) if calls_out else None
    # The log is opened after everything that can be refused: a wrong setting leaves no empty file behind.
    log = CallLog.open(log_path, fresh=fresh)
    caller = Caller(
        gate=Gate(spec.concurrency),
        budget=Budget(tokens=spec.budget.tokens, money=spec.budget.money),
        retry=RetryPolicy(tries=settings.benchmark_tries),
        deadline=float(spec.params.get("timeout", settings.benchmark_timeout)),
    )
    try:
        yield (
            Asker(target, caller, log, spent) if target else None,
            _embed_by(Asker(vectors, caller, log, spent)) if vectors else _static_embed() if embeds else None,
        )
    finally:
        await close_all(target, vectors, log)


def _embedding_target(model: str, settings: Settings) -> EmbeddingTarget:
    name = parse_name(model)
    if name.plugin != "openai":
        raise BadInput(f"generation.retrieval.model {model!r} cannot embed; write openai/NAME or {STATIC}")
    return EmbeddingTarget(openai_endpoint(name.address, settings))


def _embed_by(asker: Asker) -> Embed:
    async def embed(texts: Sequence[str]) -> Any:
        import numpy as np

        parts = []
        for batch in batches(texts):
            attempt = await asker.put(case_of(batch))
            if attempt.error is not None:
                raise Unavailable(f"{asker.target.identity} could not embed {len(batch)} texts: {attempt.error}")
            parts.append(vectors_of(attempt))
        return np.concatenate(parts)

    return embed


def _static_embed() -> Embed:
    model = embedder()
    if model is None:
        raise Unavailable(
            "retrieval by static vectors needs wordllama: pip install 'evergold[embeddings]', or name openai/MODEL"
        )

    async def embed(texts: Sequence[str]) -> Any:
        return model.vectors(texts)

    return embed


def judge_of(spec: GenerationSpec, settings: Settings) -> str | None:
    """The name of the judge that checks support; None where the section asks for no check. Raises for an unknown one."""
    if spec.citations.support == "none":
        return None
    name = judge_named(spec.citations.judge or None, settings)
    check_judge(name)
    return name


@asynccontextmanager
async def open_support(spec: GenerationSpec, settings: Settings) -> AsyncIterator[Supports | None]:
    """Give a function that asks the judge, as the metric `faithfulness` does, about one sentence; close the judge at the end."""
    name = judge_of(spec, settings)
    if name is None:
        yield None
        return
    judge, metric = make_judge(name, settings), plugins.load("metrics", "faithfulness")

    async def supports(sentence: str, contexts: Sequence[str]) -> bool | None:
        case = Case(id="support", input=sentence, contexts=tuple(Context(text=text) for text in contexts))
        made = await metric.measure_with(case, Attempt(case_id=case.id, output=sentence), judge)
        # Every claim of the sentence must be supported, as a record must not be half true.
        return None if made.value is None else made.value >= 1.0

    try:
        yield supports
    finally:
        await close_all(judge)
