"""Every block of every page runs as printed, in order and in one folder a page; what cannot run here is listed with its reason.

`console`: `$ command` lines; the lines under one must appear in what it prints (… is anything). `python`: a program.
`bash`: a script; its servers go on until the page ends. `yaml`, `toml`: files, read by the command that takes them.
`sql`: asked of DuckDB. `py`: a test, run by pytest, or a program for a service, compiled. `text`: for eyes, without commands.
"""

import ast
import gzip
import json
import os
import re
import signal
import socket
import sys
import textwrap
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.docs.test_docs import PAGES, ROOT, TUTORIAL, run_program, type_commands, user_environment
from tests.openai_server import Body, Reply, serving
from tests.storage.conftest import s3, s3_address  # noqa: F401  (fixtures)
from tests.uv import the_uv

pytestmark = pytest.mark.slow
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
ELSEWHERE = (TUTORIAL, ROOT / "docs" / "plugins.md")  # followed by test_docs.py and test_plugins_page.py
NOT_HERE = {  # lines of scripts that do not run, and why
    r"(uv )?pip install ": "asks a package index; test_wheel.py installs the wheel, test_plugins_page.py the page's package",
    r"createuser ": "asks for a password; the database of the tests has its user",
    r"(docker|kubectl) |EVERGOLD_TOKEN=…": "need a container engine or a cluster; test_deploy.py holds the files they take",
    r"make ": "are the tests; test_make_has_the_targets_that_pages_name",
    r"DEEPEVAL_RESULTS_FOLDER=": "asks a model with a key; the page's first block reads what it writes",
}
MAKE = re.compile(r"(?:^|`)make ([a-z][a-z-]+)", re.MULTILINE)
# Their `py` blocks ask a service with its own library; what that writes is in examples/elsewhere, and read on the page.
SERVICES = ("from-deepeval", "from-langfuse", "from-langsmith", "from-mlflow", "from-phoenix")
BACKGROUND = re.compile(r"(evergold serve|dask (scheduler|worker))\b")
APP = """
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter()))
with provider.get_tracer("app").start_as_current_span("chat") as span:
    span.set_attributes({"input.value": "Capital of Peru?", "output.value": "Lima."})
"""
ANSWER = '''
CODE = """
def double(n): return 2 * n
if __name__ == "__main__": print(double(int(input())))
"""
ARGS = {"from": "New York", "to": "lima", "code": "AB12", "budget": 300}
def answer(case): return {"output": CODE, "tool_calls": [{"name": "find_flights", "args": ARGS}]}
'''
TASK = "name: A page\ntasks:\n  - id: a\n    name: A\n    input: Q\n    expected_output: E\n"
MEASURE = "evergold datasets lint tasks.yaml && evergold run tasks.yaml --model python:answer:answer --metric "
READERS = {  # the file that a block is, by its language and first key, and the command that reads it
    ("toml", "check"): ("checks.toml", "EVERGOLD_CHECKS_FILES=checks.toml evergold check-traces --dry-run"),
    ("toml", "name"): ("policy.toml", "evergold curate --policy policy.toml --dry-run"),
    ("toml", "alerts"): (
        "evergold.toml",
        "evergold alerts test --json | tee alerts.json; grep topic_drift alerts.json",
    ),
    ("toml", "review"): ("evergold.toml", "evergold review progress"),
    ("toml", "questions"): ("questions.toml", "evergold review questions live questions.toml | grep polite"),
    ("yaml", "name"): ("tasks.yaml", "evergold datasets lint tasks.yaml"),
    ("yaml", "tests"): ("tasks.yaml", f"{MEASURE} tests_passed --fail-under tests_passed=1"),
    ("yaml", "expected_tools"): ("tasks.yaml", f"{MEASURE} tool_correctness --fail-under tool_correctness=1"),
    ("yaml", "assertions"): ("tasks.yaml", f"{MEASURE} assertions"),
    ("yaml", "generation"): ("rag.yaml", "evergold generate --config rag.yaml && evergold build --config rag.yaml"),
    ("yaml", "evaluation"): (
        "rag.yaml",
        "evergold build --config rag.yaml && test -s evaluation/datasets/rewrites.jsonl",
    ),
}
OFFLINE: list[dict[str, Any]] = [
    {
        "task_id": "a",
        "task_type": "qa",
        "instruction": "Who?",
        "answer": "Ana [1].",
        "contexts": ["It was Ana."],
        "sources": ["a.md"],
    },
    {"task_id": "b", "task_type": "rewrite", "draft": "it were ana", "expected_response": "It was Ana."},
]


