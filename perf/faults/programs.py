"""Programs of other versions: one of an earlier commit, and later ones that are today's with further revisions of the schema."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from perf.faults.server import EVERGOLD, Server

ROOT = Path(__file__).parents[2]
PACKAGE = Path("src/evergold")
MIGRATIONS = PACKAGE / "store/migrations"
NO_REMOVALS = "REMOVES: dict[str, str] = {}"
REVISION = '''"""{summary}"""

from alembic import op
from sqlalchemy import text

revision = "{number}"
down_revision = "{before}"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.get_bind().execute(text("{statement}"))
'''


@dataclass(frozen=True)
class Program:
    """A version of Evergold: its name, and the folder that holds its sources."""

    name: str
    folder: Path

    @property
    def head(self) -> str:
        """The last revision of the schema that it knows."""
        return max(path.name[:4] for path in (self.folder / MIGRATIONS / "versions").glob("[0-9]*.py"))

    def run(self, home: Path, url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, **self._path(), "EVERGOLD_HOME": str(home), "EVERGOLD_DATABASE_URL": url}
        return subprocess.run([EVERGOLD, *arguments], env=env, capture_output=True, text=True, check=False)

    def server(self, home: Path, url: str) -> Server:
        return Server(home, url, **self._path())

    def _path(self) -> dict[str, str]:
        return {"PYTHONPATH": str(self.folder / "src")}


TODAY = Program("today's", ROOT)


def earlier(folder: Path, commit: str) -> Program:
    """Take the sources of a commit out of the repository's history."""
    folder.mkdir(parents=True)
    packed = subprocess.run(["git", "archive", commit, "src"], cwd=ROOT, capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x", "-C", str(folder)], input=packed, check=True)
    return Program(commit, folder)


def later(folder: Path, before: Program, statement: str, removes: str = "") -> Program:
    """Copy a program and add a revision; `removes`: the first revision whose programs can do without what it removes."""
    shutil.copytree(before.folder / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__", "web_dist"))
    number = f"{int(before.head) + 1:04}"
    text = REVISION.format(summary="A trial.", number=number, before=before.head, statement=statement)
    (folder / MIGRATIONS / "versions" / f"{number}_trial.py").write_text(text, encoding="utf-8")
    if removes:
        path = folder / MIGRATIONS / "__init__.py"
        known = path.read_text(encoding="utf-8")
        assert NO_REMOVALS in known
        path.write_text(known.replace(NO_REMOVALS, f"{NO_REMOVALS[:-2]}{{{number!r}: {removes!r}}}"), encoding="utf-8")
    return Program(number, folder)
