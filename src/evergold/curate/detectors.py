"""Is this message a correction of the reply before it? The built-in detector knows English and Spanish.

It answers with the value such a message has as a user's score of the reply: 0.0 when the user plainly corrects it,
0.3 when they only doubt it, None when they do neither. A false alarm turns a good answer into a failure, so the
detector errs on the side of silence: questions, conditions ("if that is wrong, tell me") and courtesies ("no está
mal, gracias") are set aside before any pattern is tried, and "no" after a reply that asked something is its answer.

The phrases stand in `phrases/`, one file a language; a further language is a further file.
"""

import re
import unicodedata
from collections import defaultdict
from functools import cache
from importlib.resources import files

CORRECTION_SCORE = "user_correction"
HIGH = 0.0
LOW = 0.3

LANGUAGES = ("english", "spanish")
LONGEST = 600  # a longer message is new work or a pasted document, not a remark on the last reply

_DENIAL = re.compile(r"^(?:no|nope|nah)\b[\s,.!;:-]*")
_STRAIGHT = str.maketrans({"’": "'", "‘": "'", "´": "'", "—": "-", "–": "-", "¿": " ", "¡": " "})


class PatternDetector:
    """Corrections and doubts in English and Spanish, by pattern."""

    def detect(self, message: str, reply: str | None = None) -> float | None:
        """0.0 for a plain correction of `reply`, 0.3 for a doubt about it, None for neither."""
        if len(message) > LONGEST:
            return None
        phrases = _phrases()
        text = phrases["harmless"].sub(" ", plain(message))
        text = phrases["condition"].sub(" ", text).strip(" ,.;:!-")
        question = text.endswith("?") or phrases["asks"].match(text) is not None
        if not question and _corrects(text, answers=_asked(reply)):
            return HIGH
        return LOW if phrases["low"].search(text) else None


def _corrects(text: str, *, answers: bool) -> bool:
    phrases = _phrases()
    if phrases["insists"].search(text):
        return True
    denial = _DENIAL.match(text)
    if denial is None:
        return phrases["high"].search(text) is not None
    if answers:
        return False
    said = text[denial.end() :]
    if phrases["high"].search(text) or phrases["high"].search(said):
        return True
    pause = any(sign in denial.group() for sign in ",.!;:-")
    return pause and phrases["after_no"].match(said) is not None


def _asked(reply: str | None) -> bool:
    """Whether the reply ended by asking the user something, so that "no" is an answer to it."""
    return reply is not None and reply.rstrip().endswith("?")


def plain(message: str) -> str:
    """Lower case, no accents, straight quotes, single spaces, no opening marks: one spelling for each phrase."""
    decomposed = unicodedata.normalize("NFD", message.casefold())
    bare = "".join(sign for sign in decomposed if not unicodedata.combining(sign))
    return " ".join(bare.translate(_STRAIGHT).split())


@cache
def _phrases() -> dict[str, re.Pattern[str]]:
    """Every section of every language, each as one expression."""
    gathered: dict[str, list[str]] = defaultdict(list)
    for language in LANGUAGES:
        for section, patterns in _read(language).items():
            gathered[section] += patterns
    joined = {section: "|".join(f"(?:{pattern})" for pattern in patterns) for section, patterns in gathered.items()}
    joined["condition"] = rf"\b(?:{joined['condition']})\b[^,.;!?]*"
    joined["asks"] = rf"(?:{joined['asks']})\b"
    return {section: re.compile(pattern) for section, pattern in joined.items()}


def _read(language: str) -> dict[str, list[str]]:
    sections: dict[str, list[str]] = defaultdict(list)
    words: dict[str, str] = {}
    current = ""
    for raw in files("evergold.curate").joinpath("phrases", f"{language}.txt").read_text("utf-8").splitlines():
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith("[") and line.endswith("]") and line[1:-1].isidentifier():
            current = line[1:-1]
        elif current == "words":
            name, _, group = line.partition(" = ")
            words[name] = group
        else:
            for name, group in words.items():
                line = line.replace("{" + name + "}", group)
            sections[current].append(line)
    return sections