class PageReader:
    """Somebody who does what a page says, in a folder of their own."""

    def __init__(self, page: Path, folder: Path) -> None:
        self.page, self.folder = page, folder
        port = free_port()
        self.env = user_environment() | {"EVERGOLD_SERVER_PORT": port}
        self.words = {"8321": port, "8322": free_port()}  # what the reader puts in place of what is printed
        self.number = 0

    def follow(self) -> None:
        for language, body in FENCE.findall(self.page.read_text(encoding="utf-8")):
            self.number += 1
            READ[language](self, body)

    def type_commands(self, body: str) -> None:
        type_commands(self.page, body, self.folder, self.env)

    def run_python(self, body: str) -> None:
        run_program([sys.executable, "-W", "error", "-c", body], self.folder, self.env, body)

    def fill_in(self, body: str) -> str:
        for word, value in self.words.items():
            body = body.replace(word, value)
        return body

    def run_script(self, body: str) -> None:
        """Type the lines of a script into one shell; what serves is waited for and goes on."""
        body = self.fill_in(body)
        lines = [re.sub(r"(^|\s+)#.*", "", line) for line in re.sub(r"\\\n\s*", "", body).splitlines()]
        commands = [line for line in lines if not any(re.match(pattern, line) for pattern in NOT_HERE)]
        script = "\n".join(serve_on(line) if BACKGROUND.match(line) else line for line in commands)
        run_program(["bash", "-ec", script], self.folder, self.env, script)

    def read_file(self, language: str, body: str) -> None:
        """Save a file alone in a folder with sample data, and let the command that takes it read it."""
        text = textwrap.dedent(self.fill_in(body))
        key = re.split(r"\W", text.lstrip("["))[0]
        name, command = READERS[language, key]
        folder = self.folder / f"block-{self.number}"
        folder.mkdir()
        if key == "evaluation":
            (folder / "evaluation" / "datasets").mkdir(parents=True)
            write_lines(folder / "evaluation" / "datasets" / "offline_dataset.jsonl", OFFLINE)
        (folder / "answer.py").write_text(ANSWER, encoding="utf-8")
        task = name == "tasks.yaml" and key != "name"
        (folder / name).write_text(TASK + textwrap.indent(text, "    ") if task else text, encoding="utf-8")
        begin = (
            "cp -r $REPO/src/evergold/samples/documents .; evergold ingest $EXAMPLES/traces.jsonl; evergold curate\n"
        )
        run_program(
            ["bash", "-ec", f"{begin if language == 'toml' else begin.split(';')[0]}\n{command}"],
            folder,
            self.env,
            body,
        )

    def ask_duckdb(self, body: str) -> None:
        asked = f"import duckdb\nfor one in duckdb.extract_statements({body!r}):\n    assert duckdb.sql(one.query).fetchall()"
        command = [the_uv(), "run", "--quiet", "--no-project", "--python", sys.executable, "--with", "duckdb", "python"]
        run_program([*command, "-c", asked], self.folder, self.env, body)

    def test_or_compile(self, body: str) -> None:
        ast.parse(body)
        if self.page.stem not in SERVICES:
            (self.folder / "test_page.py").write_text(body, encoding="utf-8")
            (self.folder / "right.py").write_text("def answer(case): return case.expected\n", encoding="utf-8")
            model = ["--evergold-model", "python:right:answer"]
            command = [
                sys.executable,
                "-m",
                "pytest",
                "-q",
                "-p",
                "no:cacheprovider",
                "--rootdir=.",
                "test_page.py",
                *model,
            ]
            assert "1 passed" in run_program(command, self.folder, self.env, body)

    def look(self, body: str) -> None:
        assert not re.search(r"^\s*(\$ )?(evergold|python|pip|export|\w+=\S+) ", body, re.MULTILINE), (
            "a block of commands"
        )

    def stop_servers(self) -> None:
        file = self.folder / "servers.pid"
        for process in file.read_text().split() if file.exists() else ():
            with suppress(ProcessLookupError):
                os.kill(int(process), signal.SIGTERM)


READ: dict[str, Callable[[PageReader, str], None]] = {
    "console": PageReader.type_commands,
    "python": PageReader.run_python,
    "bash": PageReader.run_script,
    "yaml": lambda reader, body: reader.read_file("yaml", body),
    "toml": lambda reader, body: reader.read_file("toml", body),
    "sql": PageReader.ask_duckdb,
    "py": PageReader.test_or_compile,
    "text": PageReader.look,
}


def serve_on(line: str) -> str:
    """The command in the background; a server is waited for."""
    port = re.search(r"--port (\d+)", line)
    number = port[1] if port else "$EVERGOLD_SERVER_PORT"
    ready = f"curl -sf http://127.0.0.1:{number}/api/v1/ready >ready.json"
    wait = f"; until {ready}; do kill -0 $!; sleep 0.1; done" if "evergold" in line else ""
    return f"{line} >>servers.log 2>&1 & echo $! >>servers.pid{wait}"


def write_lines(file: Path, records: list[dict[str, Any]]) -> None:
    file.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")


