"""The offline judge: the same questions, answered with no key and no network.

Evidence sentences are chosen by their words; a small model (`claim_model`) says whether they support or refute a claim;
model and words together give a calibrated probability. Answers are graded by rule and by entailment both ways. Without
its weights it is the lexical judge, and its identity says so. `docs/offline-judge.md` has its agreement with people.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from evergold.errors import BadInput
from evergold.judge.answer_words import compare_answers
from evergold.judge.code import has_code, looks_like_code
from evergold.judge.grades import grade, shipped_long_grading
from evergold.judge.polarity import refuses
from evergold.judge.relevance import basis, relevance, shipped_relevance
from evergold.judge.small_model import LONGEST_CLAIM as LONGEST_READ
from evergold.judge.small_model import REFUTED, ClaimModel, ModelDamaged, shipped_model
from evergold.judge.support import (
    MANY_SENTENCES,
    EvidenceSearch,
    claim_features,
    read,
    shipped_combination,
    shipped_thresholds,
    shipped_weights,
)
from evergold.model.judging import Answer, Question
from evergold.model.values import hash_bytes
from evergold.settings import Settings
from evergold.text.markers import without_markers
from evergold.text.words import Text, sentences

VERSION = "10"
ALIKE_FROM = 0.8
NEAR_SENTENCE = 0.5
SAME_CODE, OTHER_CODE = 0.97, 0.3
LOOKED_AT = 2000
LEAST_SHARED = 0.1
LONGEST_WORD = 100
LONGEST_CLAIM = 20_000
MOSTLY = 0.5

Data = dict[str, Any]


@dataclass(frozen=True)
class Support:
    """How likely a claim is supported and refuted, and the features of its words."""

    supported: float
    refuted: float
    row: dict[str, float]
    identical: bool = False

    @property
    def verdict(self) -> str:
        """Supported, contradicted or not support, by the thresholds of the calibration."""
        # Both thresholds are fitted on held-out data, together with the calibration.
        borders = shipped_combination().thresholds
        if self.supported >= borders["supported"]:
            return "supported"
        return "contradicted" if self.refuted >= borders["refuted"] else "not_found"


# Customers ask the same things: of the 91 answers of the demo 22 are distinct.
_remembered_relevance = lru_cache(2048)(relevance)


class OfflineJudge:
    """`lexical` leaves the small model out."""

    def __init__(self, lexical: bool = False) -> None:
        self.lexical = lexical
        self.problem: str | None = None
        self._tasks: dict[str, Callable[[Data], Data]] = {
            "correctness": self._correctness,
            "claims": self._claims,
            "claim_verdicts": self._claim_verdicts,
            "statements": self._statements,
            "statement_verdicts": self._statement_verdicts,
            "context_verdicts": self._context_verdicts,
            "argument_verdicts": self._argument_verdicts,
        }

    @cached_property
    def model(self) -> ClaimModel | None:
        """The small model, loaded when first asked for; None where it is not wanted or its files are damaged."""
        if self.lexical:
            return None
        try:
            return shipped_model()
        except ModelDamaged as error:
            self.problem = str(error)
            return None

    @property
    def identity(self) -> str:
        if self.model is not None:
            digests = [part.digest for part in (shipped_combination(), shipped_relevance(), shipped_long_grading())]
            fitted = f"{' '.join(digests)} {shipped_thresholds()}"
            weights = f"{self.model.digest[7:15]}+{hash_bytes(fitted.encode())[7:11]}"
            return f"offline/{VERSION} (claim model {weights})"
        note = f"; no claim model: {self.problem}" if self.problem else ""
        return f"offline/{VERSION} (lexical, weights {shipped_weights()[1][7:15]}{note})"

    async def ask(self, question: Question) -> Answer:
        work = self._tasks.get(question.task)
        if work is None:
            return Answer(reason=f"the offline judge does not know the task {question.task!r}")
        data = work(question.inputs)
        details: Data = {"scoring": "offline"} | ({"judge_problem": self.problem} if self.problem else {})
        # How likely each verdict is stands beside the answer: its keys are those that were asked for.
        likely = [one.pop("p") for one in data.get("verdicts", ()) if "p" in one]
        return Answer(data=data, details=details | ({"likely": likely} if likely else {}))

    def supports(self, claims: Sequence[str], evidence: EvidenceSearch) -> list[Support]:
        """The verdicts of many claims on one body of evidence; the model answers them in batches."""
        texts = [Text(claim[:LONGEST_CLAIM]) for claim in claims]
        empty = [not text.stems or not evidence.sentences for text in texts]
        rows = [{} if none else claim_features(text, evidence) for text, none in zip(texts, empty, strict=True)]
        words, _ = shipped_weights()
        by_words = [
            Support(_shared_factor(row) * words.probability(row) if row else 0.0, _guess_refutation(row), row)
            for row in rows
        ]
        if self.model is None:
            return by_words
        asked = [number for number, text in enumerate(texts) if rows[number] and _readable(text)]
        answers = read([texts[number] for number in asked], evidence, self.model)
        answered = dict(zip(asked, answers.tolist(), strict=True))
        whole = {sentence.stems for sentence in evidence.sentences}
        support = []
        for number, (text, row) in enumerate(zip(texts, rows, strict=True)):
            # A claim that the contexts have word for word needs no model.
            if row and text.stems in whole:
                support.append(Support(1.0, 0.0, row, identical=True))
            elif number in answered:
                answer = answered[number]
                likely = shipped_combination().probability(row, answer, _extent(text, evidence))
                support.append(Support(likely, answer[REFUTED], row))
            else:
                support.append(_of_code(text, evidence, by_words[number]) if row else by_words[number])
        return support

    def evidence(self, passages: list[str]) -> EvidenceSearch:
        return EvidenceSearch(sentence for passage in passages for sentence in sentences(passage))

    def _correctness(self, inputs: Data) -> Data:
        asked, expected, output = str(inputs.get("input", "")), inputs["expected"], inputs["output"]
        graded = None if self.lexical else grade(asked, expected, output, self.model)
        if graded is not None:
            return {"reason": f"offline: {graded.reason}", "score": 10 * graded.value}
        alike = compare_answers(expected, output)
        numbers = "" if alike.numbers is None else f", numbers {alike.numbers:.2f}"
        return {"reason": f"offline: shared words {alike.shared_words:.2f}{numbers}", "score": 10 * alike.value}

    def _claims(self, inputs: Data) -> Data:
        result = sentences(without_markers(inputs["output"]))
        return {"claims": [claim for claim in result if not claim.endswith("?")]}

    def _claim_verdicts(self, inputs: Data) -> Data:
        evidence = self.evidence(inputs["contexts"])
        verdicts: list[Data] = []
        for number, support in enumerate(self.supports(inputs["claims"], evidence), start=1):
            verdict = {"id": number, "verdict": support.verdict, "reason": f"offline: {_why(support)}"}
            verdicts.append(
                verdict if inputs.get("mode") == "non_contradiction" else verdict | {"p": support.supported}
            )
        return {"verdicts": verdicts}

    def _statements(self, inputs: Data) -> Data:
        return {"refusal": refuses(inputs["output"]), "statements": list(sentences(inputs["output"]))}

    def _statement_verdicts(self, inputs: Data) -> Data:
        values = _remembered_relevance(inputs["input"], tuple(inputs["statements"]), self.model)
        least = shipped_relevance().thresholds[basis(inputs["input"], self.model)]
        return {
            "verdicts": [
                {
                    "id": number,
                    "verdict": "relevant" if value >= least else "irrelevant",
                    "reason": f"offline: likely about the question {value:.2f}, relevant from {least:.2f}",
                }
                for number, value in enumerate(values, start=1)
            ]
        }

    def _context_verdicts(self, inputs: Data) -> Data:
        claims = list(sentences(inputs["expected"]) or (inputs["expected"],))
        least = shipped_thresholds()
        verdicts = []
        for number, context in enumerate(inputs["contexts"], start=1):
            best, covered = context_features(self, claims, context)
            useful = best >= least["useful_support"] or covered >= least["useful_coverage"]
            reason = f"offline: holds {covered:.0%} of the expected words; best support {best:.2f}"
            verdicts.append({"id": number, "verdict": "useful" if useful else "not_useful", "reason": reason})
        return {"verdicts": verdicts}

    def _argument_verdicts(self, inputs: Data) -> Data:
        verdicts = []
        for pair in inputs["pairs"]:
            expected, actual = str(pair["expected"]), str(pair["actual"])
            graded = None if self.lexical else grade("", expected, actual, self.model)
            if graded is not None:
                same, value = graded.value >= shipped_thresholds()["same"], graded.value
            else:
                alike = compare_answers(expected, actual)
                same, value = alike.value >= ALIKE_FROM and alike.numbers in (None, 1.0), alike.value
            verdict = "same" if same else "different"
            verdicts.append({"id": pair["id"], "verdict": verdict, "reason": f"offline: likeness {value:.2f}"})
        return {"verdicts": verdicts}


def context_features(judge: OfflineJudge, claims: Sequence[str], context: str) -> tuple[float, float]:
    """How far a context supports the best of the expected claims, and the share of their words that it holds."""
    evidence = judge.evidence([context])
    best = max((support.supported for support in judge.supports(claims, evidence)), default=0.0)
    wanted = {word for claim in claims for word in Text(claim).content}
    return best, len(wanted & evidence.where.keys()) / max(1, len(wanted))


def make_offline(address: str, _settings: Settings) -> OfflineJudge:
    """`offline`, or `offline/lexical` for words alone."""
    if address not in ("", "lexical"):
        raise BadInput(f"unknown offline judge {address!r}; write offline, or offline/lexical")
    return OfflineJudge(lexical=address == "lexical")


def _shared_factor(row: dict[str, float]) -> float:
    """1, or less for a claim that shares next to no word with any sentence: nothing can support it by words then."""
    return min(1.0, row["best_sentence"] / LEAST_SHARED)


def _guess_refutation(row: dict[str, float]) -> float:
    """Refutation as words alone show it: a number or a negation differs from a sentence that is otherwise near."""
    contradicting = row.get("negation", 0) > 0 or row.get("missing_numbers", 0) > 0
    return float(contradicting and row.get("best_sentence", 0) >= NEAR_SENTENCE)


def _extent(claim: Text, evidence: EvidenceSearch) -> int:
    """The sentences of evidence, by which words count; all of them count for a claim that the model reads only in part."""
    return len(evidence.sentences) if len(claim.words) <= LONGEST_READ else max(MANY_SENTENCES, len(evidence.sentences))


def _readable(claim: Text) -> bool:
    """Whether the small model can read a claim: prose with words of its vocabulary, most of whose letters are Latin."""
    if min(map(len, claim.words)) > LONGEST_WORD:
        return False
    letters = [letter for letter in claim.raw[:LOOKED_AT] if letter.isalpha()]
    # U+0250 ends the Latin letters: the vocabulary of the model has few words beyond.
    latin = sum(letter < "\u0250" for letter in letters)
    return latin >= MOSTLY * len(letters) and not looks_like_code(claim.raw)


def _of_code(claim: Text, evidence: EvidenceSearch, by_words: Support) -> Support:
    """Code is supported where the contexts have it token by token; other text is left to its words."""
    if not looks_like_code(claim.raw):
        return by_words
    if has_code(claim.raw, "\n".join(sentence.raw for sentence in evidence.sentences)):
        return Support(SAME_CODE, 0.0, by_words.row)
    return Support(min(by_words.supported, OTHER_CODE), by_words.refuted, by_words.row)


def _why(support: Support) -> str:
    if not support.row:
        return "nothing to compare"
    if support.identical:
        return "the contexts have this sentence"
    absent = {
        "missing_words": "words",
        "missing_numbers": "a number",
        "new_names": "a name",
        "negation": "its negation",
    }
    lacking = [what for name, what in absent.items() if support.row[name] > 0]
    refuted = f"; the contexts say otherwise ({support.refuted:.2f})" if support.verdict == "contradicted" else ""
    return f"support {support.supported:.2f}{refuted}" + (
        f"; the contexts lack {', '.join(lacking)}" if lacking else ""
    )
