"""What a message says of the answer before it, by the small encoder of the offline judge.

It finds more remarks than the fitted features (`remark_model.py`) where the next answer admits nothing, and raises more false
alarms in chats about tasks. So it adds what costs no good answer its place: an answer that was undone, and a doubt, which keeps
an answer out of the golden ones and makes no failure.
"""

import numpy as np

from evergold.curate.remark_model import Guess
from evergold.judge.encoder import ModelDamaged, shipped_encoder
from evergold.judge.offline import is_outside
from evergold.model.checking import RemarkKind

KINDS = ("none", "correction", "complaint", "doubt", "repeat", "acceptance")
"""The kinds in the order of the encoder's numbers."""
THRESHOLD = 0.5
UNDO = ("/undo", "/revert", "/rewind")
"""Commands of agents that take the last answer back."""


def read_remark(message: str, answer: str, question: str, reply: str | None = None) -> Guess | None:
    """Say whether a message undoes the answer before it or speaks against it; None where it does neither."""
    if message.strip().lower() in UNDO:
        return Guess(RemarkKind.COMPLAINT, 1.0, 1.0, ("the answer was undone",))
    shares = read_shares(message, answer, question, reply or "")
    alarm = shares["correction"] + shares["complaint"] if shares else 0.0
    if alarm < THRESHOLD:
        return None
    return Guess(RemarkKind.DOUBT, alarm, alarm, (f"reads as a remark against the answer, {alarm:.0%}",))


def read_shares(message: str, answer: str, question: str, reply: str) -> dict[str, float] | None:
    """The probability of each kind; None where the encoder cannot read the message."""
    if is_outside(message) or not message.strip():
        return None
    try:
        logits = shipped_encoder().logits("remark", [(question, answer, message, reply)])[0]
    except ModelDamaged:
        return None
    odds = np.exp(logits - logits.max())
    return dict(zip(KINDS, (odds / odds.sum()).tolist(), strict=True))
