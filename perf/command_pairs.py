"""Measure what a record costs in the commands of the loop, beside another commit: interleaved pairs of two programs.

    python -m perf.command_pairs --against 12c3b96                    # seven pairs of every command
    python -m perf.command_pairs --against 12c3b96 --only build check --pairs 11

Both programs run with this environment's packages, the other one from the files of that commit or branch. The figure is
user and system time of the command and its children, which a busy machine disturbs little: on many records less on few, so
that the start of the program is not in it. The start has a line of its own. A command works in the workspace that those before
it filled with the same program.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from perf.data.rag_records import write as write_records
from perf.ingest_file import write_lines
from perf.intake_pairs import LIMIT, ROOT, files_of
from perf.measuring import print_pairs
from perf.score_retrieval import write as write_ranges

RUN = "import sys; from evergold.cli import main; sys.argv[0] = 'evergold'; main()"
TRACES, RECORDS_MB, RANGES, FEW = 4_000, 100, 2_000, 20  # of the few: one in so many

# Each command with the arguments that follow it; `{}` is the folder of the files, and a round's workspace is its own.
COMMANDS = {
    "ingest": ("ingest", "{}/traces.jsonl"),
    "curate": ("curate",),
    "build": (
        *("build", "--jobs", "1", "--offline-dataset", "{}/records.jsonl", "--manifest-output", "{home}/manifest.json"),
        *("--qa-output", "{home}/qa.jsonl", "--summary-output", "{home}/summaries.jsonl"),
    ),
    "check": ("check", "{home}/manifest.json"),
    "score-retrieval": ("score-retrieval", "{}/golden.jsonl", "{}/predicted.jsonl"),
}


def other_program(commit: str, folder: Path) -> Path:
    """The files of a commit, and what names its plug-ins."""
    tree = files_of(commit, folder)
    write_metadata(commit, tree / "src")
    return tree


def write_metadata(commit: str, folder: Path) -> None:
    """Name the plug-ins of that commit; else it would be given those of the installed one, which it does not have."""
    shown = subprocess.run(["git", "show", f"{commit}:pyproject.toml"], cwd=ROOT, check=True, capture_output=True)
    project = tomllib.loads(shown.stdout.decode())["project"]
    made = folder / "evergold-0.dist-info"
    made.mkdir()
    (made / "METADATA").write_text("Metadata-Version: 2.1\nName: evergold\nVersion: 0\n")
    groups = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
        for group, entries in project["entry-points"].items()
    ]
    (made / "entry_points.txt").write_text("\n".join(groups))


def make_files(folder: Path, one_in: int) -> Path:
    folder.mkdir()
    write_lines(folder / "traces.jsonl", TRACES // one_in)
    write_records(folder / "records.jsonl", RECORDS_MB // one_in)
    write_ranges(folder / "golden.jsonl", RANGES // one_in, 50, "lineRanges", sources=["golden_diff"])
    write_ranges(folder / "predicted.jsonl", RANGES // one_in, 50, "ranges")
    return folder


def cpu_of(tree: Path, home: Path, arguments: Sequence[str]) -> float:
    """Seconds of CPU of one command; raises `SystemExit` with its last lines where it fails."""
    env = {**os.environ, "PYTHONPATH": str(tree / "src"), "EVERGOLD_HOME": str(home)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-c", RUN, *arguments], env=env, cwd=home, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):  # `check` ends with 1 where it finds something
        raise SystemExit(
            f"evergold {' '.join(arguments)} of {tree} ended with {done.returncode}:\n{done.stderr[-2000:]}"
        )
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def one_round(tree: Path, files: Path, only: Sequence[str]) -> dict[str, float]:
    """Seconds of CPU by command, in a workspace made for this round."""
    with tempfile.TemporaryDirectory() as name:
        home, spent = Path(name), {}
        for command, arguments in COMMANDS.items():
            if not only or command in only:
                given = [argument.replace("{home}", name).replace("{}", str(files)) for argument in arguments]
                spent[command] = cpu_of(tree, home, given)
        return spent


def cost_of_records(tree: Path, many: Path, few: Path, only: Sequence[str]) -> dict[str, float]:
    """Seconds of CPU by command, without what it takes on few records; and the start, which is what those take."""
    large, small = one_round(tree, many, only), one_round(tree, few, only)
    return {command: large[command] - small[command] for command in large} | {"start of all": sum(small.values())}


def compare(
    trees: Mapping[str, Path], files: tuple[Path, Path], chosen: argparse.Namespace
) -> dict[str, list[dict[str, float]]]:
    """Measure pairs, the two programs taking turns at being first."""
    rounds: dict[str, list[dict[str, float]]] = {name: [] for name in trees}
    for number in range(chosen.pairs):
        for name in list(trees)[:: 1 if number % 2 else -1]:
            rounds[name].append(cost_of_records(trees[name], *files, chosen.only))
        print(f"    pair {number + 1} of {chosen.pairs}", flush=True)
    return rounds


def report(rounds: Mapping[str, Sequence[Mapping[str, float]]]) -> None:
    """Print the medians of both programs and of the pairs' ratios, a line a command."""
    (against, then), (_, now) = rounds.items()
    for command in then[0]:
        print_pairs(f"{command}, s", against, [one[command] for one in then], [one[command] for one in now], LIMIT)


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", default="12c3b96", metavar="COMMIT")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--only", nargs="*", choices=list(COMMANDS), default=(), help="default: every command")
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory() as files:
        made = make_files(Path(files, "many"), 1), make_files(Path(files, "few"), FEW)
        trees = {chosen.against: other_program(chosen.against, Path(name)), "now": ROOT}
        report(compare(trees, made, chosen))


if __name__ == "__main__":
    main(sys.argv[1:])
