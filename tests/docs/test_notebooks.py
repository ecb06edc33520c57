"""The notebooks run from the first cell to the last in a real Jupyter kernel, and what they keep of it is small."""

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.uv import the_uv

ROOT = Path(__file__).parent.parent.parent
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
MOST_BYTES = 40_000
RUN = """
import sys, nbformat
from nbclient import NotebookClient
NotebookClient(nbformat.read(sys.argv[1], as_version=4), timeout=300, kernel_name="python3").execute()
"""


@pytest.mark.campaign
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(notebook: Path) -> None:
    command = [the_uv(), "run", "--quiet", "--no-project", "--python", sys.executable, "--with", "nbclient,ipykernel"]
    # The kernel is in an environment of its own; Evergold and what it needs come from this one.
    env = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{sysconfig.get_path('purelib')}"}
    done = subprocess.run(
        [*command, "python", "-c", RUN, str(notebook)], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_kept_and_small(notebook: Path) -> None:
    cells = [cell for cell in json.loads(notebook.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert notebook.stat().st_size < MOST_BYTES and sum(bool(cell["outputs"]) for cell in cells) > len(cells) // 2
