"""Worlds of coding-agent flows made by rule: a repository, the app's database, and where each case really began.

    python -m tests.flow_worlds --flows 200 --seed 1      # extract, prove again in the validator, compare with the truth

Every flow has one to three reviewed rounds on files of one shape (CRLF, Latin-1 text, a path in Latin-1, binary, renamed,
added, deleted, plain), merged by squash, merge, rebase or fast-forward, with the branch kept, archived or deleted, while
the target moves on and other flows are under way. Diffs are stored as the app stores them: bytes that are no UTF-8 are lost.
"""

import argparse
import random
import sys
import tempfile
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evergold.extract.flow_cases import Rules, extract_flow
from evergold.extract.golden import Extracted
from evergold.formats.dataset_ab import row_a, row_b
from evergold.model.flow import CodeChange
from evergold.repo.git import Repo, path_bytes, path_text
from evergold.settings import Settings
from evergold.sources.sidekick import SidekickSource
from evergold.workspace import Workspace
from tests.repos import GitRepo
from tests.sidekick_db import SidekickDb

SHAPES = ("plain", "crlf", "latin text", "latin path", "binary", "rename", "add", "delete")
MERGES = ("squash", "merge", "rebase", "fast-forward")
DONE = object()


@dataclass
class TrueCase:
    """The state a case began in (a commit that was never pushed, or one of the target), and what it changed."""

    began: str
    ended: str
    flow: str
    what: str


@dataclass
class World:
    repo: GitRepo
    database: SidekickDb
    truth: dict[str, TrueCase] = field(default_factory=dict)


def make_world(folder: Path, seed: int, flows: int) -> World:
    repo = GitRepo(folder / "repo")
    world = World(repo, SidekickDb(folder / "sidekick.db", str(repo.path)))
    repo.commit({"README.md": "start\n"} | {f"lib/{n}.py": _text(n, 0) for n in range(8)}, "Start")
    draw = random.Random(seed)
    running: list[Iterator[None]] = []
    for number in range(flows):
        running.append(_add_flow(world, number, draw))
        # Two agents at once: their rounds alternate, and each finds the target moved on by the other.
        while running and (len(running) > 1 or draw.random() < 0.6):
            running = [one for one in running if next(one, DONE) is not DONE]
    for one in running:
        deque(one, maxlen=0)
    return world


def _add_flow(world: World, number: int, draw: random.Random) -> Iterator[None]:
    repo, name = world.repo, f"flow{number:04}"
    shape, merge, kept = draw.choice(SHAPES), draw.choice(MERGES), draw.choice(("kept", "archived", "deleted"))
    paths = _first_files(shape, number)
    repo.commit(paths, f"Prepare {name}")
    start = _head(repo)
    branch = f"side/{name}"
    world.database.task(f"task-{name}")
    world.database.flow(name, f"task-{name}", branch)
    repo.git("branch", branch)
    rounds = draw.randint(1, 3)
    for at in range(rounds):
        repo.switch(branch)
        began = _head(repo)
        repo.commit(_change(shape, number, at, draw), f"{name} round {at}")
        diff = repo.git_bytes("-c", "core.quotePath=false", "diff", "-M", start, "HEAD").decode("utf-8", "replace")
        since = repo.diff("-M", began, "HEAD").decode("utf-8", "replace") if draw.random() < 0.3 else None
        if draw.random() < 0.2:
            world.database.action(
                "user_request.approve.merge", {"diff": diff, "sourceBranch": branch}, {"Approved": False}, flow_id=name
            )
            since = None
        more: dict[str, Any] = {} if since is None else {"since": since}
        case = world.database.approval(diff, branch=branch, flow_id=name, **more)
        world.truth[case] = TrueCase(began, _head(repo), name, f"{shape}, {merge}, {kept}, round {at + 1} of {rounds}")
        repo.switch("main")
        if draw.random() < 0.5 and merge != "fast-forward":
            repo.commit({f"lib/{draw.randrange(8)}.py": _text(number, at + 1)}, "Go on elsewhere")
        _merge(repo, branch, merge, began)
        yield
    if kept == "archived":
        repo.git("tag", f"archive/{branch}", branch)
    if kept != "kept":
        repo.git("branch", "-q", "-D", branch)


def _merge(repo: GitRepo, branch: str, how: str, began: str) -> None:
    if how == "merge":
        repo.merge(branch, "--no-ff")
    elif how == "fast-forward":
        # Another agent may have moved the target on; then it is a merge.
        repo.minutes += 1
        repo.git("merge", "-q", "-m", f"Merge {branch}", branch)
    elif how == "rebase":
        repo.minutes += 1
        repo.git("cherry-pick", f"{began}..{branch}")
    else:
        patch = repo.git_bytes("diff", "--binary", "--full-index", began, branch)
        repo.git("apply", "--index", "-", input=patch)
        repo.commit(message=f"Squash {branch} (#7)")


