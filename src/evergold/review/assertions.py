"""Draft assertions from what reviewers wrote: sentences that say what an answer must do, or what it did and must not."""

import re
from collections.abc import Iterable

from evergold.model.case import Assertion

_SENTENCE = re.compile(
    r"(?<=[.!?])\s+|[\n;]+|,? (?:and|but|y|pero) (?=(?:it |the answer |la respuesta )?(?:must|should|debe|no debe))"
)
_SUBJECT = (
    r"^\W*(?:(?:it|this|that|the (?:answer|reply|response|bot|model|assistant)|answers?|la respuesta|"
    r"el (?:bot|asistente)|esto) )?"
)
_ASKS = re.compile(
    _SUBJECT + r"(?:must|should|shall|needs to|has to|ought to|debe(?:ria)?|tiene que) "
    r"(?:(?P<have>have |haber )|(?P<never>(?:not|never|nunca|no) )(?P<since>have )?)?(?P<what>.+)$",
    re.IGNORECASE,
)
_ASKS_NOT = re.compile(
    _SUBJECT + r"(?:mustn't|shouldn't|cannot|can't|may not|no (?:debe(?:ria)?|puede)) (?P<have>have )?(?P<what>.+)$",
    re.IGNORECASE,
)
_OMITS = re.compile(
    _SUBJECT
    + r"(?:(?:does not|doesn't|did not|didn't|fails to|failed to|forgets to|forgot to|never|no) )(?P<what>[a-z]\w+\b.+)$",
    re.IGNORECASE,
)
_LACKS = re.compile(
    _SUBJECT + r"(?:lacks|misses|omits|is missing|missing:?|leaves out|falta:?|omite) (?P<what>.+)$"
    r"|^\W*(?P<subject>(?:the|a|an|el|la) .+?) (?:is|are) missing\W*$",
    re.IGNORECASE,
)
_DOES = re.compile(
    _SUBJECT
    + r"(?:wrongly |falsely |even )?(?P<what>(?:invents?|invented|promises?|promised|claims?|claimed|makes? up|made up|"
    r"guesses|guessed|reveals?|revealed|inventa|promete|afirma)\b.+)$",
    re.IGNORECASE,
)
_PAST = re.compile(r"^(?:(?P<stem>\w+?)(?P<double>([b-df-hj-np-tv-z])\3)?ed)\b", re.IGNORECASE)
IRREGULAR = {
    "been": "is", "be": "is", "had": "has", "have": "has", "said": "says", "told": "tells", "given": "gives", "gave": "gives",
    "made": "makes", "shown": "shows", "sent": "sends", "put": "puts",
}  # fmt: skip
SILENT_E = (
    "nam", "includ", "promis", "stat", "quot", "cit", "us", "invit", "apologis", "apologiz", "provid", "not", "refus",
)  # fmt: skip


def draft_assertions(comments: Iterable[str]) -> list[Assertion]:
    """Draft assertions from comments: "should have named the deadline" → must: names the deadline. Each once."""
    drafts: list[Assertion] = []
    for comment in comments:
        for sentence in _SENTENCE.split(comment):
            draft = _draft(sentence.strip(" \t.!-•*\"'"))
            if draft is not None and draft not in drafts:
                drafts.append(draft)
    return drafts


def _draft(sentence: str) -> Assertion | None:
    if match := _ASKS_NOT.match(sentence):
        return {"must_not": _state(match["what"])}
    if match := _ASKS.match(sentence):
        return {"must_not" if match["never"] else "must": _state(match["what"])}
    if match := _LACKS.match(sentence):
        return {"must": f"names {match['what'] or match['subject'][:1].lower() + match['subject'][1:]}"}
    if match := _OMITS.match(sentence):
        return {"must": _state(match["what"])}
    if match := _DOES.match(sentence):
        return {"must_not": _state(match["what"])}
    return None


def _state(what: str) -> str:
    """Put a verb that follows "must" or "should have" into the form of "the answer …"."""
    first, _, rest = what.partition(" ")
    verb = first.lower()
    if verb in IRREGULAR:
        verb = IRREGULAR[verb]
    elif past := _PAST.match(verb):
        stem = past["stem"] + (past["double"] or "")[:1]
        verb = _conjugate(f"{stem}e" if stem in SILENT_E else stem)
    elif rest.split(" ")[0] not in SPANISH and (not verb.endswith("s") or verb.endswith("ss")):
        verb = _conjugate(verb)
    return f"{verb} {rest}".strip()


SPANISH = {"el", "la", "los", "las", "un", "una", "que", "al", "de", "con", "su", "sus"}


def _conjugate(verb: str) -> str:
    if verb.endswith(("s", "sh", "ch", "x", "z", "o")):
        return f"{verb}es"
    return f"{verb[:-1]}ies" if re.search(r"[^aeiou]y$", verb) else f"{verb}s"
