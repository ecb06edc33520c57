"""Replay: a recorded conversation again, with another model and the recorded tools as its world.

`ReplayTarget` is the door: it wraps any target. The model's calls are answered from the record (`record.py`), so nothing
has a side effect; what the record does not know is handled as the run asks (`--on-unrecorded`).
"""

from evergold.bench.replay.target import Helpers, ReplayTarget

__all__ = ["Helpers", "ReplayTarget"]
