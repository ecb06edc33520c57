"""Embedding similarity: near in meaning, by static word vectors. A hint, never a verdict on its own."""

from dataclasses import dataclass
from typing import ClassVar

from evergold.bench.metrics.reference import NO_REFERENCE, reference_text
from evergold.errors import Unavailable
from evergold.model.case import Case
from evergold.model.run import Attempt, Measurement
from evergold.text.embed import embedder


@dataclass(frozen=True)
class EmbeddingSimilarity:
    """Cosine of the embeddings of answer and expected answer; a negative one counts as 0."""

    version: ClassVar[str] = "1"
    compares: ClassVar[bool] = True

    def __post_init__(self) -> None:
        # A missing package is found when the run is planned, not case by case.
        if embedder() is None:
            raise Unavailable("metric embedding_similarity needs wordllama: pip install 'evergold[embeddings]'")

    def measure(self, case: Case, attempt: Attempt) -> Measurement:
        model, reference = embedder(), reference_text(case)
        if reference is None or model is None:
            return Measurement.not_applicable(NO_REFERENCE)
        if not attempt.output.strip():
            return Measurement.of(0.0, "the answer is empty")
        want, got = model.vectors([reference, attempt.output])
        return Measurement.of(min(1.0, max(0.0, float(want @ got))), model=model.name)
