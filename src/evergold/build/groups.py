"""Assign cases to splits. Cases that belong together (one session, document, repository) stay together.

Groups are put in an order fixed by the seed and dealt out until each split has its share of the cases. A group that an
earlier version already had stays where it was, also when none of its cases of then takes part any more: what a model was
tuned on must not turn up in tomorrow's test set.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from evergold.errors import BadInput, unknown
from evergold.model.case import Case, CaseKind
from evergold.model.values import unit_interval

KEYS = ("auto", "session", "document", "repository", "trace", "user", "none")
_NATURAL: Mapping[CaseKind, str] = {
    CaseKind.CHAT: "session",
    CaseKind.CONTEXT: "repository",
    CaseKind.QA: "document",
    CaseKind.SUMMARY: "document",
    CaseKind.TASK: "document",
}


def parse_shares(text: str) -> dict[str, float]:
    """`train=0.7,test=0.3` → shares that add up to 1."""
    shares: dict[str, float] = {}
    for part in text.split(","):
        name, _, value = (piece.strip() for piece in part.partition("="))
        try:
            shares[name] = float(value)
        except ValueError:
            raise BadInput(f"--split {text!r}: {part.strip()!r} is not NAME=SHARE, as in train=0.7,test=0.3") from None
        if not name.replace("-", "").replace("_", "").isalnum():
            raise BadInput(f"--split {text!r}: {name!r} is no name for a file; use letters, digits, - and _")
    # A name given twice leaves fewer shares than parts.
    if len(shares) != len(text.split(",")) or any(not 0 < share <= 1 for share in shares.values()):
        raise BadInput(f"--split {text!r}: each split once, each share between 0 and 1")
    if abs(sum(shares.values()) - 1) > 1e-6:
        raise BadInput(f"--split {text!r}: the shares add up to {sum(shares.values()):g}, not to 1")
    return shares


def group_key(case: Case, group_by: str) -> str:
    """The group of a case; one that has no session, document or repository is a group of its own."""
    if group_by not in KEYS:
        raise BadInput(unknown("--group-by", group_by, KEYS))
    kind = _NATURAL[case.kind] if group_by == "auto" else group_by
    source = case.provenance
    value = {
        "session": source.session_id,
        "document": source.document or case.metadata.get("document"),
        "repository": source.repository,
        "trace": source.trace_id,
        "user": source.user_id,
        "none": None,
    }[kind]
    # A case without a group must not join the others that lack one.
    return f"{kind}:{value}" if value else f"case:{case.id}"


def settled(cases: Iterable[Case], earlier_splits: Mapping[str, str], group_by: str) -> dict[str, str]:
    """Group → the split in which earlier versions had it; `earlier_splits` says that of single cases. Most of them decide."""
    votes: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for case in cases:
        if case.id in earlier_splits:
            votes[group_key(case, group_by)][earlier_splits[case.id]] += 1
    # Ties are decided by name, so that the same history gives the same splits.
    return {key: min(result, key=lambda name: (-result[name], name)) for key, result in votes.items()}


@dataclass(frozen=True)
class Dealing:
    """How cases are dealt out: the shares, what keeps cases together, and the seed of the order."""

    shares: Mapping[str, float]
    group_by: str
    seed: int
    repeats: Mapping[str, str] = field(default_factory=dict)


def require_groups(cases: Sequence[Case], group_by: str) -> int:
    """How many cases lack what they are to be grouped by; it is refused where all of them do."""
    lacking = sum(group_key(case, group_by).startswith("case:") for case in cases)
    if group_by not in ("auto", "none") and lacking == len(cases):
        raise BadInput(
            f"--group-by {group_by}: none of the {len(cases)} cases names a {group_by}; "
            "`evergold curate --refresh` fills it from their traces, or group by something else"
        )
    return lacking


def deal(cases: Sequence[Case], dealing: Dealing, earlier_splits: Mapping[str, str]) -> dict[str, str]:
    """Case id → split. `earlier_splits` is where earlier versions had groups. Repeats of one question join their groups."""
    shares, seed = dealing.shares, dealing.seed
    groups, joined = _joined(cases, dealing)
    counts: Counter[str] = Counter()
    chosen = {
        key: min(votes, key=lambda name: (-votes[name], name))
        for key, members in joined.items()
        if (votes := Counter(earlier_splits[one] for one in members if earlier_splits.get(one) in shares))
    }
    for key, split in chosen.items():
        counts[split] += len(groups[key])
    order = list(shares)
    free = groups.keys() - chosen.keys()
    # The order depends on seed and key alone: a new group does not move the ones before it.
    for key in sorted(free, key=lambda key: (unit_interval(f"{seed}:{key}"), key)):
        size = len(groups[key])
        total = counts.total() + size
        # The split furthest below its share takes the whole group; of equals the one given first.
        chosen[key] = max(order, key=lambda name: (shares[name] * total - counts[name], -order.index(name)))
        counts[chosen[key]] += size
    return {one: chosen[key] for key, ids in groups.items() for one in ids}


def _joined(cases: Sequence[Case], dealing: Dealing) -> tuple[dict[str, list[str]], dict[str, set[str]]]:
    """The cases of each group, and the groups that repeats have joined into it, under the first one's name."""
    above: dict[str, str] = {}

    def root(key: str) -> str:
        while above.setdefault(key, key) != key:
            above[key] = above[above[key]]
            key = above[key]
        return key

    seen: dict[str, str] = {}
    for case in cases:
        key = root(group_key(case, dealing.group_by))
        cluster = dealing.repeats.get(case.id, case.id)
        first, second = sorted((key, root(seen.setdefault(cluster, key))))
        above[second] = first
    groups: dict[str, list[str]] = defaultdict(list)
    joined: dict[str, set[str]] = defaultdict(set)
    for case in cases:
        own = group_key(case, dealing.group_by)
        groups[root(own)].append(case.id)
        joined[root(own)].add(own)
    return groups, joined
