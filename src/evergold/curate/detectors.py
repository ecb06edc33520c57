"""Detectors: what does a user's message say of an earlier answer of its session?

The built-in one holds the message against each of the last answers (`remark_features.py`, `remark_model.py`): it needs no
model and knows English and Spanish; in other languages it sees values and repetition only. A false alarm turns a good answer
into a failure, so a message is taken for a correction or a complaint only where that is much more probable than not.
"""

from collections.abc import Sequence

from evergold.curate.remark_features import see, touches
from evergold.curate.remark_model import ALARMS, classify
from evergold.curate.remark_rules import asks_for
from evergold.curate.remark_strength import speaks_of_answer
from evergold.model.admission import grants
from evergold.model.remark import EarlierTurn, Remark, RemarkKind, UserMessage
from evergold.seams import Detector

CORRECTION_SCORE = "user_correction"
HIGH = 0.0
LOW = 0.3
# The lower the value, the surer the answer was wrong; from 0.3 up it counts as no failure.
VALUES = {RemarkKind.CORRECTION: HIGH, RemarkKind.COMPLAINT: 0.2, RemarkKind.DOUBT: LOW, RemarkKind.REPEAT: 0.5}
LONGEST = 600  # a longer message is new work or a pasted document, not a remark
DAY = 24 * 3600.0
CLEARLY_MORE = 2  # words an earlier turn must share more than the last one, to be the one a message is on


class PatternDetector:
    """Remarks in English and Spanish by fitted features, no model."""

    def detect(self, message: str, reply: str | None = None) -> float | None:
        """Give the value a message has as a user's score of the reply before it; None where it says nothing of it."""
        remark = self.remark(UserMessage("", message, (EarlierTurn("", "", reply),)))
        return VALUES[remark.kind] if remark is not None and remark.kind is not RemarkKind.REPEAT else None

    def remark(self, message: UserMessage) -> Remark | None:
        """Say what a message remarks on which of the turns before it, if anything."""
        recent = recent_turns(message)
        if not recent or len(message.text) > LONGEST:
            return None
        granted = message.reply if grants(message.reply) else None
        last = see(message.text, recent[0].output, recent[0].input)
        # Whoever gives what the last answer asked for speaks of no earlier one.
        replies = asks_for(recent[0].output, last) and not speaks_of_answer(last)
        turn = recent[0] if replies else _concerned(f"{message.text}\n{granted}" if granted else message.text, recent)
        guess = classify(message.text, turn.output, turn.input, message.reply)
        # Only an alarm may be about an earlier turn; anything else belongs to the last answer.
        if guess.kind not in ALARMS and turn is not recent[0]:
            turn = recent[0]
            guess = classify(message.text, turn.output, turn.input, message.reply)
        if guess.kind is RemarkKind.NONE:
            return None
        return Remark(guess.kind, turn.id, round(guess.probability, 3), guess.evidence)


class ValueDetector:
    """Adapts a plug-in that has `detect` alone: its value is of the last answer."""

    def __init__(self, plugin: Detector) -> None:
        self._plugin = plugin

    def remark(self, message: UserMessage) -> Remark | None:
        recent = recent_turns(message)
        value = self._plugin.detect(message.text, recent[0].output) if recent else None
        if value is None:
            return None
        kind = RemarkKind.CORRECTION if value == HIGH else RemarkKind.COMPLAINT if value < LOW else RemarkKind.DOUBT
        return Remark(kind, recent[0].id, 1.0, ("by a plug-in",))


def recent_turns(message: UserMessage) -> tuple[EarlierTurn, ...]:
    """Give the turns a message can be on: those of the last 24 hours, the latest first."""
    return tuple(turn for turn in message.earlier if turn.seconds is None or turn.seconds <= DAY)


def _concerned(message: str, recent: Sequence[EarlierTurn]) -> EarlierTurn:
    """Choose the turn whose content a message touches; the last one unless an earlier one is touched clearly more.

    An answer that admits the mistake names what it mends, so its words count with those of the message.
    """
    last = touches(message, recent[0].output, recent[0].input)
    best, most = recent[0], last
    for turn in recent[1:]:
        shared = touches(message, turn.output, turn.input)
        # An earlier turn must share clearly more words: people mostly react to what they have just read.
        if shared > most and shared >= last + (1 if last == 0 and shared > 1 else CLEARLY_MORE):
            best, most = turn, shared
    return best
