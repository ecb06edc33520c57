"""docs/plugins.md: the package on the page, built, installed and used as a reader would."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import evergold as evergold_package
from tests.api.serving import served
from tests.cli.running import evergold
from tests.docs.test_docs import type_commands, user_environment
from tests.openai_server import Reply, serving
from tests.patience import PATIENCE

PAGE = Path(__file__).parents[2] / "docs" / "plugins.md"
BLOCK = re.compile(r"^`(?P<path>[\w./-]+)`[.:].*?^```(?:toml|python)\n(?P<code>.*?)^```", re.M | re.S)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder the package of the page is installed into."""
    package = tmp_path_factory.mktemp("package")
    for match in BLOCK.finditer(PAGE.read_text()):
        file = package / match["path"]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(match["code"])
    site = tmp_path_factory.mktemp("site")
    tools = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "VIRTUAL_ENV": sys.prefix}
    command = ["uv", "pip", "install", "--quiet", "--no-deps", "--target", str(site), str(package)]
    subprocess.run(command, check=True, capture_output=True, env=tools)
    return site


@pytest.mark.slow
def test_the_package_of_the_page_installs_and_works(site: Path, tmp_path: Path) -> None:
    used = {"PYTHONPATH": search_path(site)}
    listed = evergold("plugins", "--json", cwd=tmp_path, **used).json
    names = {"metrics": "polite", "checks": "brief", "sources": "chatlog", "judges": "strict"}
    assert [group for group, name in names.items() if name not in listed[group]] == []
    found = evergold("doctor", "--json", cwd=tmp_path, **used).json["findings"]
    fine = {one["message"] for one in found if (one["area"], one["level"]) == ("plug-ins", "fine")}
    assert {f"{group.removesuffix('s')} {name} of evergold-example" for group, name in names.items()} == fine


@pytest.mark.slow
def test_its_source_and_check_work_through_ingest_and_curate(site: Path, tmp_path: Path) -> None:
    used = {"PYTHONPATH": search_path(site), "EVERGOLD_CHECKS_BUILTIN": "true"}
    (tmp_path / "chats.txt").write_text("#chatlog\nc1 | How? | This way, please.\nno bars\n")
    report = evergold("ingest", "chats.txt", "--json", cwd=tmp_path, **used).json
    assert (report["traces"], report["rejected"]) == (1, 1)
    assert evergold("curate", "--json", cwd=tmp_path, **used).json["examined"] == 1
    assert scores_of(evergold("traces", "show", "c1", "--json", cwd=tmp_path, **used).json)["brief"] == 1.0


@pytest.mark.slow
def test_its_check_works_on_a_server(site: Path, tmp_path: Path) -> None:
    used = {"PYTHONPATH": search_path(site), "EVERGOLD_CHECKS_BUILTIN": "true"}
    with served(tmp_path, **used) as url:
        ws = evergold_package.open(url=url)
        ws.ingest({"id": "c1", "input": "How?", "output": "This way, please."})
        ws.curate()
        wait_until(lambda: any(score.name == "brief" for trace in ws.traces() for score in trace.scores))


def scores_of(trace: dict[str, Any]) -> dict[str, float]:
    return {score["name"]: score["value"] for score in trace["scores"]}


def wait_until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.1)


def search_path(*folders: Path) -> str:
    """The folders, before those that this process imports from."""
    return os.pathsep.join([*map(str, folders), *filter(None, [os.environ.get("PYTHONPATH")])])


@pytest.mark.slow
def test_its_commands_run_as_printed(site: Path, tmp_path: Path) -> None:
    """The first one is what the fixture does, into a folder of its own."""
    body = re.findall(r"^```console\n(.*?)^```", PAGE.read_text(), re.M | re.S)[-1]
    first, _, commands = body.partition("\n")
    assert first == "$ uv pip install ./evergold-example"
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    with serving(Reply("This way, please.")) as model:
        env = {"PATH": path, "PYTHONPATH": search_path(site), "OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "a-key"}
        type_commands(PAGE, commands, tmp_path, user_environment() | env)
