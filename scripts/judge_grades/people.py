"""Read answers that people graded against an expected answer of several sentences.

realsumm/{abs,ext}.pkl                github.com/neulab/REALSumm, scores_dicts; CC-BY 4.0
saf/*/english/*.xml                   github.com/SebOchs/SAF, data; MIT
squality/all-responses.jsonl          github.com/nyu-mll/SQuALITY, data/human-eval; CC-BY 4.0
squality/{train,dev,test}.jsonl       the same, data/v1-3/txt

Summaries (REALSumm): the reference summary is expected, and people counted which of its units of content each system's
summary has. Students (SAF): a lecturer's answer is expected, and people gave points. Stories (SQuALITY): another reader's
answer to a question on a story is expected, and people rated the answers of one reader and two systems.
"""

import json
import pickle
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from scripts.judge_grades.examples import Graded

MOST_SYSTEMS, MOST_STUDENTS = 10, 40
"""Answers to one expected answer: more of them would cost time and say little new."""
HIGHEST_RATING, QUESTIONS = 100, 5
NUMPY = {("numpy.core.multiarray", "scalar"), ("numpy", "dtype")}
_SENTENCE_MARK = re.compile(r"</?t>")
_SPACE_BEFORE = re.compile(r"\s+([.,;:!?)\]’]|'s\b|n't\b|'re\b|'ve\b|'ll\b)")
_EMPTY = re.compile(r"\W*no submission\W*", re.IGNORECASE)


class _PlainUnpickler(pickle.Unpickler):
    """Reads dicts, texts and numpy's numbers; a pickle that names anything else is refused."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in NUMPY:
            raise pickle.UnpicklingError(f"the file names {module}.{name}; only texts and numbers are read")
        return super().find_class(module, name)


def people_graded(data: Path, seed: int) -> list[Graded]:
    """All families in turn."""
    rng = random.Random(seed)
    return [*_summaries(data / "realsumm", rng), *_students(data / "saf", rng), *_stories(data / "squality")]


def _summaries(folder: Path, rng: random.Random) -> Iterator[Graded]:
    first, second = [_unpickled(folder / f"{name}.pkl") for name in ("abs", "ext")]
    for number, key in enumerate(sorted(first)):
        expected = _joined(first[key]["ref_summ"])
        answers = {
            _joined(one["system_summary"]): float(one["scores"]["litepyramid_recall"])
            for record in (first[key], second[key])
            for one in record["system_summaries"].values()
        }
        for answer in rng.sample(sorted(answers), min(MOST_SYSTEMS, len(answers))):
            yield Graded("summaries", number, expected, answer, answers[answer])


def _students(folder: Path, rng: random.Random) -> Iterator[Graded]:
    """Both files of a question, the one to train on and the one to test with, are one question here."""
    answers: dict[tuple[str, str], dict[str, float]] = {}
    for path in sorted(folder.glob("*/english/*.xml")):
        root = ElementTree.parse(path).getroot()
        key = _text(root, "questionText"), _text(root, "referenceAnswers/referenceAnswer")
        for one in root.iterfind("studentAnswers/studentAnswer"):
            answer = _text(one, "response")
            if answer and not _EMPTY.fullmatch(answer):
                answers.setdefault(key, {})[answer] = float(_text(one, "score"))
    for number, ((question, expected), graded) in enumerate(sorted(answers.items())):
        for answer in rng.sample(sorted(graded), min(MOST_STUDENTS, len(graded))):
            yield Graded("students", number, expected, answer, graded[answer], question=question)


def _stories(folder: Path) -> Iterator[Graded]:
    """The expected answers are those of the other readers; the one of them that was rated is an answer."""
    stories = {}
    for name in ("train", "dev", "test"):
        for row in map(json.loads, (folder / f"{name}.jsonl").open()):
            stories[row["metadata"]["passage_id"]] = row["questions"]
    rated = [json.loads(line) for line in (folder / "all-responses.jsonl").open()]
    for story, row in enumerate(rated):
        for number, answers in row["questions"].items():
            asked = stories[row["passage-id"]][int(number)]
            readers = [one["response_text"].strip() for one in asked["responses"]]
            others = [text for text in readers if text != answers["human"]["response"].strip()]
            for answer in answers.values():
                target = answer["overall"]["overall-rating"] / HIGHEST_RATING
                group = story * QUESTIONS + int(number)
                yield Graded("stories", group, others[0], answer["response"], target, asked["question_text"], story)


def _unpickled(path: Path) -> dict[int, Any]:
    with path.open("rb") as opened:
        return dict(_PlainUnpickler(opened).load())


def _joined(marked: str) -> str:
    """A summary without the marks of its sentences and the spaces of its tokens; each sentence ends with a stop."""
    parts = [_SPACE_BEFORE.sub(r"\1", part).strip() for part in _SENTENCE_MARK.split(marked)]
    return " ".join(part if part[-1] in ".!?" else f"{part}." for part in parts if part)


def _text(element: ElementTree.Element, path: str) -> str:
    return " ".join((element.findtext(path) or "").split())
