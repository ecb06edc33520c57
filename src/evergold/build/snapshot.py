"""A stored dataset, frozen: cases → split files and a manifest that says exactly what they are and why the rest is not there.

The same cases, seed and parent give the same bytes. Cases are ordered by id, lines are canonical JSON, and each carries the
hash of its content, so that any later reader can prove that a case is the one that was frozen.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import orjson

from evergold.build import manifest as manifests
from evergold.build.groups import (
    KEEP,
    ONE,
    REPEATS,
    SHOWN,
    Dealing,
    clusters_of,
    deal,
    group_key,
    near_duplicates,
    overlaps,
    report_of,
    require_groups,
    without_repeats,
)
from evergold.errors import BadInput, Conflict, Incomplete, describe_unknown
from evergold.model.build import Build, Manifest
from evergold.model.case import Candidates, Case, CaseStatus, ways_to_confirm
from evergold.model.values import canonical_json, content_hash

LEAKS = ("report", "fail", "ignore")
EXCLUDED = "excluded"
CANDIDATE = "candidate"
_OF_THE_MOMENT = frozenset({"generated_at_utc", "builder", manifests.SEAL})
"""What may differ between two manifests of the same build."""


# Frozen dataclass: the options are compared as a whole when a request is repeated.
@dataclass(frozen=True)
class SnapshotSpec:
    """What to freeze, how to split it, and what to do about leaks."""

    dataset: str
    version: str
    out: Path
    shares: Mapping[str, float] = field(default_factory=lambda: {"all": 1.0})
    group_by: str = "auto"
    seed: int = 0
    filters: Mapping[str, Any] = field(default_factory=dict)
    on_leak: str = "report"
    avoid: tuple[Path, ...] = ()
    canary: bool = False
    force: bool = False
    repeats: str = KEEP

    def require_sane(self) -> None:
        manifests.require_version(self.version)
        if self.on_leak not in LEAKS:
            raise BadInput(describe_unknown("--on-leak", self.on_leak, LEAKS))
        if self.repeats not in REPEATS:
            raise BadInput(describe_unknown("--repeats", self.repeats, REPEATS))
        if EXCLUDED in self.shares:
            raise BadInput(f"--split: {EXCLUDED}.jsonl holds what is left out of a build; give the split another name")

    @property
    def manifest(self) -> Path:
        return self.out / "manifest.json"

    @property
    def leaves_candidates(self) -> bool:
        """Whether cases that rest on silence alone are left out, and counted as such."""
        wanted = self.filters.get("candidates", Candidates.EXCLUDE)
        return wanted == Candidates.EXCLUDE and "evidence" not in self.filters


@dataclass(frozen=True)
class FrozenSnapshot:
    """A finished build: its manifest, and which case went where at which revision."""

    manifest: Manifest
    rows: list[tuple[str, str, str]]
    files: Mapping[Path, bytes]


def draft(
    spec: SnapshotSpec,
    cases: Iterable[Case],
    parent: Build | None = None,
    earlier_splits: Mapping[str, str] | None = None,
) -> FrozenSnapshot:
    """Draft a build, unwritten. `cases` are all of the dataset that pass the filter, those that take no part included."""
    spec.require_sane()
    # Cases that cannot be used are listed in a file of their own, so that a build explains what is missing.
    taken, excluded = _sort_out(cases, without_candidates=spec.leaves_candidates)
    if not taken:
        waiting = sum(reason == CANDIDATE for _, reason in excluded)
        advice = f"; {ways_to_confirm(waiting)}" if waiting else "; loosen the filter" if spec.filters else ""
        counts = sorted(Counter(reason for _, reason in excluded).items())
        asked = ", ".join(f"{name}={value}" for name, value in spec.filters.items())
        why = ", ".join(f"{count} {reason}" for reason, count in counts) or (
            f"none has {asked}" if asked else "it is empty"
        )
        raise Incomplete(f"dataset {spec.dataset!r} has no case to freeze ({why}){advice}")
    clusters = clusters_of(taken)
    repeats: dict[str, Any] = {"mode": spec.repeats}
    if spec.repeats == ONE:
        # Only one case of each question stays; the others are excluded, naming the one that does.
        taken, weights, instead = without_repeats(taken, clusters)
        excluded += sorted((one, f"repeats {other}") for one, other in instead.items())
        repeats |= {"left_out": len(instead), "weights": weights}
    repeats["ungrouped"] = require_groups(taken, spec.group_by)
    dealing = Dealing(spec.shares, spec.group_by, spec.seed, clusters.name_of)
    split_of = deal(taken, dealing, earlier_splits or {})
    leaks = _look_for_leaks(spec, taken, split_of) | {"repeats": repeats | report_of(clusters, split_of)}
    # Lines are made once and written by split: a case is in one split only.
    marks = {case.id: {"review": str(case.review), "evidence": str(case.evidence), "rev": case.rev()} for case in taken}
    lines = {case.id: canonical_json(case.content() | marks[case.id]) + b"\n" for case in taken}
    canary = canonical_json({"canary": canary_of(spec.dataset)}) + b"\n" if spec.canary else b""
    # Members of a split are written in the order of their ids, whatever order the store gave.
    contents = {
        name: canary + b"".join(lines[case.id] for case in taken if split_of[case.id] == name) for name in spec.shares
    }
    excluded_lines = b"".join(canonical_json({"id": one, "reason": reason}) + b"\n" for one, reason in excluded)
    manifest = _manifest(spec, taken, split_of, contents) | leaks
    # Which case a repeat repeats is said in the file of those left out.
    reasons = ("repeat" if reason.startswith("repeats ") else reason for _, reason in excluded)
    manifest["excluded"] = dict(sorted(Counter(reasons).items()))
    manifest["excluded_cases"] = _entry(f"{EXCLUDED}.jsonl", excluded_lines, len(excluded))
    manifest["parent"] = parent and {"version": parent.version, "content_hash": parent.content_hash}
    files = {spec.out / f"{name}.jsonl": content for name, content in contents.items()}
    files[spec.out / f"{EXCLUDED}.jsonl"] = excluded_lines
    files[spec.out / "schema.json"] = canonical_json(Case.model_json_schema()) + b"\n"
    # The same build made again keeps its first time stamp, so its bytes and its seal stay the same.
    manifest = manifests.seal_manifest(_made_before(spec, manifest, files) or manifest)
    files[spec.manifest] = manifests.encode(manifest)
    rows = [(case.id, case.rev(), split_of[case.id]) for case in taken]
    return FrozenSnapshot(Manifest.model_validate(manifest), rows, files)


def _sort_out(cases: Iterable[Case], *, without_candidates: bool) -> tuple[list[Case], list[tuple[str, str]]]:
    """Cases that take part, by id; and the others, each with its reason."""
    taken, excluded = [], []
    for case in cases:
        lacking = case.list_missing()
        if case.status is not CaseStatus.ACTIVE:
            excluded.append((case.id, str(case.status)))
        elif without_candidates and case.tier == CANDIDATE:
            excluded.append((case.id, CANDIDATE))
        elif lacking:
            excluded.append((case.id, f"lacks {', '.join(lacking)}"))
        else:
            taken.append(case)
    return sorted(taken, key=lambda case: case.id), sorted(excluded)


def canary_of(dataset: str) -> str:
    """A line to search training data for: whoever finds it there has trained on this benchmark."""
    return f"evergold canary {uuid5(NAMESPACE_URL, f'evergold:{dataset}')}: benchmark data, not for training"


def _entry(path: str, content: bytes, count: int) -> dict[str, Any]:
    return {"path": path, "count": count, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def _manifest(
    spec: SnapshotSpec, cases: Sequence[Case], split_of: Mapping[str, str], contents: Mapping[str, bytes]
) -> dict[str, Any]:
    splits = {}
    for name, content in contents.items():
        members = [case for case in cases if split_of[case.id] == name]
        groups = {group_key(case, spec.group_by) for case in members}
        splits[name] = _entry(f"{name}.jsonl", content, len(members)) | {"groups": len(groups)}
    # Which policy revisions made the cases: a later reader can tell what the data was selected by.
    policies = Counter((case.provenance.policy, case.provenance.policy_rev) for case in cases)
    return {
        "version": spec.version,
        "generated_at_utc": manifests.stamp(manifests.now_utc()),
        "dataset": spec.dataset,
        "schema": manifests.CASE_SCHEMA,
        "schema_hash": content_hash(Case.model_json_schema()),
        "filters": dict(spec.filters),
        "seed": spec.seed,
        "group_by": spec.group_by,
        "shares": dict(spec.shares),
        "splits": splits,
        "kinds": dict(sorted(Counter(str(case.kind) for case in cases).items())),
        "entry_types": dict(
            sorted(
                Counter("candidate" if case.tier == "candidate" else case.entry_type.value for case in cases).items()
            )
        ),
        "tags": dict(sorted(Counter(tag for case in cases for tag in case.tags).items())),
        "policies": [
            {"policy": name, "rev": rev, "cases": count}
            for (name, rev), count in sorted(policies.items(), key=lambda item: str(item[0]))
            if name is not None
        ],
        "canary": canary_of(spec.dataset) if spec.canary else None,
        "content_hash": manifests.files_hash({name: entry["sha256"] for name, entry in splits.items()}),
        "project_root": ".",
        "builder": manifests.builder_version(),
    }


def _look_for_leaks(spec: SnapshotSpec, cases: Sequence[Case], split_of: Mapping[str, str]) -> dict[str, Any]:
    if spec.on_leak == "ignore":
        return {"near_duplicates": None, "overlap": None}
    pairs = near_duplicates(cases, split_of)
    # By their names alone, which say nothing of this machine; by more of the path where two are called the same.
    called = Counter(path.name for path in spec.avoid)
    overlap = {path.name if called[path.name] == 1 else path.as_posix(): overlaps(cases, path) for path in spec.avoid}
    problems = [f"{pair['a']} ({pair['splits'][0]}) ~ {pair['b']} ({pair['splits'][1]})" for pair in pairs]
    problems += [f"{one} is in {name}" for name, ids in overlap.items() for one in ids]
    if problems and spec.on_leak == "fail":
        raise Conflict(
            f"{len(problems)} leaks between splits or into training files; nothing was written",
            problems=problems[:SHOWN],
        )
    return {
        "near_duplicates": {"count": len(pairs), "pairs": pairs[:SHOWN]},
        "overlap": {name: {"count": len(ids), "cases": ids[:SHOWN]} for name, ids in overlap.items()},
    }


def _made_before(spec: SnapshotSpec, manifest: Mapping[str, Any], files: Iterable[Path]) -> dict[str, Any] | None:
    """The manifest of the very same build, if it stands there: a build is never changed, making it again is harmless.

    Anything else in the way is a conflict, also a file that no manifest knows.
    """
    if not spec.manifest.exists():
        others = sorted(path.name for path in files if path.exists())
        if others and not spec.force:
            raise Conflict(f"{spec.out} holds {', '.join(others)} already; choose another --out, or add --force")
        return None
    there: Any = None
    with suppress(ValueError):
        there = orjson.loads(spec.manifest.read_bytes())
    there = there if isinstance(there, dict) else {}
    # Time and builder may differ between two makings of one build.
    if all(there.get(name) == value for name, value in manifest.items() if name not in _OF_THE_MOMENT):
        return {**manifest, **{name: there[name] for name in _OF_THE_MOMENT & there.keys()}}
    if spec.force:
        return None
    raise Conflict(f"{spec.out} holds another build; choose another --version or --out, or add --force")
