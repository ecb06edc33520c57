"""Assign cases to splits. Cases that belong together (one session, document, repository, question) stay together.

Groups are put in an order fixed by the seed and dealt out until each split has its share of the cases. A group that an
earlier version already had stays where it was, also when none of its cases of then takes part any more: what a model was
tuned on must not turn up in tomorrow's test set.

A question that many people ask stands in the data many times, as exact and near copies of the input and of the user's turns
before it. Its copies belong into one split, or only the best of them into the build, with their number. What still leaks is
reported: near-duplicates across splits, and cases that a prompt or a training file already shows.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import orjson

from evergold.errors import BadInput, describe_unknown
from evergold.formats.lines import open_rows
from evergold.model.case import Case, CaseKind, Origin
from evergold.model.values import unit_interval
from evergold.text.likeness import (
    THRESHOLD,
    NearIndex,
    TextEntry,
    jaccard,
    normalise,
    pairs_across,
    rarest,
    shingles_of,
)

KEEP, ONE = "keep", "one"
REPEATS = (KEEP, ONE)
# The origins of a reference from the most to the least trusted; a case without any comes after all of them.
_RANKS = {
    Origin.PERSON: 0,
    Origin.SOURCE: 1,
    Origin.REVISED: 1,
    Origin.CONFIRMED: 1,
    Origin.UNCONFIRMED: 2,
    Origin.CANDIDATE: 3,
}


@dataclass
class Clusters:
    """Case → the cluster it belongs to, named after its first case by id."""

    name_of: dict[str, str] = field(default_factory=dict)

    def list_repeats(self) -> dict[str, list[str]]:
        """The clusters that have more than one case."""
        members: dict[str, list[str]] = defaultdict(list)
        for case_id, name in self.name_of.items():
            members[name].append(case_id)
        return {name: sorted(ids) for name, ids in members.items() if len(ids) > 1}


def question_of(case: Case) -> str:
    """The words of what was asked: the user's turns in order; "yes, please" after another question is another one."""
    # A conversation is its question: the same last turn after other turns asks something else.
    turns = [normalise(_text(message.get("content"))) for message in case.messages if message.get("role") == "user"]
    asked = normalise(case.input)
    # Most sources repeat the last user turn as the input, some do not.
    return "\n".join(turns if turns and turns[-1] == asked else [*turns, asked] if asked else turns)


def clusters_of(cases: Iterable[Case]) -> Clusters:
    """Find the repeats among cases. A question of a few words counts when its words are the same; one of none never."""
    union, first = _Union(), dict[str, str]()
    for case in sorted(cases, key=lambda case: case.id):
        union[case.id] = case.id
        if question := question_of(case):
            union.join(first.setdefault(question, case.id), case.id)
    # Exact copies were joined before, so near copies are searched among distinct questions only.
    _join_near({case_id: question for question, case_id in first.items()}, union)
    return Clusters({case_id: union.root(case_id) for case_id in list(union)})


def best_of(cases: Sequence[Case]) -> Case:
    """The case that stands for its repeats: a person's reference first, then a confirmed one, then the newest."""

    def rank(case: Case) -> tuple[Any, ...]:
        reference, moment = case.reference(), case.updated_at or case.created_at
        newest_first = -moment.timestamp() if moment else 0.0
        return (3 if reference is None else _RANKS[reference.origin], newest_first, case.id)

    return min(cases, key=rank)


def without_repeats(cases: Sequence[Case], clusters: Clusters) -> tuple[list[Case], dict[str, int], dict[str, str]]:
    """One case of each cluster; how many stand behind it; and for each that is left out the one that stays."""
    by_id = {case.id: case for case in cases}
    weights: dict[str, int] = {}
    instead: dict[str, str] = {}
    for ids in clusters.list_repeats().values():
        best = best_of([by_id[one] for one in ids])
        weights[best.id] = len(ids)
        instead |= {one: best.id for one in ids if one != best.id}
    return [case for case in cases if case.id not in instead], weights, instead


def report_of(clusters: Clusters, split_of: Mapping[str, str]) -> dict[str, Any]:
    """What a manifest says of repeats: how many questions are asked again, by how many cases, the largest first."""
    repeated = sorted(clusters.list_repeats().items(), key=lambda item: (-len(item[1]), item[0]))
    largest = [
        {"cluster": name, "cases": len(ids), "split": split_of.get(ids[0]), "examples": ids[:3]}
        for name, ids in repeated[:SHOWN]
    ]
    return {"clusters": len(repeated), "cases": sum(len(ids) for _, ids in repeated), "largest": largest}


