"""Coding-agent sessions as cases: how much of what was edited the agent had read.

Needs a repository whose sessions were archived beside it by the Entire CLI: a branch (`entire/checkpoints/v1`) with
`…/full.jsonl` transcripts and `metadata.json`, and commits with the trailer `Entire-Checkpoint`; github.com/entireio/cli is
one. `python -m perf.extract_agents --repo DIR`. The transcripts are written to a temporary folder first (`--keep DIR` keeps
and reuses it).

Prints the sessions, the cases, why others were dropped, the share of edited files and of edited lines (base side) that
the looks cover, and whether every range lies inside its file at base. Whole files count only where whole files were shown.
"""

import argparse
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from evergold.extract.agents.extraction import AgentExtraction
from evergold.extract.golden import Extracted
from evergold.extract.ranges import PathSource, RangeSource, prove
from evergold.model.case import Case, LineRange
from evergold.repo.git import Repo
from evergold.repo.history import timeline
from evergold.sources.agents.claude_code import ClaudeCodeSource

TRAILER = r"Entire-Checkpoint: (\w+)"
BRANCH = "entire/checkpoints/v1"
WANTED = ("full.jsonl", "metadata.json")
Lines = set[tuple[str, int]]
GOLDEN, SHOWN, WRITTEN = RangeSource.GOLDEN_DIFF, RangeSource.TOOL_CALL_RESULT, RangeSource.TOOL_CALL_ARGS


def unpack(repo: Repo, folder: Path) -> Counter[str]:
    """Write the transcripts of the branch into a folder; those a partial clone lacks are counted."""
    found: Counter[str] = Counter()
    for entry in repo.run("ls-tree", "-r", "-z", BRANCH).decode().split("\0")[:-1]:
        about, _, path = entry.partition("\t")
        if not path.endswith(WANTED):
            continue
        name = path.rsplit("/", 1)[-1]
        blob = about.split()[2]
        if repo.objects.find(blob) is None:
            found[f"{name} missing in this clone"] += 1
            continue
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(repo.objects.read(blob))
        found[name] += 1
    return found


def lines_of(ranges: Sequence[LineRange], *sources: RangeSource) -> Lines:
    wanted = (found for found in ranges if not set(sources).isdisjoint(found.sources))
    return {(found.path, number) for found in wanted for number in range(found.start, found.end + 1)}


def incomplete(repo: Repo) -> set[str]:
    """Commits of which a transcript is listed in the branch but absent from this (partial) clone."""
    listed = repo.run("ls-tree", "-r", "-z", BRANCH).decode().split("\0")[:-1]
    entries = [entry.partition("\t") for entry in listed if entry.endswith("full.jsonl")]
    missing = {
        "".join(path.split("/")[:2]) for about, _, path in entries if repo.objects.find(about.split()[2]) is None
    }
    return {moment.id for moment in timeline(repo) if missing & set(re.findall(TRAILER, moment.message))}


def share(part: int, whole: int) -> str:
    return f"{part}/{whole} ({part / whole:.1%})" if whole else "none"


def coverage(cases: Sequence[Case]) -> dict[str, str]:
    """Shares over all cases. A file the commit deletes as a whole need not be read, and one that no session edited came
    from elsewhere (a person, a session that is not archived): without both, what is left is the agents' own work."""
    files, lines, own = Counter[str](), Counter[str](), Counter[str]()
    shares: list[float] = []
    for case in cases:
        golden, read = lines_of(case.ranges, GOLDEN), lines_of(case.ranges, SHOWN)
        edited = {path for path, _ in golden}
        looked = {path.path for path in case.paths if set(path.sources) - {PathSource.REVIEW_MERGE_DIFF}}
        files.update(all=len(edited), looked=len(edited & looked), shown=len(edited & {path for path, _ in read}))
        known = read | lines_of(case.ranges, WRITTEN)
        lines.update(all=len(golden), shown=len(golden & read), known=len(golden & known))
        deleted = {path.path for path in case.paths if path.extra.get("changeType") == "deleted"}
        mine = {line for line in golden if line[0] in case.metadata["editedInSession"] and line[0] not in deleted}
        own.update(all=len(mine), shown=len(mine & read), known=len(mine & known))
        shares += [len(golden & read) / len(golden)] if golden else []
    return {
        "edited files looked at": share(files["looked"], files["all"]),
        "edited files with lines shown": share(files["shown"], files["all"]),
        "edited lines shown": share(lines["shown"], lines["all"]),
        "  or written before base": share(lines["known"], lines["all"]),
        "of files the sessions edited": share(own["shown"], own["all"]),
        "  or written before base ": share(own["known"], own["all"]),
        "mean share of lines per case": f"{sum(shares) / max(len(shares), 1):.1%} of {len(shares)} cases",
    }


def measure(repo: Repo, folder: Path) -> tuple[list[Case], Counter[str]]:
    source = ClaudeCodeSource(folder)
    extraction = AgentExtraction(repo)
    dropped: Counter[str] = Counter()
    for flow in source.flows():
        dropped["sessions"] += 1
        for item in extraction.absorb(extraction.read(flow)):
            dropped[item if isinstance(item, str) else "unreadable lines or files"] += 1
    cases = [item.case for item in extraction.cases() if isinstance(item, Extracted)]
    dropped.update({f"unknown tool {name}": count for name, count in extraction.unknown_tools.items()})
    return cases, dropped


def report(repo: Repo, folder: Path) -> None:
    lacking = incomplete(repo)
    began = time.perf_counter()
    cases, dropped = measure(repo, folder)
    print(f"\n{len(cases)} cases in {time.perf_counter() - began:.1f} s")
    whole = [case for case in cases if case.id not in lacking]
    for heading, chosen in (("all", cases), (f"the {len(whole)} whose transcripts are all in this clone", whole)):
        print(f" {heading}")
        for name, value in coverage(chosen).items():
            print(f"  {name:<32} {value}")
    for how in ("commit", "history", "trailer", "merge", "pull request"):
        of_kind = [case for case in cases if case.metadata["boundary"] == how]
        print(f"found by {how}: {len(of_kind)} cases, edited lines shown {coverage(of_kind)['edited lines shown']}")
    print("without a request:", sum(not case.input for case in cases))
    for name, count in dropped.most_common():
        print(f"  {count:>6}  {name}")
    counts = sum((Counter(case.metadata["reads"]) for case in cases), Counter[str]())
    for name, count in counts.most_common():
        print(f"  {count:>6}  {name}")
    proofs = list(prove(cases, repo))
    ranges = sum(len(case.ranges) for case in cases)
    stale = sum(bool(proof.stale) for proof in proofs)
    invalid = sum(proof.not_at_base for proof in proofs)
    print(f"{ranges} ranges: {stale} stale cases, {invalid} entries that base does not have")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repo", type=Path)
    parser.add_argument("--keep", type=Path, help="Folder for the transcripts, kept and reused.")
    given = parser.parse_args(arguments if arguments is not None else sys.argv[1:])
    if given.repo is None:
        print("give --repo DIR: a clone of a repository with archived sessions (see --help)")
        return
    with Repo.open(given.repo) as repo, tempfile.TemporaryDirectory() as temporary:
        folder = given.keep or Path(temporary)
        if not folder.is_dir() or not any(folder.iterdir()):
            print(dict(unpack(repo, folder)))
        report(repo, folder)


if __name__ == "__main__":
    main()
