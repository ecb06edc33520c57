"""Questions and statements with labels, made by rule from data that the judge may be trained on.

A sentence of Wikipedia of a known form becomes a question and its answer ("X was founded in 1903" → "When was X founded?",
"In 1903."); the sentence after it is about the question too. Calls of SummEdits have questions that people answer. A
statement of another document, and an answer of another form, are not about the question.
"""

import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from evergold.text.words import Text, sentences
from scripts.judge_relevance.everyday import EVERYDAY

SEED = 41
MOST_OF_A_FORM = 120
SHORTEST = 4
MONTH = "January|February|March|April|May|June|July|August|September|October|November|December"
DATE = rf"(?:\d{{1,2}} )?(?:{MONTH})?(?: \d{{1,2}},)? ?\d{{4}}"
SUBJECT = r"(?P<s>(?!It |He |She |They |There |This |When |In |As )(?:The )?[A-Z][\w.'-]*(?: (?:[A-Z][\w.'-]*|of|the|and)){0,5})"
FORMS: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    ("time", rf"{SUBJECT} (?P<v>was|were) (?P<p>\w+ed|born|built|held|written) (?:in|on) (?P<a>{DATE})\b",
     "When {v} {s} {p}?", ("In {a}.", "{a}.", "{a}", "It was {a}.")),
    ("place", rf"{SUBJECT} (?P<v>was|is|are) (?P<p>born|located|based|situated|held) in (?P<a>[A-Z]\w+(?: [A-Z]\w+)?)\b",
     "Where {v} {s} {p}?", ("In {a}.", "{a}.", "{a}")),
    ("name", rf"{SUBJECT} (?P<v>was|is|were) (?P<p>\w+ed|written) by (?P<a>[A-Z][\w.'-]+(?: [A-Z][\w.'-]+){{0,2}})",
     "Who {v} {s} {p} by?", ("{a}.", "{a}", "It was {a}.", "By {a}.")),
    ("what", rf"{SUBJECT}(?: \([^)]*\))? (?P<v>is|was) (?P<a>an? [^,.;]{{8,60}})[,.;]",
     "What {v} {s}?", ("{a}.", "It {v} {a}.")),
    ("number", rf"{SUBJECT} (?P<v>has|have|had) (?P<p>[a-z ]{{0,20}}?)(?P<a>\d[\d,.]*) (?P<n>[a-z]+s)\b",
     "How many {n} does {s} have?", ("{a}.", "{a}", "About {a}.", "{a} {n}.")),
    ("yes", rf"{SUBJECT} (?P<v>is|was) (?P<a>an? [^,.;]{{8,40}})[,.;]",
     "{V} {s} {a}?", ("Yes.", "No.", "Yes, that is right.", "No, not at all.")),
)  # fmt: skip
REFUSALS = ("I'm sorry, I cannot answer that.", "The text does not mention this.", "I don't know.")


@dataclass(frozen=True)
class Example:
    """A question, a statement and whether it is about the question; `group` keeps a document in one fold."""

    source: str
    group: str
    question: str
    statement: str
    relevant: bool


def examples(rows: Path, summedits: Path) -> list[Example]:
    rng = random.Random(SEED)
    made = [*_asked(rows, rng), *_calls(summedits, rng), *_everyday(rng)]
    return made + list(_strangers([one for one in made if one.relevant], rng))


def _strangers(made: list[Example], rng: random.Random) -> Iterator[Example]:
    """Statements of other documents, half of them of the same source. Answers of a form ("In 1903.") are left out:
    they have the form that another question asks for."""
    made_by_form = {form for form, *_ in FORMS}
    free = [one for one in made if one.source not in made_by_form]
    by_source: dict[str, list[Example]] = {}
    for one in made:
        by_source.setdefault(one.source, []).append(one)
    for one in made:
        same = free if one.source in made_by_form else by_source[one.source]
        pools = [same, same if one.source == "spanish" else free]
        for other in map(rng.choice, pools):
            words = set(Text(other.statement).content)
            if other.group != one.group and len(words) > 2 and not words & set(Text(one.question).content):
                yield Example(one.source, one.group, one.question, other.statement, False)


def _asked(rows: Path, rng: random.Random) -> Iterator[Example]:
    """Questions made of sentences; of each form at most `MOST_OF_A_FORM`."""
    premises = list(dict.fromkeys(row["premise"] for row in map(json.loads, rows.open()) if _known(row)))
    rng.shuffle(premises)
    taken: dict[str, int] = {}
    for premise in premises:
        parts = sentences(premise)
        for number, sentence in enumerate(parts):
            for form, pattern, question, answers in FORMS:
                match = re.match(pattern, sentence)
                if match is None or taken.get(form, 0) >= MOST_OF_A_FORM:
                    continue
                taken[form] = taken.get(form, 0) + 1
                values = {key: value or "" for key, value in match.groupdict().items()}
                values["V"] = values["v"].capitalize()
                asked = question.format(**values)
                answer = rng.choice(answers).format(**values)
                yield Example(form, premise[:80], asked, answer[0].upper() + answer[1:], True)
                after = parts[number + 1] if number + 1 < len(parts) else ""
                if len(after.split()) >= SHORTEST:
                    yield Example("after", premise[:80], asked, after, True)
                break


def _known(row: dict[str, object]) -> bool:
    return str(row["source"]).split("-")[0] in ("fever", "fm2", "wice", "symmetric") and not row["held"]


def _calls(folder: Path, rng: random.Random) -> Iterator[Example]:
    """A question at the end of a turn, and the first sentence of the turn after it."""
    records = json.loads((folder / "summedits_sales_call.json").read_text())
    for call in sorted({record["doc"] for record in records}):
        turns = re.findall(r"^([A-Z][\w '().-]{0,40}):\s*(.*)$", call, re.MULTILINE)
        for (one, asking), (other, answering) in pairwise(turns):
            if one != other and asking.strip().endswith("?") and answering.strip():
                yield Example("call", call[:80], sentences(asking)[-1], sentences(answering)[0], True)


def _everyday(rng: random.Random) -> Iterator[Example]:
    for question, *statements in EVERYDAY:
        source = "spanish" if question.startswith("¿") else "everyday"
        for statement in statements:
            yield Example(source, question, question, statement, True)
        yield Example("refusal", question, question, rng.choice(REFUSALS), False)


def fold_of(groups: Sequence[str], folds: int) -> list[int]:
    order = {group: number % folds for number, group in enumerate(sorted(set(groups)))}
    return [order[group] for group in groups]
