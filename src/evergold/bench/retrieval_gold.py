"""Rows of a golden file → what each case needed, in its three tiers."""

from functools import lru_cache
from typing import Any

from evergold.bench.retrieval import Gold, GoldTier, merge_by_path
from evergold.model.case import Case

EDITED = frozenset({"golden_diff", "review_merge_diff"})
TIERS = ("edited", "core", "optional")
SEVERAL = "several"
NOTHING = GoldTier({}, ())

_LANGUAGES = {
    ".c": "C",
    ".h": "C",
    ".cc": "C++",
    ".cpp": "C++",
    ".hpp": "C++",
    ".cs": "C#",
    ".go": "Go",
    ".java": "Java",
    ".js": "JavaScript",
    ".jsx": "JavaScript",
    ".kt": "Kotlin",
    ".md": "text",
    ".php": "PHP",
    ".py": "Python",
    ".rb": "Ruby",
    ".rs": "Rust",
    ".rst": "text",
    ".scala": "Scala",
    ".swift": "Swift",
    ".ts": "TypeScript",
    ".tsx": "TypeScript",
    ".txt": "text",
}


def gold_of_row(row: dict[str, Any]) -> Gold:
    """A row of dataset A or B. An entry's own `tier` wins; else golden sources are edited, what was read in an edited
    file is core, and the rest is optional. A path that base does not have cannot be retrieved and is no gold."""
    of_b = "lineRanges" in row
    sorted_out: dict[str, list[dict[str, Any]]] = {"edited": [], "core": [], "optional": []}
    others: list[dict[str, Any]] = []
    for entry in row["lineRanges" if of_b else "filePaths"]:
        # A file that the change adds cannot be retrieved from the base commit.
        if entry.get("atBase", True):
            (sorted_out["edited"] if _is_edited(entry) else others).append(entry)
    if others:
        edited = {entry["path"] for entry in sorted_out["edited"]}
        for entry in others:
            sorted_out[_other_tier(entry, edited)].append(entry)
    tiers = {name: _as_tier(result, of_b) for name, result in sorted_out.items()}
    return Gold(
        row["caseId"],
        **tiers,
        has_lines=of_b,
        repository=str(row.get("repository") or row.get("workspaceId") or ""),
        base_commit=str(row.get("baseCommit") or ""),
    )


def gold_of_case(case: Case) -> Gold:
    """A stored case: by its line ranges where it has golden ones, else by its paths."""
    ranges = [
        {"path": item.path, "startLine": item.start, "endLine": item.end, "sources": item.sources, **item.extra}
        for item in case.ranges
    ]
    shared = {"caseId": case.id, "repository": case.provenance.repository, "baseCommit": case.base_commit}
    # A case may have ranges that the agent read and no golden ones; then its paths are the gold.
    if any(_is_edited(entry) for entry in ranges):
        return gold_of_row(shared | {"lineRanges": ranges})
    paths = [{"path": item.path, "sources": item.sources, **item.extra} for item in case.paths]
    return gold_of_row(shared | {"filePaths": paths})


def language_of(gold: Gold) -> str:
    """The language of the files that were edited; `several` where they differ."""
    names = {_language(path) for path in gold.edited.files}
    return names.pop() if len(names) == 1 else SEVERAL


@lru_cache(maxsize=65536)
def _language(path: str) -> str:
    # Without a dot rfind gives -1, and the last letter is no known ending.
    return _LANGUAGES.get(path[path.rfind(".") :].lower(), "other")


def files_band(gold: Gold) -> str:
    count = len(gold.edited.files)
    return "1" if count == 1 else "2-3" if count <= 3 else "4-10" if count <= 10 else "over 10"


def _is_edited(entry: dict[str, Any]) -> bool:
    tier = entry.get("tier")
    if tier is not None and tier in TIERS:
        return bool(tier == "edited")
    return not EDITED.isdisjoint(entry.get("sources") or ())


def _other_tier(entry: dict[str, Any], edited: set[str]) -> str:
    """Of an entry that is not edited: its own word, else whether it lies in a file that is."""
    if entry.get("tier") in TIERS:
        return str(entry["tier"])
    return "core" if entry["path"] in edited else "optional"


def _as_tier(entries: list[dict[str, Any]], of_b: bool) -> GoldTier:
    if not entries:
        return NOTHING
    if not of_b:
        return GoldTier({}, tuple(dict.fromkeys(entry["path"] for entry in entries)))
    lines = merge_by_path([(entry["path"], entry["startLine"], entry["endLine"]) for entry in entries])
    return GoldTier(lines, tuple(lines))
