"""docs/plugins.md: the package on the page, built, installed and used as a reader would."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.running import evergold

PAGE = Path(__file__).parents[2] / "docs" / "plugins.md"
BLOCK = re.compile(r"^`(?P<path>[\w./-]+)`[.:].*?^```(?:toml|python)\n(?P<code>.*?)^```", re.M | re.S)
QUESTIONS = """
name: Manners
tasks:
  - {id: a, name: How, input: "How?", expected_output: "This way, please."}
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder the package of the page is installed into."""
    package = tmp_path_factory.mktemp("package")
    for match in BLOCK.finditer(PAGE.read_text()):
        file = package / match["path"]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(match["code"])
    (package / "src" / "evergold_example" / "__init__.py").write_text("")
    site = tmp_path_factory.mktemp("site")
    tools = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "VIRTUAL_ENV": sys.prefix}
    command = ["uv", "pip", "install", "--quiet", "--no-deps", "--target", str(site), str(package)]
    subprocess.run(command, check=True, capture_output=True, env=tools)
    return site


@pytest.mark.slow
def test_the_package_of_the_page_installs_and_works(site: Path, tmp_path: Path) -> None:
    listed = evergold("plugins", "--json", cwd=tmp_path, PYTHONPATH=str(site)).json
    names = {"metrics": "polite", "checks": "brief", "sources": "chatlog", "judges": "strict"}
    assert [group for group, name in names.items() if name not in listed[group]] == []
    asked = "from evergold import plugins; from evergold.model.checking import Turn; "
    asked += "print(plugins.load('checks', 'brief').check(Turn('t', 'How?', 'This way.')).value)"
    ran = subprocess.run(
        [sys.executable, "-c", asked], env={**os.environ, "PYTHONPATH": str(site)}, capture_output=True, text=True
    )
    assert ran.stdout == "1.0\n", ran.stderr
    (tmp_path / "chats.txt").write_text("#chatlog\nc1 | How? | This way, please.\nno bars\n")
    report = evergold("ingest", "chats.txt", "--json", cwd=tmp_path, PYTHONPATH=str(site)).json
    assert (report["traces"], report["rejected"]) == (1, 1)


@pytest.mark.slow
def test_its_metric_and_judge_measure_a_run(site: Path, tmp_path: Path) -> None:
    (tmp_path / "answer.py").write_text("def answer(case):\n    return 'This way, please.'\n")
    (tmp_path / "questions.yaml").write_text(QUESTIONS)
    words = (
        "run",
        "questions.yaml",
        "--model",
        "python/answer:answer",
        "--metric",
        "polite",
        "--metric",
        "correctness",
    )
    ran = evergold(*words, "--judge", "strict", "--json", cwd=tmp_path, PYTHONPATH=f"{site}:{tmp_path}")
    assert ran.code == 0, ran.err
    assert {mean["metric"]: mean["value"] for mean in ran.json["means"]} == {"polite": 1.0, "correctness": 1.0}
