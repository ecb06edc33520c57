"""Report the outcome of a delivery. Every record that is dropped is counted here."""

from dataclasses import dataclass, field

from evergold.model.rejected import Rejected

KEPT_PROBLEMS = 100


@dataclass
class IngestReport:
    """Counts of a delivery, and one line for each of the first problems."""

    traces: int = 0
    spans: int = 0
    scores: int = 0
    corrections: int = 0
    reactions: int = 0
    duplicates: int = 0
    rejected: int = 0
    pending: int = 0
    problems: list[str] = field(default_factory=list)

    def reject(self, rejected: Rejected | str) -> None:
        self.rejected += 1
        if len(self.problems) < KEPT_PROBLEMS:
            self.problems.append(str(rejected))

    def add(self, other: "IngestReport") -> None:
        """Add what became of a further batch."""
        for name, number in other.counts().items():
            setattr(self, name, getattr(self, name) + number)
        self.problems += other.problems[: KEPT_PROBLEMS - len(self.problems)]

    def counts(self) -> dict[str, int]:
        return {name: value for name, value in vars(self).items() if isinstance(value, int)}
