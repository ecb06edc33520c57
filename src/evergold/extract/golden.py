"""A flow → its segments, one per merge that was approved, and the golden diff of each: what that case added.

A rejected, pending or failed approval closes nothing: the work went on, and what was done before it belongs to the case
that was approved in the end. `all_approvals` closes at every request instead. Actions after the last boundary belong to
no case.

The diff shown at the first merge of a flow is the work of the case. At a second merge it is cumulative: it repeats the
first. Where the app recorded the diff since the last review, and that review was the merge before, that is the answer; else
the changes already merged are taken out of the cumulative one.
"""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import orjson

from evergold.extract.diff import ChangeType, FileDiff, Hunk, parse_diff
from evergold.formats.dataset_pair import PairLines
from evergold.model.case import Case
from evergold.model.flow import Action, CodeChange, Flow
from evergold.repo.git import PathChange
from evergold.sources.agents.log_lines import text_in

MERGE_APPROVAL = "user_request.approve.merge"

_OBJECT_ID = re.compile(r"\b[0-9a-f]{7,64}\b")


class Approval(NamedTuple):
    """`diff` shows all the work so far, `since_last_review` the part since the review before this one."""

    action_id: str
    approved: bool
    diff: str
    since_last_review: str
    source_branch: str | None
    target_branch: str | None
    named_objects: tuple[str, ...]


def is_merge_approval(action: Action) -> bool:
    return action.type == MERGE_APPROVAL


def read_approval(action: Action) -> Approval:
    # Some actions have these among their own parameters instead of in `mergeApprovalInfo`.
    info = _object(action.params.get("mergeApprovalInfo"))
    names = ("diff", "diffSinceLastReview", "sourceBranch", "defaultTargetBranch")
    texts = {name: text_in(info.get(name)) or text_in(action.params.get(name)) for name in names}
    result: dict[str, Any] = {}
    # Anything but a JSON object is no approval.
    with suppress(orjson.JSONDecodeError):
        result = _object(orjson.loads(action.result or ""))
    # Both spellings of these keys occur.
    chosen = _object(result.get("Params", result.get("params"))).get("targetBranch")
    return Approval(
        action_id=action.id,
        approved=action.status == "complete"
        and not action.error
        and result.get("Approved", result.get("approved")) is True,
        diff=texts["diff"] or "",
        since_last_review=texts["diffSinceLastReview"] or "",
        source_branch=texts["sourceBranch"],
        target_branch=text_in(chosen) or texts["defaultTargetBranch"],
        # The answer may name the merge commit in any of its fields; each candidate is proved before it is used.
        named_objects=tuple(dict.fromkeys(_OBJECT_ID.findall(action.result or ""))),
    )


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


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


class FileStep(NamedTuple):
    """What the change did at one path. A blob may be abbreviated, None where the file is absent, "" where unknown."""

    path: str
    old_blob: str | None
    new_blob: str | None

    def replaced_by(self, change: PathChange) -> bool:
        """Whether the commit replaced the old content of this step."""
        return same_blob(change.old_blob, self.old_blob)

    def made_by(self, change: PathChange) -> bool:
        return self.replaced_by(change) and same_blob(change.new_blob, self.new_blob)


def steps_of(files: Sequence[FileDiff]) -> list[FileStep]:
    """What a diff did, path by path; a rename is a removal and an addition."""
    steps: list[FileStep] = []
    for file in files:
        if file.submodule:
            continue
        old, new = None if file.type in (ChangeType.ADDED, ChangeType.COPIED) else file.old_path, file.new_path
        if old is not None:
            steps.append(FileStep(old, file.old_blob or "", (file.new_blob or "") if new == old else None))
        if new is not None and new != old:
            steps.append(FileStep(new, None, file.new_blob or ""))
    return steps


def steps_between(earlier: Sequence[FileDiff], later: Sequence[FileDiff]) -> list[FileStep]:
    """What happened between two diffs against one base; nothing where a diff names no blobs."""
    before = {step.path: step for step in steps_of(earlier)}
    after = {step.path: step for step in steps_of(later)}
    steps: list[FileStep] = []
    for path in dict.fromkeys([*after, *before]):
        old = before[path].new_blob if path in before else after[path].old_blob
        new = after[path].new_blob if path in after else before[path].old_blob
        # A diff without index lines names no blobs, and without them the two states cannot be compared.
        if "" in (old, new):
            return []
        # Blobs may be shortened differently in the two diffs, so each may be the beginning of the other.
        if not same_blob(old, new) and not same_blob(new, old):
            steps.append(FileStep(path, old, new))
    return steps


