"""Does a diff apply to a commit? Asked of git itself, in a temporary index: no work tree is needed or touched."""

import tempfile
from pathlib import Path

from evergold.repo.git import Repo


def applies(repo: Repo, commit: str, diff: bytes) -> bool:
    with tempfile.TemporaryDirectory(prefix="evergold-") as folder:
        index = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
        # The index is filled from the commit, so that `--cached`
        # checks against that commit and not against the user's index.
        repo.run("read-tree", commit, env=index)
        checked = repo.ask(
            "apply", "--cached", "--check", "--unidiff-zero", "--whitespace=nowarn", "-", input=diff, env=index
        )
        return checked.returncode == 0
