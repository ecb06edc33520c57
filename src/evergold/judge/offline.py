"""The offline judge: the same questions as a model that judges, answered with no key and no network.

Rules grade what has a form (`rules`); a small encoder (`encoder`) answers everything else: whether evidence supports or refutes
a claim, whether an answer is right, whether a statement answers the question. `calibration.json` makes probabilities and
verdicts of its numbers. Texts in other languages than the measured ones are compared by their words and marked `outside`.
`docs/measurements/offline-judge.md` has its agreement with people.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from typing import Any

from evergold.errors import BadInput
from evergold.judge.code import has_code, looks_like_code
from evergold.judge.encoder import (
    LONGEST_WORD,
    REFUTED,
    SUPPORTED,
    Array,
    Encoder,
    ModelDamaged,
    hash_text,
    known_words,
    shipped_encoder,
    softmax,
)
from evergold.judge.evidence import (
    SMALL_WORDS,
    EvidenceSearch,
    compare_answers,
    compare_words,
    find_sentence,
    stems_of,
    window,
    windows,
)
from evergold.judge.rules import Grade, grade_by_rule, normal_text
from evergold.model.judge import JudgeAnswer, Question
from evergold.settings import Settings
from evergold.text.markers import without_markers
from evergold.text.words import LEAD, Text, fold_text, language_hits, language_of, sentences

VERSION = "14"
LANGUAGES = ("en", "es")
"""The languages whose answers were measured."""
LONGEST = 20_000
LOOKED_AT = 2000
FEWEST_OUTSIDE = 1.5
MANY_WORDS = 12  # of which a text in a known language has a small one
SAME_CODE, OTHER_CODE = 0.97, 0.3
LONG_REFERENCE = 3
SUREST = 6.0
TASKS = ("correctness", "claims", "statements")
VERDICTS = ("claim_verdicts", "statement_verdicts", "context_verdicts", "argument_verdicts", "assertion_verdicts")
BESIDE = ("p", "evidence", "uncertain")
Data = dict[str, Any]
Row = tuple[str, str, Data]
_REFUSAL = re.compile(
    r"\bi(?:'m| am) (?:sorry|unable|afraid)|\bi (?:cannot|can't|don't know|do not know)|\bas an ai\b|\bnot enough information|"
    r"\bno information\b|\bunable to (?:answer|help|find)|\blo siento|\bno puedo\b|\bno lo se\b|\bno (?:tengo|dispongo de|hay) "
    r"(?:\w+ )?(?:informacion|datos)|\bdesconozco\b"
)


@dataclass(frozen=True)
class Regression:
    """A logistic regression: weights by feature, and the bias."""

    weights: Mapping[str, float]
    bias: float

    def probability(self, row: Mapping[str, float]) -> float:
        total = self.bias + sum(weight * row[name] for name, weight in self.weights.items())
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))


@dataclass(frozen=True)
class FittedHeads:
    """The regression of each head, the thresholds of verdicts, and how near to each an answer is uncertain."""

    heads: Mapping[str, Regression]
    thresholds: Mapping[str, float]
    uncertain: Mapping[str, float]
    digest: str

    def is_uncertain(self, what: str, value: float) -> bool:
        return abs(value - self.thresholds[what]) < self.uncertain[what]


@cache
def shipped_calibration() -> FittedHeads:
    raw = files("evergold.judge").joinpath("calibration.json").read_bytes()
    data = json.loads(raw)
    heads = {name: Regression(**part) for name, part in data["heads"].items()}
    return FittedHeads(heads, data["thresholds"], data["uncertain"], hash_text(raw))


@dataclass(frozen=True)
class Support:
    """How likely a claim is supported and refuted, the evidence sentence, and whether its language is unmeasured."""

    supported: float
    refuted: float
    evidence: str = ""
    outside: bool = False
    identical: bool = False

    @property
    def verdict(self) -> str:
        borders = shipped_calibration().thresholds
        if self.supported >= borders["supported"]:
            return "supported"
        # Words alone cannot see a contradiction.
        return "contradicted" if self.refuted >= borders["refuted"] and not self.outside else "not_found"

    @property
    def uncertain(self) -> bool:
        return not self.identical and shipped_calibration().is_uncertain("supported", self.supported)

    def beside(self) -> Data:
        """What stands beside the verdict."""
        return {"p": round(self.supported, 3), "evidence": self.evidence, "uncertain": self.uncertain}


def refuses(text: str) -> bool:
    """Whether an answer declines to answer; only its beginning is looked at, where a refusal stands."""
    return bool(_REFUSAL.search(fold_text(text[:300])))


def is_outside(*texts: str) -> bool:
    """Whether texts are in a language that was not measured: by their small words or script, or for want of known words."""
    joined = " ".join(text[:LOOKED_AT] for text in texts)
    hits = language_hits(joined)
    best = max(hits, key=hits.__getitem__)
    measured = max(hits[language] for language in LANGUAGES)
    # One sentence has few small words: two that no measured language has are enough.
    if hits[best] >= FEWEST_OUTSIDE and hits[best] >= LEAD * measured:
        return best not in LANGUAGES
    words = re.findall(r"[^\W\d_]+", joined)
    if len(words) >= MANY_WORDS:
        return sum(fold_text(word) in SMALL_WORDS for word in words) < len(words) / 10
    # Of a text too short for that, whether the encoder knows its words; names it need not know.
    plain = [fold_text(word) for word in words if len(word) > 2 and word[0].islower()]
    return not measured and len(plain) > 1 and 2 * sum(word in known_words() for word in plain) < len(plain)


class OfflineJudge:
    """`lexical` leaves the encoder out; `strict` gives no score where an answer is uncertain."""

    def __init__(self, lexical: bool = False, strict: bool = False) -> None:
        self.lexical, self.strict = lexical, strict
        self.problem: str | None = None

    @cached_property
    def model(self) -> Encoder | None:
        """The encoder, loaded when first asked for; None where it is not wanted or its files are damaged."""
        if self.lexical:
            return None
        try:
            return shipped_encoder()
        except ModelDamaged as error:
            self.problem = str(error)
            return None

    @property
    def identity(self) -> str:
        fitted = shipped_calibration().digest[7:11]
        if self.model is not None:
            strict = ", strict" if self.strict else ""
            return f"offline/{VERSION} (encoder {self.model.digest[7:15]}+{fitted}{strict})"
        note = f"; no encoder: {self.problem}" if self.problem else ""
        return f"offline/{VERSION} (lexical, weights {fitted}{note})"

    async def ask(self, question: Question) -> JudgeAnswer:
        if question.task not in (*TASKS, *VERDICTS):
            return JudgeAnswer(reason=f"the offline judge does not know the task {question.task!r}")
        data: Data = getattr(self, f"_{question.task}")(question.inputs)
        details: Data = {"scoring": "offline"}
        if data.pop("outside", False):
            details["outside"] = True
        if self.problem:
            details["judge_problem"] = self.problem
        # The answer has the keys that were asked for; what is known besides stands beside each verdict.
        beside = [{key: one.pop(key) for key in BESIDE if key in one} for one in data.get("verdicts", ())]
        if any(beside):
            details["beside"] = beside
        unsure = data.pop("uncertain", 0)
        if unsure and self.strict:
            return JudgeAnswer(reason=f"offline: uncertain ({unsure} near the threshold)", details=details)
        return JudgeAnswer(data=data, details=details)

    def evidence(self, passages: Sequence[str]) -> EvidenceSearch:
        return EvidenceSearch(sentence for passage in passages for sentence in sentences(passage))

    def supports(self, claims: Sequence[str], evidence: EvidenceSearch) -> list[Support]:
        """The verdicts of many claims on one body of evidence; the encoder answers them in batches."""
        texts = [Text(claim[:LONGEST]) for claim in claims]
        whole = {normal_text(sentence.raw) for sentence in evidence.sentences}
        beside = [text.raw for text in evidence.sentences[:20]]
        outside = is_outside(*claims) or is_outside(*beside) or is_outside(*claims, *beside)
        result: dict[int, Support] = {}
        for number, text in enumerate(texts):
            if not text.stems or not evidence.sentences:
                result[number] = Support(0.0, 0.0, outside=outside)
            elif normal_text(text.raw) in whole:
                # A claim that the contexts have word for word needs no model.
                result[number] = Support(1.0, 0.0, find_sentence(text, evidence), outside, identical=True)
            # The encoder reads prose with words of its vocabulary.
            elif self.model is None or outside or min(map(len, text.words)) > LONGEST_WORD or looks_like_code(text.raw):
                row = compare_words(text, window(text, evidence))
                likely = shipped_calibration().heads["words"].probability(row)
                if looks_like_code(text.raw):
                    same = has_code(text.raw, "\n".join(sentence.raw for sentence in evidence.sentences))
                    likely = SAME_CODE if same else min(likely, OTHER_CODE)
                result[number] = Support(likely, 0.0, find_sentence(text, evidence), outside or self.model is None)
        left = [number for number in range(len(texts)) if number not in result]
        result |= zip(left, self._read([texts[number] for number in left], evidence), strict=True)
        return [result[number] for number in range(len(texts))]

    def _read(self, claims: Sequence[Text], evidence: EvidenceSearch) -> list[Support]:
        """Ask the encoder with the first window of each claim, and with the second where that does not support it."""
        read = [windows(claim, evidence) for claim in claims]
        given = self._ask_support([(claim, texts[0]) for claim, texts in zip(claims, read, strict=True)])
        least = shipped_calibration().thresholds["supported"]
        again = [n for n, texts in enumerate(read) if texts[1:] and given[n][0] < least]
        for number, (likely, _) in zip(again, self._ask_support([(claims[n], read[n][1]) for n in again]), strict=True):
            given[number] = max(given[number][0], likely), given[number][1]
        return [Support(*both, find_sentence(claim, evidence)) for claim, both in zip(claims, given, strict=True)]

    def _ask_support(self, pairs: Sequence[tuple[Text, str]]) -> list[tuple[float, float]]:
        """How likely each claim is supported and refuted by its window."""
        if not pairs or self.model is None:
            return []
        heads = shipped_calibration().heads
        logits = self.model.logits("support", [(text, claim.raw) for claim, text in pairs])
        rows = [support_features(claim, text, one) for (claim, text), one in zip(pairs, logits, strict=True)]
        return [(heads["support"].probability(row), heads["refuted"].probability(row)) for row in rows]

    def grade(self, question: str, expected: str, output: str) -> Grade:
        """Grade an answer by rule, else by the encoder, else by shared words."""
        expected, output = expected[:LONGEST], output[:LONGEST]
        ruled = None if self.lexical else grade_by_rule(question, expected, output)
        if ruled is not None:
            return ruled
        if self.model is None or is_outside(expected, output):
            shared = compare_answers(question, expected, output)["f1"]
            return Grade(min(0.99, shared), f"shared words {shared:.2f}")
        if len(sentences(expected)) > LONG_REFERENCE:
            # The share of a long reference that the answer supports; what it contradicts counts twice.
            supports = self.supports(list(sentences(expected)), self.evidence([output]))
            kept = sum(support.supported for support in supports) / len(supports)
            against = sum(support.verdict == "contradicted" for support in supports) / len(supports)
            reason = f"supports {kept:.2f} of the expected sentences and contradicts {against:.2f}"
            return Grade(max(0.0, min(0.99, kept - against)), reason)
        texts = (question, expected, output)
        right = float(self.model.logits("correct", [texts])[0, 0])
        row = grade_features(*texts, right, self.model.logits("support", grade_pairs(*texts)))
        value = shipped_calibration().heads["correct"].probability(row)
        return Grade(min(0.99, value), f"likely right {value:.2f}; the answer has {row['recall']:.0%} of the key words")

    def relevance(self, question: str, statements: Sequence[str]) -> list[float]:
        """How likely each statement answers the question."""
        if self.model is None or is_outside(question, *statements):
            asked = stems_of(question)
            return [min(1.0, 2 * len(asked & stems_of(text)) / max(1, len(asked))) for text in statements]
        logits = _ask_relevance(self.model, question, tuple(statements))
        head = shipped_calibration().heads["relevant"]
        rows = [relevance_features(question, text, one) for text, one in zip(statements, logits, strict=True)]
        return [head.probability(row) for row in rows]

    def _correctness(self, inputs: Data) -> Data:
        asked, expected, output = str(inputs.get("input", "")), inputs["expected"], inputs["output"]
        graded = self.grade(asked, expected, output)
        unsure = shipped_calibration().is_uncertain("right", graded.value)
        return {
            "reason": f"offline: {graded.reason}{', uncertain' if unsure else ''}",
            "score": 10 * graded.value,
            "outside": is_outside(expected, output),
            "uncertain": int(unsure),
        }

    def _claims(self, inputs: Data) -> Data:
        result = sentences(without_markers(inputs["output"]))
        return {"claims": [claim for claim in result if not claim.endswith("?")]}

    def _claim_verdicts(self, inputs: Data) -> Data:
        supports = self.supports(inputs["claims"], self.evidence(inputs["contexts"]))
        rows = [(one.verdict, _explain(one), one.beside()) for one in supports]
        return _conclude(rows, any(one.outside for one in supports))

    def _statements(self, inputs: Data) -> Data:
        return {"refusal": refuses(inputs["output"]), "statements": list(sentences(inputs["output"]))}

    def _statement_verdicts(self, inputs: Data) -> Data:
        fitted = shipped_calibration()
        least = fitted.thresholds["relevant"]
        rows = []
        values = self.relevance(inputs["input"], inputs["statements"])
        for value, text in zip(values, inputs["statements"], strict=True):
            verdict = "relevant" if value >= least and not refuses(text) else "irrelevant"
            beside = {"p": round(value, 3), "uncertain": fitted.is_uncertain("relevant", value)}
            rows.append((verdict, f"likely answers the question {value:.2f}, relevant from {least:.2f}", beside))
        return _conclude(rows, is_outside(inputs["input"], *inputs["statements"]))

    def _context_verdicts(self, inputs: Data) -> Data:
        claims = list(sentences(inputs["expected"]) or (inputs["expected"],))
        least = shipped_calibration().thresholds["supported"]
        rows: list[Row] = []
        for context in inputs["contexts"]:
            best = max((one.supported for one in self.supports(claims, self.evidence([context]))), default=0.0)
            reason = f"best support of an expected sentence {best:.2f}, useful from {least:.2f}"
            rows.append(("useful" if best >= least else "not_useful", reason, {}))
        return _conclude(rows, is_outside(*claims))

    def _assertion_verdicts(self, inputs: Data) -> Data:
        """Sentences about an answer: kinds of statements by their form, everything else by whether the answer supports it."""
        output, sentences_ = inputs["output"], inputs["sentences"]
        ruled = [find_stated(text, output) for text in sentences_]
        left = [_REPORTS.sub("", text) for text, known in zip(sentences_, ruled, strict=True) if known is None]
        supports = iter(self.supports(left, self.evidence([output])) if left else ())
        rows = []
        for known in ruled:
            support = Support(float(known), 0.0, identical=True) if known is not None else next(supports)
            reason = "by its form" if known is not None else f"likely true of the answer {support.supported:.2f}"
            rows.append(("true" if support.verdict == "supported" else "false", reason, support.beside()))
        return _conclude(rows, is_outside(output, *sentences_))

    def _argument_verdicts(self, inputs: Data) -> Data:
        least = shipped_calibration().thresholds["right"]
        rows: list[Row] = []
        for pair in inputs["pairs"]:
            graded = self.grade("", str(pair["expected"]), str(pair["actual"]))
            rows.append(("same" if graded.value >= least else "different", graded.reason, {"id": pair["id"]}))
        return _conclude(rows, False)


def _conclude(rows: Iterable[Row], outside: bool) -> Data:
    """The verdicts with their reasons and what stands beside them, and how many are uncertain."""
    verdicts: list[Data] = [
        {"id": number, "verdict": verdict, "reason": f"offline: {reason}", **beside}
        for number, (verdict, reason, beside) in enumerate(rows, start=1)
    ]
    return {"verdicts": verdicts, "outside": outside, "uncertain": sum(bool(one.get("uncertain")) for one in verdicts)}


_REPORTS = re.compile(
    r"^\W*(?:it |the answer |la respuesta )?(?:says?|states?|dice|afirma|indica) (?:that|que) ", re.IGNORECASE
)
_NAMES = re.compile(
    r"^\W*(?:it |the answer |la respuesta )?(?:names?|mentions?|gives?|states?|includes?|contains?|quotes?|shows?|"
    r"menciona|nombra|indica|da|incluye|contiene|cita) (?:the|an?|any|some|its|el|la|los|las|un|una)? ?(?P<what>[\w\s-]+?)\W*$",
    re.IGNORECASE,
)
_DATE = (
    r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\b\d{1,2}(?:st|nd|rd|th|º|\.)? (?:of |de )?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|"
    r"nov|dec|ene|abr|ago|dic)|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\w* \d{1,2}|\b(?:mon|tues|wednes|thurs|"
    r"fri|satur|sun)day\b|\b(?:lunes|martes|miercoles|jueves|viernes|sabado|domingo)\b|\b(?:tomorrow|today|manana|hoy)\b|"
    r"\b(?:within|in|en) (?:\d+|\w+) (?:hours?|(?:business )?days?|weeks?|months?|horas?|dias?|semanas?|meses)\b"
)
FORMS = {
    r"dead ?line|due date|date|day|fecha|plazo": _DATE,
    r"price|cost|costs|fee|amount|precio|coste|importe": r"[$€£¥]\s?\d|\d[\d.,]*\s?(?:[$€£¥]|eur\b|usd\b|gbp\b|euros?\b|"
    r"dollars?\b|pesos?\b|pounds?\b|cents?\b)|\b(?:free of charge|gratis|gratuit)",
    r"(?:tele)?phone(?: number)?|telefono": r"(?:\+|\b)\d[\d\s().-]{5,}\d",
    r"e-?mail(?: address)?|correo": r"\S@\S+\.\w",
    r"link|url|web ?site|web address|enlace": r"https?://|\bwww\.|\b\w+\.(?:com|org|net|io|es|de|eu)\b",
}
_APOLOGY = r"\b(?:sorry|apolog\w+|regret|forgive|lo siento|lamento|disculp\w+|perdon\w*)\b"


def find_stated(sentence: str, output: str) -> bool | None:
    """Whether a sentence about an answer, such as "names the price", is true of it by its form; None: no form decides."""
    bare, answer = fold_text(sentence), fold_text(output)
    if re.match(r"\W*(?:it |the answer )?(?:apologi[sz]es?|says sorry|se disculpa|pide perdon)\b", bare):
        return bool(re.search(_APOLOGY, answer))
    if re.match(r"\W*(?:it |the answer )?(?:refuses?|declines?|rechaza|se niega)\b\W*(?:to answer)?\W*$", bare):
        return refuses(output)
    named = _NAMES.match(bare)
    what = named["what"].strip() if named else ""
    form = next((form for kind, form in FORMS.items() if re.fullmatch(kind, what)), None)
    return None if form is None else bool(re.search(form, answer))


METRICS = {"correctness": "right", "faithfulness": "supported", "answer_relevancy": "relevant"}
"""What can be tried, and the verdict of each that counts."""


def try_metric(
    judge: OfflineJudge, metric: str, question: str, answer: str, reference: str = "", contexts: Sequence[str] = ()
) -> Data:
    """Judge one answer by one metric and show every claim with its verdict, probability and evidence."""
    good = METRICS[metric]
    value: float | None
    if metric == "correctness":
        graded = judge.grade(question, reference, answer).value
        verdict = "right" if graded >= shipped_calibration().thresholds["right"] else "wrong"
        verdict = "uncertain" if is_uncertain(metric, graded) else verdict
        sentence = find_sentence(Text(answer[:LONGEST]), judge.evidence([reference]))
        texts, judged = [answer], [{"verdict": verdict, "p": round(graded, 3), "evidence": sentence}]
        value, outside = round(graded, 3), is_outside(reference, answer)
    else:
        if metric == "faithfulness":
            texts = judge._claims({"output": answer})["claims"]
            made = judge._claim_verdicts({"claims": texts, "contexts": contexts})
        else:
            texts = list(sentences(answer))
            made = judge._statement_verdicts({"input": question, "statements": texts})
        judged, outside = made["verdicts"], made["outside"]
        hits = sum(one["verdict"] == good for one in judged)
        value = round(hits / len(judged), 3) if judged else None
        verdict = "unscored" if value is None else "pass" if hits == len(judged) else "fail"
    claims = [
        {"text": text, "verdict": one["verdict"], "p": one["p"], "evidence": one.get("evidence", "")}
        for text, one in zip(texts, judged, strict=True)
    ]
    language = language_of(f"{question} {reference} {answer} {' '.join(contexts)}"[:LOOKED_AT])
    origin = {"language": language, "outside": outside, "version": judge.identity}
    return {"metric": metric, "value": value, "verdict": verdict, "claims": claims, **origin}


def is_uncertain(metric: str, p: float) -> bool:
    """Whether a probability is so near to the threshold of its metric that either verdict may be right."""
    return shipped_calibration().is_uncertain(METRICS[metric], p)


def support_features(claim: Text, window: str, logits: Array) -> dict[str, float]:
    """What the calibration of support weighs: the encoder's log-odds of both verdicts, and the words."""
    shares = softmax(logits[None])[0]
    answers = {"model": _log_odds(float(shares[SUPPORTED])), "against": _log_odds(float(shares[REFUTED]))}
    return answers | compare_words(claim, window)


