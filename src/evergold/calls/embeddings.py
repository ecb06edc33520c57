"""An embeddings endpoint, called like any other target: one attempt embeds a batch of texts.

So it meets the same gate, budget, retries and log. An attempt keeps its vectors as base64 of 32-bit numbers, a quarter of
what the same numbers take as JSON, each scaled to length 1.
"""

import base64
from collections.abc import Iterator, Sequence
from typing import Any

from evergold.calls.caller import CallFailure, failed_attempt
from evergold.calls.endpoints import Endpoint, OpenAIClient
from evergold.model.case import Case, CaseKind
from evergold.model.run import Attempt
from evergold.model.values import content_hash

BATCH = 64
LARGEST = 1e30


class EmbeddingTarget:
    """`openai/MODEL` at `/embeddings` of any OpenAI-compatible URL."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._client = OpenAIClient(endpoint)

    @property
    def identity(self) -> str:
        return f"{self._endpoint.identity} (embeddings)"

    def request(self, case: Case, _seed: int | None) -> dict[str, Any]:
        return {"model": self._endpoint.model, "input": case.metadata["texts"]}

    async def attempt(self, case: Case, trial: int, seed: int | None) -> Attempt:
        try:
            # `float` is the protocol's own default; some servers want it said.
            made = await self._client.post("/embeddings", {**self.request(case, seed), "encoding_format": "float"})
        except CallFailure as failure:
            return failure.attempt(case, trial)
        return self._read(case, trial, made)

    async def close(self) -> None:
        await self._client.close()

    def _read(self, case: Case, trial: int, made: Any) -> Attempt:
        import numpy as np

        wanted = len(case.metadata["texts"])
        rows = _rows(made)
        lengths = {len(vector) for vector in rows}
        if len(rows) != wanted or len(lengths) != 1:
            return failed_attempt(
                case, trial, "malformed", f"{wanted} texts were sent and {len(rows)} vectors came back"
            )
        matrix = np.array(rows, dtype=np.float32)
        matrix /= np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-9)
        packed = {"size": matrix.shape[1], "float32": base64.b64encode(matrix.tobytes()).decode()}
        usage = self._endpoint.usage(made)
        return Attempt(case_id=case.id, trial=trial, usage=usage, metadata={"vectors": packed})


def _rows(made: Any) -> list[list[float]]:
    """The vectors in the order of their texts, which the protocol promises by their index alone."""
    data = made.get("data") if isinstance(made, dict) else None
    rows = [row for row in data if isinstance(row, dict)] if isinstance(data, list) else []
    listed = [row for row in rows if isinstance(row.get("index"), int) and isinstance(row.get("embedding"), list)]
    vectors = [row["embedding"] for row in sorted(listed, key=lambda row: row["index"])]
    # Numbers that 32 bits hold; NaN and infinity are none.
    return [one for one in vectors if all(isinstance(n, int | float) and -LARGEST < n < LARGEST for n in one)]


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
