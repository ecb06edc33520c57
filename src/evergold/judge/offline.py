"""The offline judge: the same questions, answered with no key and no network. Weak, honest, labelled.

It compares words, numbers, names and word vectors; it does not understand. It sees that a claim is not in the contexts;
it does not see that one changed word turns a sentence around. `docs/offline-judge.md` has its agreement with people.
"""

from collections.abc import Callable
from typing import Any

from evergold.errors import BadInput
from evergold.judge.answers import RELEVANT_FROM, compare_answers, refuses, relevance
from evergold.judge.evidence import EvidenceSearch
from evergold.judge.features import claim_features
from evergold.judge.regression import shipped_weights
from evergold.model.judging import Answer, Question
from evergold.settings import Settings
from evergold.text.embed import embedder
from evergold.text.markers import without_markers
from evergold.text.words import Text, sentences

VERSION = "2"
SUPPORTED_FROM = 0.5
SAME_FROM = 0.8
USEFUL_COVERAGE = 0.6

Data = dict[str, Any]


class OfflineJudge:
    """`lexical` leaves word vectors out even where they are installed."""

    def __init__(self, lexical: bool = False) -> None:
        self.embedder = None if lexical else embedder()
        weights = shipped_weights()
        self._digest = weights.digest
        self._model = weights.lexical if self.embedder is None else weights.embedded
        self._tasks: dict[str, Callable[[Data], Data]] = {
            "correctness": self._correctness,
            "claims": self._claims,
            "claim_verdicts": self._claim_verdicts,
            "statements": self._statements,
            "statement_verdicts": self._statement_verdicts,
            "context_verdicts": self._context_verdicts,
            "argument_verdicts": self._argument_verdicts,
        }

    @property
    def identity(self) -> str:
        basis = "lexical" if self.embedder is None else self.embedder.name
        return f"offline/{VERSION} ({basis}, weights {self._digest[7:15]})"

    async def ask(self, question: Question) -> Answer:
        work = self._tasks.get(question.task)
        if work is None:
            return Answer(reason=f"the offline judge does not know the task {question.task!r}")
        return Answer(data=work(question.inputs), details={"scoring": "offline"})

    def support(self, claim: str, evidence: EvidenceSearch) -> tuple[float, dict[str, float]]:
        """The probability that the evidence supports a claim, and the features that say so."""
        text = Text(claim)
        if not text.stems or not evidence.sentences:
            return 0.0, {}
        row = claim_features(text, evidence)
        return self._model.probability(row), row

    def evidence(self, passages: list[str]) -> EvidenceSearch:
        return EvidenceSearch.of_passages(passages, self.embedder)

    def _correctness(self, inputs: Data) -> Data:
        alike = compare_answers(inputs["expected"], inputs["output"], self.embedder)
        parts = [f"shared words {alike.shared_words:.2f}"]
        if alike.near_words is not None:
            parts.append(f"near words {alike.near_words:.2f}")
        if alike.numbers is not None:
            parts.append(f"numbers {alike.numbers:.2f}")
        return {"reason": f"offline: {', '.join(parts)}", "score": 10 * alike.value}

    def _claims(self, inputs: Data) -> Data:
        result = sentences(without_markers(inputs["output"]))
        return {"claims": [claim for claim in result if not claim.endswith("?")]}

    def _claim_verdicts(self, inputs: Data) -> Data:
        evidence = self.evidence(inputs["contexts"])
        verdicts: list[Data] = []
        for number, claim in enumerate(inputs["claims"], start=1):
            p, row = self.support(claim, evidence)
            verdict = {"id": number, "verdict": _verdict(p, row), "reason": f"offline: {_why(p, row)}"}
            verdicts.append(verdict if inputs.get("mode") == "non_contradiction" else verdict | {"p": p})
        return {"verdicts": verdicts}

    def _statements(self, inputs: Data) -> Data:
        return {"refusal": refuses(inputs["output"]), "statements": list(sentences(inputs["output"]))}

    def _statement_verdicts(self, inputs: Data) -> Data:
        values = relevance(inputs["input"], inputs["statements"], self.embedder)
        return {
            "verdicts": [
                {
                    "id": number,
                    "verdict": "relevant" if value >= RELEVANT_FROM else "irrelevant",
                    "reason": f"offline: nearness to the question {value:.2f}",
                }
                for number, value in enumerate(values, start=1)
            ]
        }

    def _context_verdicts(self, inputs: Data) -> Data:
        claims = sentences(inputs["expected"]) or (inputs["expected"],)
        verdicts = []
        for number, context in enumerate(inputs["contexts"], start=1):
            evidence = self.evidence([context])
            best = max((self.support(claim, evidence)[0] for claim in claims), default=0.0)
            wanted = {word for claim in claims for word in Text(claim).content}
            covered = len(wanted & evidence.where.keys()) / max(1, len(wanted))
            useful = best >= SUPPORTED_FROM or covered >= USEFUL_COVERAGE
            reason = f"offline: holds {covered:.0%} of the expected words; best support {best:.2f}"
            verdicts.append({"id": number, "verdict": "useful" if useful else "not_useful", "reason": reason})
        return {"verdicts": verdicts}

    def _argument_verdicts(self, inputs: Data) -> Data:
        verdicts = []
        for pair in inputs["pairs"]:
            alike = compare_answers(str(pair["expected"]), str(pair["actual"]), self.embedder)
            same = alike.value >= SAME_FROM and alike.numbers in (None, 1.0)
            verdict = "same" if same else "different"
            verdicts.append({"id": pair["id"], "verdict": verdict, "reason": f"offline: likeness {alike.value:.2f}"})
        return {"verdicts": verdicts}


def make_offline(address: str, _settings: Settings) -> OfflineJudge:
    """`offline`, or `offline/lexical` for words alone."""
    if address not in ("", "lexical"):
        raise BadInput(f"unknown offline judge {address!r}; write offline, or offline/lexical")
    return OfflineJudge(lexical=address == "lexical")


def _verdict(p: float, row: dict[str, float]) -> str:
    if p >= SUPPORTED_FROM:
        return "supported"
    contradicting = row.get("negation", 0) > 0 or row.get("missing_numbers", 0) > 0
    return "contradicted" if contradicting and row.get("best_sentence", 0) >= SUPPORTED_FROM else "not_found"


def _why(p: float, row: dict[str, float]) -> str:
    if not row:
        return "nothing to compare"
    absent = {
        "missing_words": "words",
        "missing_numbers": "a number",
        "new_names": "a name",
        "negation": "its negation",
    }
    lacking = [what for name, what in absent.items() if row[name] > 0]
    return f"support {p:.2f}" + (f"; the contexts lack {', '.join(lacking)}" if lacking else "")
