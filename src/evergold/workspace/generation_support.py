"""The judge of a generation: whether passages support a sentence, asked as the metric `faithfulness` asks it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from evergold.bench.judge_names import check_judge, judge_named, make_judge
from evergold.bench.metrics.faithfulness import Faithfulness
from evergold.generate.spec import GenerationSpec
from evergold.generate.support import Supports
from evergold.model.case import Case, Context
from evergold.model.run import Attempt
from evergold.settings import Settings
from evergold.workspace.bench_workers import asked_by

if TYPE_CHECKING:
    from evergold.scale.executors import Workers


def judge_of(spec: GenerationSpec, settings: Settings) -> str | None:
    """The name of the judge that checks support; None where the section asks for no check. Raises for an unknown one."""
    if spec.citations.support == "none":
        return None
    name = judge_named(spec.citations.judge or None, settings)
    check_judge(name)
    return name


@asynccontextmanager
async def open_support(
    spec: GenerationSpec, settings: Settings, workers: "Workers | None" = None
) -> AsyncIterator[Supports | None]:
    """Give a function that asks the judge about one sentence, by workers where there are some; close the judge at the end."""
    name = judge_of(spec, settings)
    if name is None:
        yield None
        return
    judge, metric = make_judge(name, settings), Faithfulness()
    if workers is not None:
        judge = asked_by(workers, judge, name, settings)

    async def supports(sentence: str, contexts: Sequence[str]) -> bool | None:
        case = Case(id="support", input=sentence, contexts=tuple(Context(text=text) for text in contexts))
        made = await metric.measure_with(case, Attempt(case_id=case.id, output=sentence), judge)
        # Every claim of the sentence must be supported, as a record must not be half true.
        return None if made.value is None else made.value >= 1.0

    try:
        yield supports
    finally:
        close = getattr(judge, "close", None)
        if close is not None:
            await close()