def same_blob(full: str | None, wanted: str | None) -> bool:
    if wanted is None or full is None:
        return wanted is full
    # A diff names blobs by their first digits; "" (unknown) matches any.
    return full.startswith(wanted)


@dataclass(frozen=True, slots=True)
class Golden:
    """`files` is the part that counts; `proof` is the whole diff, which must apply to the base commit.

    `steps` is set for a later case of a flow whose diff is cumulative: what this case did to each file since the case
    before it. A commit of the target where all of them begin is a better base than the one the whole flow started from.
    """

    files: list[FileDiff]
    proof: list[FileDiff]
    proof_text: str
    steps: list[FileStep] = field(default_factory=list)


def change_of(segment: Segment) -> CodeChange:
    """The change of a case, as the extractor and the validator both prove it."""
    approval = segment.approval
    diff, earlier = approval.diff, None
    # A review in between moves "since the last review" to its own state, so it then shows only a part.
    if segment.earlier and approval.since_last_review and not segment.reviews:
        diff = approval.since_last_review
    elif segment.earlier:
        earlier = segment.earlier[-1].diff
    branches = {"source_branch": approval.source_branch, "target_branch": approval.target_branch}
    return CodeChange(diff=diff, earlier_diff=earlier, named_commits=approval.named_objects, **branches)


def golden_of(change: CodeChange) -> Golden:
    """Raises BadInput where a diff cannot be read."""
    text = change.diff or ""
    whole = parse_diff(text)
    if change.earlier_diff is None:
        return Golden(whole, whole, text)
    earlier = parse_diff(change.earlier_diff)
    return Golden(remove_known(whole, earlier), whole, text, steps_between(earlier, whole))


def remove_known(files: list[FileDiff], earlier: list[FileDiff]) -> list[FileDiff]:
    """The files of a cumulative diff with the changes of an earlier one taken out."""
    known = {(file.old_path, file.new_path): file for file in earlier}
    rests = (_subtract_file(file, known.get((file.old_path, file.new_path))) for file in files)
    return [rest for rest in rests if rest is not None]


def _subtract_file(file: FileDiff, before: FileDiff | None) -> FileDiff | None:
    """The changes `before` does not have; None where there is nothing left."""
    if before is None:
        return file
    if file.type in (ChangeType.ADDED, ChangeType.DELETED) or file.binary:
        # A file that is added, deleted or binary is one change as a whole; blobs decide where the diff names them.
        same = file.new_blob == before.new_blob if file.new_blob else file.hunks == before.hunks
        return None if same else file
    seen = {_identity(part) for hunk in before.hunks for part in hunk.split_changes()}
    hunks: list[Hunk] = []
    for hunk in file.hunks:
        parts = hunk.split_changes()
        new = [part for part in parts if _identity(part) not in seen]
        # A hunk of new changes alone keeps its context lines.
        hunks += [hunk] if len(new) == len(parts) else new
    # A change of mode has no hunk.
    moved = (file.old_mode, file.new_mode) != (before.old_mode, before.new_mode)
    return replace(file, hunks=hunks) if hunks or moved else None


def _identity(part: Hunk) -> tuple[int, tuple[bytes, ...]]:
    """What makes a change the same in two diffs against one base: its place at base, and the lines of both its sides."""
    return part.changes[0].old_line, tuple(line for line in part.body if line.startswith((b"+", b"-", b"\\")))


DATASET = "context"

Wanted = Callable[[str], bool]
"""Whether a case of that id is to be made."""


@dataclass(frozen=True)
class Extracted:
    """A case, why it lacks what it lacks, what was odd about its rows, and what a reviewer wants to see beside it.

    `lines`: its rows as bytes, where a worker has made them already.
    """

    case: Case
    why_no_query: str = ""
    why_no_base: str = ""
    remarks: tuple[str, ...] = ()
    evidence: dict[str, Any] | None = None
    lines: PairLines | None = None


class SkippedItem(NamedTuple):
    """The reason a commit or a session made no case; of a commit also its kind, and whether a program wrote it."""

    reason: str
    kind: str = ""
    bot: bool = False