def _text(content: Any) -> str:
    if isinstance(content, list):
        return " ".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _join_near(questions: Mapping[str, str], union: "_Union") -> None:
    """Join every two questions that are nearly the same; two that are joined already are not measured again."""
    texts = {name: shingles_of(question) for name, question in questions.items()}
    last = {name: question.rpartition("\n")[2] for name, question in questions.items()}
    often = Counter(chain.from_iterable(texts.values()))
    known: defaultdict[str, list[str]] = defaultdict(list)
    for name, shingles in texts.items():
        # Two sets above the threshold must share one of their rarest shingles: nothing else is compared.
        rare = rarest(shingles, THRESHOLD, often.__getitem__)
        for other in dict.fromkeys(chain.from_iterable(known[word] for word in rare)):
            near = union.root(other) != union.root(name) and jaccard(texts[other], shingles) >= THRESHOLD
            # A conversation and its next turn share nearly all words and ask two things: the last turns must be alike too.
            if near and (
                last[other] == last[name] or jaccard(*map(shingles_of, (last[other], last[name]))) >= THRESHOLD
            ):
                union.join(other, name)
        for word in rare:
            known[word].append(name)


class _Union(dict[str, str]):
    """Names that belong together, each with the one above it; a set is named after its first name in order."""

    def root(self, name: str) -> str:
        while self[name] != name:
            # Path halving keeps the trees flat without a second pass.
            self[name] = self[self[name]]
            name = self[name]
        return name

    def join(self, one: str, other: str) -> None:
        # The smaller name becomes the root, so that a cluster is named the same in whatever order cases come.
        first, second = sorted((self.root(one), self.root(other)))
        self[second] = first


SHOWN = 50  # pairs, cases and clusters of each kind that a manifest lists


def near_duplicates(cases: Sequence[Case], split_of: Mapping[str, str]) -> list[dict[str, Any]]:
    """Each case that is nearly the same as one before it in another split, with the first such one.

    Of a few words, a question must be quite the same and so must its answer; "thanks" without one is said every day.
    """
    # With one split there is nothing to leak into.
    if len(set(split_of.values())) < 2:
        return []
    entries = [
        TextEntry(case.id, split_of[case.id], _shingles(case)) for case in sorted(cases, key=lambda case: case.id)
    ]
    return [
        {"a": one.name, "b": other.name, "splits": [one.group, other.group], "similarity": round(share, 3)}
        for one, other, share in pairs_across(entries, THRESHOLD)
    ]


def _shingles(case: Case) -> frozenset[str]:
    answer = _answer(case)
    shingles = shingles_of(f"{question_of(case)} {answer}")
    # A question of a few words has no shingles; the pair of question and answer then stands for itself.
    if shingles or not answer:
        return shingles
    return frozenset({f"{question_of(case)}\n{normalise(answer)}"})


def _answer(case: Case) -> str:
    reference = case.reference()
    return reference.text or "" if reference else ""


def overlaps(cases: Sequence[Case], path: Path) -> list[str]:
    """The ids of cases whose input or expected answer stands in a few-shot or fine-tune file, exactly or nearly.

    An answer of a few words ("yes", "positive") gives nothing away: there only the input counts.
    """
    index = NearIndex(THRESHOLD)
    exact: set[str] = set()
    for text in _texts_of(path):
        exact.add(normalise(text))
        index.add("", shingles_of(text))
    hit = []
    for case in cases:
        asked, answer = normalise(case.input), shingles_of(_answer(case))
        # Short answers have no shingles and therefore never match.
        near = (any(index.find_similar(text)) for text in (shingles_of(case.input), answer))
        if (asked and asked in exact) or any(near):
            hit.append(case.id)
    return hit


def _texts_of(path: Path) -> Iterator[str]:
    """Every text in a JSONL file, however deep; lines that are not JSON count as text."""
    try:
        with open_rows(path) as source:
            for line in source:
                if line.strip():
                    yield from _leaves(line)
    except OSError as problem:
        raise BadInput(f"cannot read {path} to look for overlap: {problem.strerror}") from problem


def _leaves(line: bytes) -> Iterator[str]:
    try:
        waiting: list[Any] = [orjson.loads(line)]
    except orjson.JSONDecodeError:
        waiting = [line.decode("utf-8", "replace").strip()]
    # A stack instead of recursion: files of strangers may be nested without limit.
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


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
        raise BadInput(describe_unknown("--group-by", group_by, KEYS))
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


def settle_groups(cases: Iterable[Case], earlier_splits: Mapping[str, str], group_by: str) -> dict[str, str]:
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
    union, seen = _Union(), dict[str, str]()
    for case in cases:
        key = group_key(case, dealing.group_by)
        union.setdefault(key, key)
        union.join(key, seen.setdefault(dealing.repeats.get(case.id, case.id), key))
    # The cases of each group, and the groups that repeats have joined into it, under the first one's name.
    groups: defaultdict[str, list[str]] = defaultdict(list)
    joined: defaultdict[str, set[str]] = defaultdict(set)
    for case in cases:
        own = group_key(case, dealing.group_by)
        groups[union.root(own)].append(case.id)
        joined[union.root(own)].add(own)
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
