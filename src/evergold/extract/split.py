"""A flow → its segments: one per merge that was approved.

A rejected, pending or failed approval closes nothing: the work went on, and what was done before it belongs to the case
that was approved in the end. `all_approvals` closes at every request instead. Actions after the last boundary belong to
no case.
"""

from dataclasses import dataclass

from evergold.extract.approval import Approval, is_merge_approval, read_approval
from evergold.model.flow import Action, Flow


@dataclass(frozen=True, slots=True)
class Segment:
    """The actions of one case, its closing approval the last of them. `earlier` are the approvals that closed the
    cases before it in the same flow; `reviews` are requests inside it that closed nothing."""

    index: int
    actions: tuple[Action, ...]
    approval: Approval
    reviews: tuple[Approval, ...] = ()
    earlier: tuple[Approval, ...] = ()

    @property
    def case_id(self) -> str:
        return self.approval.action_id


def split(flow: Flow, all_approvals: bool = False) -> list[Segment]:
    """Segments in order; `flow.actions` are ordered already."""
    segments: list[Segment] = []
    actions: list[Action] = []
    reviews: list[Approval] = []
    for action in flow.actions:
        actions.append(action)
        if not is_merge_approval(action):
            continue
        approval = read_approval(action)
        if not (approval.approved or all_approvals):
            reviews.append(approval)
            continue
        # The diff at a later merge repeats the earlier ones; they are needed to take their part out.
        earlier = tuple(segment.approval for segment in segments)
        segments.append(Segment(len(segments), tuple(actions), approval, tuple(reviews), earlier))
        actions, reviews = [], []
    return segments
