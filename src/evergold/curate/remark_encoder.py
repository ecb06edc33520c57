"""Say what a message is of the answer before it, by the small encoder of the offline judge and the answer that it got.

The encoder reads question, answer and message and gives a probability to each kind. It does so without the next answer: chat
models apologise for everything, and an answer that admits its mistake is weighed apart, by a regression fitted on chats that
neither trained the encoder nor measure it (`docs/measurements/remarks.md`).
"""

import hashlib
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import exp, log

from evergold.curate.grounds import praises
from evergold.judge.encoder import ModelDamaged, shipped_encoder, softmax
from evergold.judge.offline import LANGUAGES, is_outside
from evergold.model.check import RemarkKind, admits, agrees, regrets
from evergold.text.words import fold_text, language_hits

KINDS = tuple(RemarkKind(name) for name in ("none", "correction", "complaint", "doubt", "repeat", "acceptance"))
"""The kinds in the order of the encoder's numbers."""
ALARMS = (RemarkKind.CORRECTION, RemarkKind.COMPLAINT)
THRESHOLD = 0.5  # of an alarm; below it a message is no correction and no complaint
SURE = 0.7  # of an alarm once the next answer is there
UNSURE = 0.49  # at most, of a message that hardly reads as a remark
DOUBTED = 0.3  # from here on it is a doubt: people see it, and it is no failure
READ, GRANTED, ADMITTED, BIAS = 0.58, 2.6, 3.7, -0.95
"""The regression: the logit of an alarm as the encoder reads it; a next answer that apologises for what may be wrong or agrees,
or that admits a mistake. After a question it may only confirm: there an admission counts as an apology, agreement not at all."""
WEAK = (
    0.1  # below it a message hardly reads as a remark, and is at most a doubt, however much the next answer apologises
)
LEAST = 1e-3  # of a probability whose logit is taken
ACCEPTED = 0.8  # a false acceptance makes a wrong answer golden, so it has to be sure
MOST_KEPT = 20_000  # messages whose shares are kept, of some 400 bytes each
Asked = tuple[str, str, str]
"""A question, its answer, and the message after it."""
Shares = tuple[float, ...]
_read: dict[bytes, Shares] = {}
FEW = 8  # words of a message that only changes a word of the request: "not dollars, pesos", "pesos, not dollars"
_DENIED = re.compile(r"(?:^|, )(?:not|no) (?:\w{1,3} )*([^\W\d_]{3,})(?:,|[.!]*$)")
UNDO = ("/undo", "/revert", "/rewind")
"""Commands of agents that take the last answer back."""
BY_KIND = {
    RemarkKind.CORRECTION: "says what is right instead",
    RemarkKind.COMPLAINT: "speaks against the answer",
    RemarkKind.DOUBT: "doubts the answer",
    RemarkKind.REPEAT: "asks the same again",
    RemarkKind.ACCEPTANCE: "says that the answer was right or worked",
}


@dataclass(frozen=True)
class Guess:
    """The most probable kind, its probability, that of an alarm, what spoke for it, how much the message alone reads as one."""

    kind: RemarkKind
    probability: float
    alarm: float
    evidence: tuple[str, ...] = ()
    read: float = 0.0


def undoes(message: str) -> bool:
    """Whether a message is a command that takes an answer back."""
    return (message.lower().split() or [""])[0] in UNDO


def classify(message: str, answer: str | None, question: str, reply: str | None = None) -> Guess:
    """Say what a message is, held against the answer before it and the answer it got."""
    again = message.split() == question.split() != []
    (shares_read,) = read_together([(question, answer or "", message)])
    if shares_read is None:
        return Guess(RemarkKind.REPEAT, 1.0, 0.0, ("is the question again",)) if again else Guess(KINDS[0], 1.0, 0.0)
    shares = dict(zip(KINDS, shares_read, strict=True))
    read = sum(shares[kind] for kind in ALARMS)
    # Whoever takes back a word of the own request changes the wish; the answer did as asked.
    denied = _DENIED.search(fold_text(message)) if len(message.split()) <= FEW and not admits(reply) else None
    changed = denied is not None and denied[1] in re.findall(r"\w+", fold_text(question))
    alarm = 0.0 if changed else weigh_reply(read, reply, "?" in message)
    # Some assistants apologise whatever was said: the message itself has to read as a remark, or people are to look at it.
    alarm = min(alarm, UNSURE) if read < WEAK else alarm
    evidence = ("the next answer admits it",) if admits(reply) else ()
    if alarm >= (THRESHOLD if reply is None else SURE):
        kind = max(ALARMS, key=shares.__getitem__)
        return Guess(kind, alarm, alarm, (f"{BY_KIND[kind]}, {read:.0%}", *evidence), read)
    rest = {kind: share for kind, share in shares.items() if kind not in ALARMS}
    kind = RemarkKind.REPEAT if again else max(rest, key=rest.__getitem__)
    if kind is RemarkKind.ACCEPTANCE and (shares[kind] < ACCEPTED or not praises(message)):
        kind = RemarkKind.NONE
    if kind is RemarkKind.NONE and alarm >= DOUBTED:
        return Guess(RemarkKind.DOUBT, alarm, alarm, (f"may speak against the answer, {read:.0%}", *evidence))
    sure = 1.0 if again else shares[kind]
    return Guess(kind, sure, alarm, () if kind is RemarkKind.NONE else (f"{BY_KIND[kind]}, {sure:.0%}",))


def weigh_reply(read: float, reply: str | None, asks: bool) -> float:
    """Give the probability of an alarm, given how the message reads and whether the next answer admits a mistake."""
    share = min(max(read, LEAST), 1 - LEAST)
    granted = 0.0
    if admits(reply):
        granted = GRANTED if asks else ADMITTED
    elif regrets(reply) or (agrees(reply) and not asks):
        granted = GRANTED
    return 1 / (1 + exp(-(READ * log(share / (1 - share)) + granted + BIAS)))


def _is_outside(question: str, answer: str, message: str) -> bool:
    """Whether a message is in a language that was not measured; one without a small word is in that of its conversation."""
    hits = language_hits(message)
    return is_outside(message) or (not any(map(hits.__getitem__, LANGUAGES)) and is_outside(question, answer, message))


def read_together(asked: Sequence[Asked]) -> list[Shares | None]:
    """Give the encoder's shares of messages; it reads them at once and each once, and the latest are kept."""
    keys = [hashlib.blake2b("\0".join(one).encode("utf-8", "replace"), digest_size=16).digest() for one in asked]
    known = {key: _read.get(key) for key in keys}
    unread = (pair for pair in zip(keys, asked, strict=True) if known[pair[0]] is None)
    new = {key: one for key, one in unread if one[2].strip() and not _is_outside(*one)}
    if new:
        with suppress(ModelDamaged):
            logits = shipped_encoder().logits("remark", [(*one, "") for one in new.values()])
            shares = map(tuple, softmax(logits).tolist())
            known |= (read := dict(zip(new, shares, strict=True)))
            if len(_read) > MOST_KEPT:
                _read.clear()
            _read.update(read)
    return [known[key] for key in keys]