def free_port() -> str:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return str(found.getsockname()[1])


def reply(body: Body) -> Reply:
    """Answer as a model would that is asked for questions, or for an answer that cites its first passage."""
    asked = str(body["messages"][-1]["content"])
    first = re.search(r"\[1\](.*?)(?:\n\[2\]|\Z)", asked, re.DOTALL)
    sentences = re.findall(r"[A-Z][\w ,'-]+(?=\.)", first[1]) if first else []
    return Reply(f"{max(sentences, key=len)} [1]." if sentences else '["How long is the warranty?"]')


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page not in ELSEWHERE and FENCE.search(page.read_text(encoding="utf-8"))],
    ids=lambda page: page.stem,
)
def test_every_block_of_a_page_runs(page: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    reader = PageReader(page, tmp_path)
    with serving(reply) as model:
        reader.env |= {"OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "a-key"}
        if prepare := PREPARE.get(page.stem):
            prepare(reader, request)
        try:
            reader.follow()
        finally:
            reader.stop_servers()


def test_scripts_of_the_tutorial_run(tmp_path: Path) -> None:
    """Its commands and its Python are followed in test_docs.py, and from an empty folder with the wheel in test_wheel.py."""
    reader = PageReader(TUTORIAL, tmp_path)
    bodies = [body for language, body in FENCE.findall(TUTORIAL.read_text(encoding="utf-8")) if language == "bash"]
    assert len(bodies) == 2
    try:
        for body in bodies:
            reader.run_script(body)
    finally:
        reader.stop_servers()


def before_alerts(reader: PageReader, request: pytest.FixtureRequest) -> None:
    reader.env |= {"ALERTS_KEY": "a-key", "SLACK_WEBHOOK": "http://127.0.0.1:9/x"}
    url = request.getfixturevalue("postgres_url")
    reader.words |= {
        "postgresql://evergold:PASSWORD@127.0.0.1:5432/evergold": url,
        "PID": "$(cat servers.pid)",
    }


def before_stale(reader: PageReader, request: pytest.FixtureRequest) -> None:
    """One case for each decision, whose question got another confirmed answer a day later."""
    questions = {
        "keep": "How long may I return shoes?",
        "replace": "When is the shop open?",
        "retire": "Who mends zips?",
    }
    lines = [
        {
            "id": f"{name}-{day}",
            "input": question,
            "output": f"It takes {days} days.",
            "started_at": f"2026-03-0{day}T12:00:00Z",
            "scores": [{"name": "thumb", "value": 1.0, "source": "user"}, {"name": "fine", "value": 1.0}],
        }
        for name, question in questions.items()
        for day, days in ((1, 30), (2, 14))
    ]
    write_lines(reader.folder / "refunds.jsonl", lines)
    reader.words |= {f"stale {name} live CASE_ID": f"stale {name} live default:{name}-1" for name in questions}
    reader.run_script("evergold ingest refunds.jsonl\nevergold curate")


def before_run(reader: PageReader, _: pytest.FixtureRequest) -> None:
    reader.run_script("evergold serve")


def before_export(reader: PageReader, _: pytest.FixtureRequest) -> None:
    (reader.folder / "app.py").write_text(APP, encoding="utf-8")


def before_stores(reader: PageReader, request: pytest.FixtureRequest) -> None:
    from fsspec import filesystem

    address = request.getfixturevalue("s3")
    reader.env |= {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
    reader.words |= {"https://minio.example.org": address, "10.0.0.5:8786": f"127.0.0.1:{free_port()}"}
    reader.words |= {
        "--host 10.0.0.5": f"--host {reader.words['10.0.0.5:8786'].replace(':', ' --port ')} --dashboard-address :0"
    }
    store = filesystem("s3", skip_instance_cache=True)
    for bucket in ("logs", "backups"):
        store.mkdir(bucket)
    line = b'{"id": "in-a-store", "input": "Where?", "output": "There."}\n'
    store.pipe("logs/one.jsonl.gz", gzip.compress(line))
    store.pipe("logs/day=2026-01-05/one.jsonl.gz", gzip.compress(line))


def before_generation(reader: PageReader, _: pytest.FixtureRequest) -> None:
    reader.words[", money: 5.0"] = ""  # prices are known of OpenAI's own address alone


PREPARE: dict[str, Callable[[PageReader, pytest.FixtureRequest], None]] = {
    "benchmarks": before_run,
    "builds": before_generation,
    "ingest": before_export,
    "live": before_stale,
    "operate": before_alerts,
    "storage": before_stores,
}


def test_make_has_the_targets_that_pages_name() -> None:
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    named = {word for page in PAGES for word in MAKE.findall(page.read_text(encoding="utf-8"))}
    assert {"setup", "test"} <= named
    assert named - set(targets) == set()