def _head(repo: GitRepo) -> str:
    return repo.git("rev-parse", "HEAD").strip()


def _text(number: int, version: int) -> str:
    return "".join(f"line {n} of {number}{' changed' if n % 9 == version else ''}\n" for n in range(1, 40))


def _path(shape: str, number: int) -> str:
    name = b"caf\xe9.txt".decode("utf-8", "surrogateescape") if shape == "latin path" else "main.py"
    return f"app{number}/{name}"


def _content(shape: str, number: int, version: int) -> bytes:
    if shape == "binary":
        return bytes([0, 1, 2, number % 256, version]) * 40
    text = _text(number, version).replace("line 20", f"Grüße {version} line 20")
    if shape == "latin text":
        return text.encode("latin-1")
    return text.replace("\n", "\r\n").encode() if shape == "crlf" else text.encode()


def _first_files(shape: str, number: int) -> dict[str, str | bytes | None]:
    return {_path(shape, number): _content(shape, number, 0), f"app{number}/old.py": _text(number, 0)}


def _change(shape: str, number: int, at: int, draw: random.Random) -> dict[str, str | bytes | None]:
    path, changed = _path(shape, number), _content(shape, number, at + 1)
    if shape == "add":
        return {f"app{number}/new{at}.py": _text(number, at), path: changed}
    if shape == "delete" and at == 1:
        return {f"app{number}/old.py": None, path: changed}
    if shape == "rename" and at == draw.choice((1, 2)):
        return {f"app{number}/moved{at}.py": changed, **({path: None} if at == 1 else {path: changed})}
    return {path: changed}


def find_faults(world: World, folder: Path) -> tuple[list[str], int]:
    """Extract the world and ask the validator about every row; what is wrong, and how many cases are open."""
    faults: list[str] = []
    opened = 0
    settings = Settings(home=folder / "home", review_repo_dir=world.repo.path, review_sidekick_db=world.database.path)
    with Repo.open(world.repo.path) as repo, Workspace.open(settings) as workspace:
        source = SidekickSource("ws", world.database.path)
        for flow in source.flows():
            for item in extract_flow(flow, repo, Rules()):
                if not isinstance(item, Extracted):
                    faults.append(f"{flow.id}: {item}")
                    continue
                true, case = world.truth[item.case.id], item.case
                evidence = workspace.review.evidence.of_flow("ws", flow.id, case.id)
                change = CodeChange.model_validate(evidence.model_dump(include=set(CodeChange.model_fields)))
                suggested = [one.commit for one in workspace.review.bases.candidates(change)]
                if case.base_commit is None:
                    opened += 1
                    faults += [f"{case.id} ({true.what}): open, yet {suggested[0]} is suggested"] if suggested else []
                    continue
                faults += [f"{case.id} ({true.what}): {fault}" for fault in _wrong_base(world, true, case.base_commit)]
                check = workspace.review.bases.check(case.base_commit, change, row_a(case), row_b(case))
                if check.problems:
                    faults.append(f"{case.id} ({true.what}): the validator disproves it: {check.message}")
                if suggested[:1] != [case.base_commit]:
                    faults.append(f"{case.id} ({true.what}): the validator suggests {suggested[:1]}")
                wanted = set(_changed_paths(world.repo, true))
                golden = {path.path for path in case.paths if "review_merge_diff" in path.sources}
                if golden != wanted:
                    faults.append(f"{case.id} ({true.what}): golden {sorted(golden)}, changed {sorted(wanted)}")
    return faults, opened


def _wrong_base(world: World, true: TrueCase, base: str) -> list[str]:
    """Every file that the case changed must be at the base as it was when the case, or its flow, began."""
    flow_start = world.repo.git("merge-base", "main", f"{true.began}").strip()
    for path in _changed_paths(world.repo, true):
        raw = path_bytes(path)
        at_base, began, start = (_blob(world.repo, commit, raw) for commit in (base, true.began, flow_start))
        if at_base not in (began, start):
            return [f"base {base[:12]} has another {path} than the work began with"]
    return []


def _blob(repo: GitRepo, commit: str, path: bytes) -> bytes:
    return repo.git_bytes("ls-tree", "-z", commit, "--", path.decode("utf-8", "surrogateescape"))


def _changed_paths(repo: GitRepo, true: TrueCase) -> list[str]:
    listed = repo.git_bytes("diff", "--name-only", "--no-renames", "-z", true.began, true.ended).split(b"\0")
    return [path_text(path) for path in listed if path]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flows", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="evergold-world-") as folder:
        world = make_world(Path(folder), given.seed, given.flows)
        faults, opened = find_faults(world, Path(folder))
    print("\n".join(faults))
    print(f"{len(world.truth)} cases of {given.flows} flows: {len(faults)} faults, {opened} open")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
