"""The golden diff of a case: what this case added.

The diff shown at the first merge of a flow is the work of the case. At a second merge it is cumulative: it repeats the
first. Where the app recorded the diff since the last review, and that review was the merge before, that is the answer; else
the changes already merged are taken out of the cumulative one.
"""

from dataclasses import dataclass, field, replace

from evergold.extract.base_by_content import Step, steps_between
from evergold.extract.diff import ChangeType, FileChange, FileDiff, Hunk, parse_diff
from evergold.extract.split import Segment


@dataclass(frozen=True, slots=True)
class Golden:
    """`files` is the part that counts; `proof` is the whole diff, which must apply to the base commit.

    `steps` is set for a later case of a flow whose diff is cumulative: what this case did to each file since the case
    before it. A commit of the target where all of them begin is a better base than the one the whole flow started from.
    """

    files: list[FileDiff]
    proof: list[FileDiff]
    proof_text: str
    steps: list[Step] = field(default_factory=list)


def golden_of(segment: Segment) -> Golden:
    """Raises BadInput where a diff cannot be read."""
    approval = segment.approval
    if not segment.earlier:
        files = parse_diff(approval.diff)
        return Golden(files, files, approval.diff)
    # A review in between moves "since the last review" to its own state, so it then shows only a part.
    if approval.since_last_review and not segment.reviews:
        files = parse_diff(approval.since_last_review)
        return Golden(files, files, approval.since_last_review)
    whole, earlier = parse_diff(approval.diff), parse_diff(segment.earlier[-1].diff)
    return Golden(without(whole, earlier), whole, approval.diff, steps_between(earlier, whole))


def without(files: list[FileDiff], earlier: list[FileDiff]) -> list[FileDiff]:
    """The files of a cumulative diff with the changes of an earlier one taken out."""
    known = {(file.old_path, file.new_path): file for file in earlier}
    kept: list[FileDiff] = []
    for file in files:
        before = known.get((file.old_path, file.new_path))
        rest = file if before is None else _rest(file, before)
        if rest is not None:
            kept.append(rest)
    return kept


def _rest(file: FileDiff, before: FileDiff) -> FileDiff | None:
    """The changes `before` does not have; None where there is nothing left."""
    if file.type in (ChangeType.ADDED, ChangeType.DELETED) or file.binary:
        # A file that is added, deleted or binary is one change as a whole; blobs decide where the diff names them.
        same = file.new_blob == before.new_blob if file.new_blob else file.hunks == before.hunks
        return None if same else file
    seen = {identity for hunk in before.hunks for identity in _identities(hunk)}
    hunks = [part for hunk in file.hunks for part in _new_parts(hunk, seen)]
    # A change of mode has no hunk.
    moved = (file.old_mode, file.new_mode) != (before.old_mode, before.new_mode)
    return replace(file, hunks=hunks) if hunks or moved else None


def _new_parts(hunk: Hunk, seen: set[tuple[int, bytes, bytes]]) -> list[Hunk]:
    """The changes of a hunk that are not `seen`; a hunk of new changes alone keeps its context lines."""
    identities = _identities(hunk)
    if seen.isdisjoint(identities):
        return [hunk]
    return [part for part, identity in zip(hunk.parted(), identities, strict=True) if identity not in seen]


def _identities(hunk: Hunk) -> list[tuple[int, bytes, bytes]]:
    """What makes a change the same in two diffs against one base: its place at base, and both its texts."""
    old, new = hunk.old_lines(), hunk.new_lines()
    return [
        (change.old_line, _slice(old, hunk.old_start, change.old_line, change.removed), _added(new, hunk, change))
        for change in hunk.changes
    ]


def _added(new: list[bytes], hunk: Hunk, change: FileChange) -> bytes:
    return _slice(new, hunk.new_start, change.new_line, change.added)


def _slice(lines: list[bytes], first: int, line: int, count: int) -> bytes:
    return b"".join(lines[line - first : line - first + count]) if count else b""
