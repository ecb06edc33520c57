"""Worlds of agent sessions made by rule: a repository, session logs, and which sessions each commit really belongs to.

    python -m tests.agent_worlds --sessions 200 --seed 1      # extract, and compare with the truth

Sessions work alone or two at once, in one checkout or in work trees of their own, minutes apart on the same files. Their work
is committed by the agent, by hand, squashed with "(#12)" the next day alone or two in one, rebased under another message,
cherry-picked, or thrown away; branches are deleted. A nod ("ok", "go on") ends many of them.
"""

import argparse
import random
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from evergold.extract.agents.extraction import SessionCases
from evergold.extract.golden import Extracted
from evergold.model.case import Case
from evergold.sources.agents.claude_code import ClaudeCodeSource
from tests.agent_logs import ClaudeLog
from tests.repos import GitRepo

FATES = ("commit", "by hand", "squash", "two in one", "rebase", "cherry-pick", "thrown away")
NODS = ("ok", "go on", "Yes please.", "looks good, commit it", "weiter", "👍")
A_DAY = 24 * 60 * 60  # of the repository's clock, whose ticks are seconds


@dataclass
class SessionWorld:
    """`truth`: of each commit its sessions, each with its request and the files it alone read."""

    repo: GitRepo
    logs: Path
    truth: dict[str, dict[str, tuple[str, str]]] = field(default_factory=dict)
    fates: dict[str, str] = field(default_factory=dict)


def make_sessions(folder: Path, seed: int, sessions: int) -> SessionWorld:
    repo = GitRepo(folder / "repo")
    world = SessionWorld(repo, folder / "logs")
    files = {f"app/m{n}.py": "".join(f"value_{n}_{line} = {line}\n" for line in range(60)) for n in range(12)}
    repo.commit(files | {f"doc/n{n}.md": f"# Note {n}\n" * 9 for n in range(sessions + 1)}, "Start of the app")
    draw = random.Random(seed)
    number = 0
    while number < sessions:
        fate = draw.choice(FATES)
        _add(world, number, fate, draw)
        number += 2 if fate == "two in one" else 1
    return world


def _add(world: SessionWorld, number: int, fate: str, draw: random.Random) -> None:
    repo, branch = world.repo, f"side/{number}"
    repo.git("checkout", "-q", "-b", branch, "main")
    pair = [number, number + 1] if fate == "two in one" else [number]
    at_once = len(pair) == 2 and draw.random() < 0.5
    logs = [_begin(world, one, branch) for one in pair]
    path = f"app/m{draw.randrange(12)}.py"
    steps = [_work(log, one, path, draw) for log, one in zip(logs, pair, strict=True)]
    for moves in [zip(*steps, strict=True)] if at_once else [((move,) for move in one) for one in steps]:
        for _ in moves:
            pass
    told = {f"s-{one}": (f"Please give value {one} of the app a better name", f"doc/n{one}.md") for one in pair}
    world.fates |= dict.fromkeys(told, fate)
    message = f"Rename value {number}"
    if fate == "commit":
        logs[0].commit(message)
    elif fate != "thrown away":
        repo.commit(message=message)
    if draw.random() < 0.6:
        logs[-1].ask(draw.choice(NODS))
    if fate == "thrown away":
        repo.git("checkout", "-q", "--", ".")
    repo.switch("main")
    if draw.random() < 0.4:
        repo.commit({f"doc/n{number}.md": f"# Note {number} of somebody else\n"}, "Note something")
    if fate != "thrown away":
        world.truth[_merge(repo, branch, fate, number)] = told
    repo.git("branch", "-q", "-D", branch)


def _begin(world: SessionWorld, number: int, branch: str) -> ClaudeLog:
    return ClaudeLog(world.repo, world.logs / f"s-{number}.jsonl", f"s-{number}", branch)


def _work(log: ClaudeLog, number: int, path: str, draw: random.Random) -> Iterator[None]:
    log.ask(f"Please give value {number} of the app a better name")
    yield
    log.read(f"doc/n{number}.md")
    yield
    lines = (log.repo.path / path).read_text().splitlines()
    log.read(path, 1, len(lines))
    yield
    at = 2 * draw.randrange(1, 25) + number % 2
    log.edit(path, lines[at] + "\n", f"better_name_{number} = compute({at}, {number})\n", noted=draw.random() < 0.5)
    yield


def _merge(repo: GitRepo, branch: str, fate: str, number: int) -> str:
    """Bring the work to the main line; its branch is gone afterwards."""
    if fate in ("commit", "by hand"):
        repo.git("merge", "-q", "--no-ff", "-m", f"Merge pull request #{number}", branch)
        return repo.git("rev-parse", branch).strip()
    if fate == "cherry-pick":
        repo.git("cherry-pick", branch)
        return repo.git("rev-parse", "HEAD").strip()
    repo.minutes += A_DAY if fate != "rebase" else 1
    patch = repo.git_bytes("diff", "--binary", "--full-index", f"main...{branch}")
    repo.git("apply", "--index", "-", input=patch)
    return repo.commit(message=f"Use better names (#{number})" if fate != "rebase" else f"Reworded {number}")


def find_faults(world: SessionWorld) -> list[str]:
    """What an extraction of the world gets wrong: commits, sessions, requests, reads."""
    cases: dict[str, Case] = {}
    with SessionCases(world.repo.path) as sessions:
        for flow in ClaudeCodeSource(world.logs, world.logs / "none").flows():
            list(sessions.absorb(sessions.read(flow)))
        cases = {item.case.id: item.case for item in sessions.cases() if isinstance(item, Extracted)}
    strange = cases.keys() - world.truth.keys()
    faults = [f"{commit[:9]} is no work of {cases[commit].metadata['sessions']}" for commit in strange]
    for commit, told in world.truth.items():
        fate = {world.fates[name] for name in told}
        if commit not in cases:
            faults.append(f"{commit[:9]} ({fate}) of {list(told)} is lost")
            continue
        case = cases[commit]
        if sorted(case.metadata["sessions"]) != sorted(told):
            faults.append(f"{commit[:9]} ({fate}): sessions {case.metadata['sessions']}, not {list(told)}")
        if sorted(case.input.split("\n\n")) != sorted(request for request, _ in told.values()):
            faults.append(f"{commit[:9]} ({fate}): query {case.input!r}")
        read = {path.path for path in case.paths if path.path.startswith("doc/")}
        if read != {path for _, path in told.values()}:
            faults.append(f"{commit[:9]} ({fate}): read {sorted(read)}")
        if case.base_commit != world.repo.git("rev-parse", f"{commit}^").strip():
            faults.append(f"{commit[:9]} ({fate}): base {case.base_commit}")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="evergold-world-") as folder:
        world = make_sessions(Path(folder), given.seed, given.sessions)
        faults = find_faults(world)
    print("\n".join(faults))
    print(f"{len(world.fates)} sessions, {len(world.truth)} commits: {len(faults)} faults")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
