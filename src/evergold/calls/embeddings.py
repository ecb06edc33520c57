"""An embeddings endpoint, called like any other target: one attempt embeds a batch of texts.

So it meets the same gate, budget, retries and log. An attempt keeps its vectors as base64 of 32-bit numbers, a quarter of
what the same numbers take as JSON, each scaled to length 1.
"""

import base64
from collections.abc import Iterator, Sequence
from typing import Any

from evergold.calls.endpoints import Endpoint
from evergold.calls.failures import classified, failed
from evergold.calls.prices import cost
from evergold.model.case import Case, CaseKind
from evergold.model.ident import content_hash
from evergold.model.run import Attempt, Usage

BATCH = 64


class EmbeddingTarget:
    """`openai/MODEL` at `/embeddings` of any OpenAI-compatible URL."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._client: Any = None

    @property
    def identity(self) -> str:
        return f"{self._endpoint.identity} (embeddings)"

    def request(self, case: Case, _seed: int | None) -> dict[str, Any]:
        return {"model": self._endpoint.model, "input": case.metadata["texts"]}

    async def attempt(self, case: Case, trial: int, seed: int | None) -> Attempt:
        import openai

        if self._client is None:
            self._client = openai.AsyncOpenAI(
                base_url=self._endpoint.base_url, api_key=self._endpoint.api_key, max_retries=0, timeout=None
            )
        try:
            # `float` is the protocol's own default; left out, the client would ask for base64.
            made = await self._client.embeddings.create(**self.request(case, seed), encoding_format="float")
        except openai.APIError as problem:
            failure = classified(problem)
            return failed(case, trial, failure.error_class, failure.message, failure.retry_after)
        except ValueError as problem:
            return failed(case, trial, "malformed", f"the endpoint's reply is not valid JSON: {problem}")
        return self._read(case, trial, made)

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None

    def _read(self, case: Case, trial: int, made: Any) -> Attempt:
        import numpy as np

        wanted = len(case.metadata["texts"])
        # The protocol does not promise the order of the texts; the index does.
        rows = sorted(getattr(made, "data", None) or (), key=lambda row: row.index)
        lengths = {len(row.embedding) for row in rows}
        if len(rows) != wanted or len(lengths) != 1:
            return failed(case, trial, "malformed", f"{wanted} texts were sent and {len(rows)} vectors came back")
        matrix = np.array([row.embedding for row in rows], dtype=np.float32)
        matrix /= np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-9)
        sent = getattr(getattr(made, "usage", None), "prompt_tokens", 0) or 0
        price = cost(self._endpoint.provider, self._endpoint.model, sent, 0)
        packed = {"size": matrix.shape[1], "float32": base64.b64encode(matrix.tobytes()).decode()}
        return Attempt(
            case_id=case.id, trial=trial, usage=Usage(input_tokens=sent, cost=price), metadata={"vectors": packed}
        )


def batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    return (texts[start : start + BATCH] for start in range(0, len(texts), BATCH))


def case_of(texts: Sequence[str]) -> Case:
    """A batch to embed, as the case that an attempt is made at."""
    name = content_hash(list(texts))[7:23]
    return Case(
        id=name,
        dataset="generation",
        kind=CaseKind.TASK,
        name=f"embed {len(texts)} texts",
        input=texts[0],
        metadata={"texts": list(texts)},
    )


def vectors_of(attempt: Attempt) -> Any:
    import numpy as np

    packed = attempt.metadata["vectors"]
    return np.frombuffer(base64.b64decode(packed["float32"]), dtype=np.float32).reshape(-1, packed["size"])