def grade_pairs(question: str, expected: str, output: str) -> list[tuple[str, str]]:
    """Reference and answer as evidence and claim, both ways; the question in front makes a sentence of a bare answer."""
    pairs = [(expected, output), (output, expected)]
    return pairs + [(f"{question} {one}", f"{question} {other}") for one, other in pairs] if question else pairs


def grade_features(question: str, expected: str, output: str, right: float, supports: Array) -> dict[str, float]:
    """What the calibration of correctness weighs: the answers of two heads, and the words of reference and answer."""
    shares = softmax(supports)
    return {
        "correct": max(-SUREST, min(SUREST, right)),
        "there": _log_odds(float(shares[::2, SUPPORTED].max())),
        "back": _log_odds(float(shares[1::2, SUPPORTED].max())),
        "against": _log_odds(float(shares[:, REFUTED].max())),
        "refuses": float(refuses(output) and not refuses(expected)),
        **compare_answers(question, expected, output),
    }


# Customers ask the same things: of the 91 answers of the demo 22 are distinct.
@lru_cache(2048)
def _ask_relevance(model: Encoder, question: str, statements: tuple[str, ...]) -> list[float]:
    return [float(one) for one in model.logits("relevant", [(question, text) for text in statements])[:, 0]]


def relevance_features(question: str, statement: str, answer: float) -> dict[str, float]:
    """What the calibration of relevance weighs: the encoder's answer, and the words of the question."""
    asked, given = stems_of(question), stems_of(statement)
    return {"model": max(-SUREST, min(SUREST, answer)), "asked": len(asked & given) / max(1, len(asked))}


def make_offline(address: str, _settings: Settings) -> OfflineJudge:
    """`offline`, `offline/lexical` for words alone, or `offline/strict` for no score where it is uncertain."""
    if address not in ("", "lexical", "strict"):
        raise BadInput(f"unknown offline judge {address!r}; write offline, offline/lexical or offline/strict")
    return OfflineJudge(lexical=address == "lexical", strict=address == "strict")


def _log_odds(share: float) -> float:
    bounded = min(max(share, 1e-6), 1 - 1e-6)
    return max(-SUREST, min(SUREST, math.log(bounded / (1 - bounded))))


def _explain(support: Support) -> str:
    if support.identical:
        return "the contexts have this sentence"
    notes = [f"support {support.supported:.2f}"]
    if support.verdict == "contradicted":
        notes.append(f"the contexts say otherwise ({support.refuted:.2f})")
    if support.uncertain:
        notes.append("uncertain")
    if support.outside:
        notes.append("outside the measured languages, by words alone")
    return "; ".join(notes)
