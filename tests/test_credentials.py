"""Keys and passwords that this process was given never leave it, whatever an endpoint repeats: looked for in every output."""

import base64
import io
import json
import logging
import pickle
import re
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import quote

import pytest

from evergold.cli import invoke
from evergold.credentials import HIDDEN, Secret, hide, learn, learn_environment, learn_url, seal
from evergold.errors import BadInput, EvergoldError
from evergold.settings import Settings
from evergold.storage import location
from evergold.workspace import Workspace
from tests.api.serving import calling, served
from tests.cli.running import evergold

KEY = 'qz7"K/+4 äv-93hTfLxPmW&d'  # has to be escaped in JSON, HTML and URLs
SENT = "sk9Qz7Kx4pv-93hTfLxPmWd2"  # a key that can stand in a header
LOGIN = "pa55:w/rd@9xQ"
ACCESS = "AKIAX5Q7R2W9ZK4MPL3T"
FORMATS = ("terminal", "markdown", "html", "json", "junit")


def forms(secret: str, user: str = "app") -> list[str]:
    """What would give a secret away: itself, most of it, and its usual encodings."""
    encoded = [base64.b64encode(text.encode()).decode().rstrip("=") for text in (secret, f"{user}:{secret}")]
    return [secret, secret[: len(secret) * 2 // 3], quote(secret, safe=""), json.dumps(secret)[1:-1], *encoded]


@contextmanager
def echoing(status: int, kind: str = "json") -> Iterator[int]:
    """A server that repeats address, headers and body of each request, as an error or as an answer; gives its port."""

    class Echo(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
            said = f"{self.path} {dict(self.headers)} {body}"
            login = self.headers.get("authorization", "")
            if login.startswith("Basic "):
                said += " " + base64.b64decode(login[6:]).decode()
            said = said if kind != "long" else "x" * 470 + said
            shapes = {
                "text": said,
                "answer": json.dumps({"choices": [{"message": {"content": said}, "finish_reason": "stop"}]}),
            }
            sent = shapes.get(
                kind, json.dumps({"error": {"message": said, "type": "echo", "param": dict(self.headers)}})
            )
            self.send_response(status)
            self.send_header("content-type", "text/plain" if kind == "text" else "application/json")
            self.send_header("x-echo", said.replace("\n", " ")[:2000].encode("latin-1", "replace").decode("latin-1"))
            self.end_headers()
            self.wfile.write(sent.encode())

        do_GET = do_HEAD = do_PUT = do_POST

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


def secrets_in(text: str, *secrets: str) -> list[str]:
    return [form for secret in secrets for form in forms(secret) if form in text]


def stored_in(folder: Path) -> str:
    return "".join(path.read_bytes().decode("latin-1") for path in folder.rglob("*") if path.is_file())


MODELS = {
    "openai": ("OPENAI_API_KEY", "OPENAI_BASE_URL", "/v1"),
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", ""),
    "google": ("GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", ""),
    "mistral": ("MISTRAL_API_KEY", "MISTRAL_BASE_URL", ""),
}


ANSWERS = ((401, "json"), (400, "long"), (500, "text"), (200, "answer"))
# All but the first use the clients of their makers over one of ours; of those, this one is the quickest to import.
SOME = [("openai", ANSWERS), ("mistral", ANSWERS[:1])]
REST = [("mistral", ANSWERS[1:]), ("anthropic", ANSWERS), ("google", ANSWERS)]


@pytest.mark.filterwarnings("ignore:invalid escape sequence")  # in a docstring of google-genai
@pytest.mark.parametrize(
    ("provider", "answers"), [*SOME, *(pytest.param(*row, marks=pytest.mark.campaign) for row in REST)]
)
def test_no_model_or_judge_that_repeats_its_key_gets_it_stored_or_shown(
    tmp_path: Path,
    provider: str,
    answers: tuple[tuple[int, str], ...],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    key, url, path = MODELS[provider]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EVERGOLD_BENCHMARK_TRIES", "1")
    monkeypatch.setenv(key, SENT)
    # In this process: the clients of some providers take seconds to import.
    for status, kind in answers:
        with echoing(status, kind) as port:
            # With a login in the address most clients send that and no key.
            login = f"app:{quote(LOGIN, safe='')}@" if kind == "json" else ""
            monkeypatch.setenv(url, f"http://{login}127.0.0.1:{port}{path}")
            words = ["run", "reasoning", "--limit", "1", "--model", f"{provider}/m", "--metric", "exact_match"]
            assert invoke(words) in (0, 1, 2)
    if provider == "openai":
        monkeypatch.setenv(key, "another-key-81")
    monkeypatch.setenv("EVERGOLD_JUDGE_API_KEY", SENT)
    with echoing(400) as port:
        monkeypatch.setenv(url, f"http://127.0.0.1:{port}{path}")
        words = ["run", "reasoning", "--limit", "1", "--model", "command:echo four", "--metric", "correctness"]
        assert invoke([*words, "--judge", f"{provider}/m"]) in (0, 1, 2)
    shown = [*capsys.readouterr(), stored_in(tmp_path)]
    if provider == "openai":
        # Whoever reads what was stored need not know the key.
        runs = json.loads(evergold("runs", "list", "--json", cwd=tmp_path).out)["runs"]
        assert len(runs) == len(answers) + 1
        shown += [evergold("report", runs[-1]["id"], "--format", name, cwd=tmp_path).out for name in FORMATS]
        shown.append(json.dumps(runs))
    assert "".join(shown).count(HIDDEN) > len(answers)
    assert secrets_in("".join(shown), SENT, LOGIN) == []


@pytest.mark.parametrize(
    ("status", "kind"),
    [(403, "json"), *(pytest.param(status, "text", marks=pytest.mark.campaign) for status in (500, 200))],
)
def test_an_address_with_a_password_and_a_key_is_stored_without_them(tmp_path: Path, status: int, kind: str) -> None:
    with echoing(status, kind) as port:
        model = f"http://app:{quote(LOGIN, safe='')}@127.0.0.1:{port}/ask?api_key={quote(KEY)}"
        ran = evergold("run", "reasoning", "--limit", "1", "--model", model, "--metric", "exact_match", cwd=tmp_path)
        left = ran.out + ran.err + stored_in(tmp_path)
        assert f"127.0.0.1:{port}/ask" in left and HIDDEN in left, ran
        assert secrets_in(left, LOGIN, KEY) == []
        # The address is needed again to go on, and nobody but the user has it.
        run = json.loads(evergold("runs", "list", "--json", cwd=tmp_path).out)["runs"][0]["id"]
        again = ("run", "--resume", run, "--retry-errors")
        assert "held a secret, which is not stored" in evergold(*again, cwd=tmp_path).err
        assert "held a secret" not in evergold(*again, cwd=tmp_path, MY_APP=model).err


def test_no_program_or_function_gets_a_key_into_a_run(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(
        "import os\ndef fail(prompt): raise RuntimeError('sent ' + os.environ['MY_API_KEY'])\n"
        "def tell(prompt): return {'output': os.environ['MY_API_KEY'], 'metadata': {'key': os.environ['MY_API_KEY']}}\n"
    )
    for model in (
        "python:app:fail",
        "python:app:tell",
        "command:sh -c 'echo $MY_API_KEY'",
        "command:sh -c 'echo $MY_API_KEY >&2; exit 3'",
    ):
        words = ("run", "reasoning", "--limit", "1", "--model", model, "--metric", "exact_match")
        ran = evergold(*words, cwd=tmp_path, MY_API_KEY=KEY)
        assert ran.code in (0, 2), ran
    left = stored_in(tmp_path)
    assert HIDDEN in left
    assert secrets_in(left, KEY) == []


def test_a_webhook_that_repeats_its_address_gets_it_nowhere(tmp_path: Path) -> None:
    path, sent = "T0123ABCD/B0456/Zr8kQw2mXv9LtYp4", "signing-key-5543-x"
    (tmp_path / "evergold.toml").write_text('[[alerts.rules]]\nkind = "intake_stopped"\nafter = "1h"\n')
    with echoing(500) as port:
        env = {"EVERGOLD_ALERTS_WEBHOOK": "env:HOOK", "EVERGOLD_ALERTS_SECRET": "env:SIGN", "SIGN": sent}
        for url in (
            f"http://app:{quote(LOGIN, safe='')}@127.0.0.1:{port}/services/{path}?sig={sent}",
            "http://app:x@[::1/b",
            f"ftp://{path}",
        ):
            ran = evergold("--debug", "alerts", "test", cwd=tmp_path, **env, HOOK=url)
            assert secrets_in(ran.out + ran.err, path, sent, LOGIN) == []
        listed = evergold("settings", "--json", cwd=tmp_path, **env, HOOK=url)
    assert secrets_in(listed.out, sent, path) == []


def test_a_database_that_cannot_be_reached_shows_no_password(tmp_path: Path) -> None:
    for url in (
        "postgresql://app:pa55:w/rd@9xQ@127.0.0.1:1/db",
        f"postgresql://app@127.0.0.1:1/db?password={quote(LOGIN, safe='')}",
        f"mysql://app:{quote(LOGIN, safe='')}@127.0.0.1:1/db",
    ):
        ran = evergold("--debug", "stats", cwd=tmp_path, EVERGOLD_DATABASE_URL=url)
        assert ran.code != 0
        assert secrets_in(ran.out + ran.err, LOGIN) + [part for part in ("w/rd", "9xQ") if part in ran.err] == []


@pytest.mark.parametrize("scheme", ["http", "s3"])
def test_an_object_store_that_repeats_what_it_is_sent_shows_no_key(tmp_path: Path, scheme: str) -> None:
    with echoing(403, "text") as port:
        name = (
            f"http://app:{quote(LOGIN, safe='')}@127.0.0.1:{port}/x.jsonl?sig={SENT}"
            if scheme == "http"
            else "s3://b/x.jsonl"
        )
        keys = {"aws_access_key_id": ACCESS, "aws_secret_access_key": KEY, "aws_session_token": SENT}
        profile = tmp_path / "profile"
        profile.write_text("[default]\n" + "".join(f"{field} = {value}\n" for field, value in keys.items()))
        place = {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}", "AWS_DEFAULT_REGION": "eu-west-1"}
        by_environment = place | {field.upper(): value for field, value in keys.items()}
        by_profile = place | {"AWS_SHARED_CREDENTIALS_FILE": str(profile)}
        for word, env in (("ingest", by_environment), ("import", by_profile), ("backup", by_profile)):
            ran = evergold("--debug", word, name, cwd=tmp_path, **env)
            assert ran.code != 0, ran
            assert secrets_in(ran.out + ran.err, SENT, LOGIN, KEY, ACCESS) == [], word
    profile.unlink()
    assert secrets_in(stored_in(tmp_path), SENT, LOGIN) == []


SCENES: dict[str, Callable[[], object]] = {
    "database": lambda: (
        Workspace.open(Settings(database_url=f"postgresql://app:{quote(LOGIN, safe='')}@127.0.0.1:1/db")).store
    ),
    "settings": lambda: Workspace.open(Settings(model_api_key=SENT, home=Path("/dev/null/x"))).store,
    "store": lambda: location(f"http://app:{quote(LOGIN, safe='')}@127.0.0.1:1/x?sig={SENT}").read_bytes(),
}


@pytest.mark.parametrize("name", SCENES)
def test_no_traceback_shows_a_secret_even_with_the_values_of_variables(name: str) -> None:
    from rich.console import Console
    from rich.traceback import Traceback

    # The scene itself is somebody else's code; what it calls is looked at.
    with pytest.raises(EvergoldError) as caught:
        SCENES[name]()
    trace = caught.value.__traceback__
    assert trace is not None and trace.tb_next is not None and trace.tb_next.tb_next is not None
    below = caught.value.with_traceback(trace.tb_next.tb_next)
    written = io.StringIO()
    Console(file=written, width=300).print(
        Traceback.from_exception(type(below), below, below.__traceback__, show_locals=True)
    )
    plain = "".join(traceback.TracebackException.from_exception(below, capture_locals=True).format())
    assert secrets_in(written.getvalue() + plain, SENT, LOGIN) == []
    assert secrets_in(_chain(below), SENT, LOGIN) == []


def _chain(problem: BaseException | None) -> str:
    return "" if problem is None else f"{problem!r} {problem} {_chain(problem.__cause__)} {_chain(problem.__context__)}"


def test_a_crash_dump_of_a_program_that_uses_the_library_shows_no_secret() -> None:
    program = (
        "import faulthandler, logging; faulthandler.enable(); logging.basicConfig(level=0)\n"
        "from evergold.settings import Settings; from evergold.workspace import Workspace\n"
        f"s = Settings(model_api_key={SENT!r}, database_url='postgresql://app:{quote(LOGIN, safe='')}@127.0.0.1:1/db')\n"
        "logging.getLogger('httpx2').info('POST %s', 'http://x/?key=' + s.model_api_key)\n"
        "print(s, repr(s)); Workspace.open(s).store\n"
    )
    ran = subprocess.run([sys.executable, "-X", "dev", "-c", program], capture_output=True, text=True, check=False)
    shown = "".join(
        line for line in (ran.stdout + ran.stderr).splitlines(True) if "Settings(" not in line or "=[" in line
    )
    assert ran.returncode != 0 and "Unavailable" in ran.stderr
    assert secrets_in(shown, SENT, LOGIN) == []


class Odd(Exception):
    """An exception that makes its text of other things than its arguments."""

    def __init__(self, body: object) -> None:
        self.body = body

    def __str__(self) -> str:
        return f"body: {self.body}"


PROBLEMS = (
    ValueError(f"bad {SENT}"),
    OSError(2, "no such file", f"/tmp/{SENT}"),
    Odd({"headers": [{"x-api-key": SENT}]}),
    Odd((SENT.encode(), None)),
    ExceptionGroup("several", [ValueError(SENT)]),
    UnicodeDecodeError("utf-8", SENT.encode(), 0, 1, f"in {SENT}"),
)


@pytest.mark.parametrize("first", PROBLEMS, ids=["argument", "file", "attribute", "bytes", "group", "unchangeable"])
def test_an_error_made_while_another_is_handled_hides_the_secrets_of_both(first: Exception) -> None:
    learn(SENT)
    with pytest.raises(BadInput) as caught:
        try:
            try:
                raise first
            except Exception as problem:
                raise KeyError(SENT) from problem
        except KeyError as problem:
            raise BadInput(f"cannot be used: {SENT}", problems=[SENT]) from problem
    shown = "".join(traceback.format_exception(caught.value)) + _chain(caught.value)
    lines = [line for line in shown.splitlines() if "raise" not in line]
    assert secrets_in("\n".join([*lines, *caught.value.problems]), SENT) == []


def test_a_secret_is_hidden_in_every_form_and_words_are_left_alone() -> None:
    learn(KEY, "app")
    lower = re.sub("%[0-9A-F]{2}", lambda code: code[0].lower(), quote(KEY))
    for form in (
        KEY,
        KEY.encode().hex(),
        *forms(KEY)[2:],
        json.dumps(json.dumps(KEY)[1:-1])[1:-1],
        repr(KEY)[1:-1],
        lower,
        escape(KEY),
    ):
        assert hide(f"sent <{form}> to it") == f"sent <{HIDDEN}> to it"
    learn_url("postgresql://postgres:postgres@localhost/postgres")
    text = "FATAL: role postgres of database postgres at localhost: the postgresql server is down"
    assert hide(text) == text
    assert (
        hide("postgresql://postgres:postgres@localhost/postgres")
        == f"postgresql://postgres:{HIDDEN}@localhost/postgres"
    )
    assert hide("password=postgres host=x") == f"password={HIDDEN} host=x"


ENVIRONMENT = {
    "PGPASSWORD": "48213377",
    "AWS_SECRET_ACCESS_KEY": "/wJalrXUtnFEMI/K7MDENGbPxRfiCYzzzzzz",
    "OTEL_EXPORTER_OTLP_HEADERS": "x-api-key=hdr-Zq81-kk29,authorization=Bearer%20tok-Qm55-aa10",
    "AZURE_STORAGE_CONNECTION_STRING": "AccountName=shop;AccountKey=acc-Yy77-Qq13==;EndpointSuffix=core",
    "HTTPS_PROXY": "http://proxy:pr0xy-Pw-91@proxy.example:3128",
    "OPENAIKEY": "glued-name-Vv42",
}
NO_SECRETS = {"MAX_TOKENS": "128000", "COUNTRY_CODE": "US", "SSL_KEY": "/etc/hosts", "KEY_REF": "env:OTHER"}
OF_MAKE = {"MAKEFLAGS": "w -j2 --jobserver-auth=3,4", "LS_COLORS": "*.key=00;36:*.pw=1"}


def test_the_environment_is_known_by_the_names_of_its_variables() -> None:
    learn_environment(ENVIRONMENT)
    for secret in (
        *("48213377", ENVIRONMENT["AWS_SECRET_ACCESS_KEY"], "hdr-Zq81-kk29", "tok-Qm55-aa10", "acc-Yy77-Qq13=="),
        *("pr0xy-Pw-91", "glued-name-Vv42"),
    ):
        assert secret not in hide(f"it sent {secret} there"), secret
    learn_environment({**NO_SECRETS, **OF_MAKE})
    assert hide('{"openapi": "3.1.0", "auth": "3"}') == '{"openapi": "3.1.0", "auth": "3"}'
    for value in NO_SECRETS.values():
        assert hide(f"size={value} of it") == f"size={value} of it"


def test_an_exception_that_cannot_be_changed_does_no_harm() -> None:
    @dataclass(frozen=True)
    class Frozen(Exception):
        text: str

        def __str__(self) -> str:
            raise RuntimeError("no text")

    learn(SENT)
    with pytest.raises(BadInput, match="cannot be used") as caught:
        try:
            raise Frozen(SENT)
        except Frozen as problem:
            raise BadInput("cannot be used") from problem
    assert str(caught.value) == "cannot be used"


def test_a_secret_is_known_in_the_process_that_unpickles_it() -> None:
    program = "import pickle, sys; from evergold.credentials import hide\n"
    program += "secret = pickle.load(sys.stdin.buffer); print(hide(str(secret)), repr(secret))"
    ran = subprocess.run(
        [sys.executable, "-c", program], input=pickle.dumps(Secret(SENT)), capture_output=True, check=True
    )
    assert ran.stdout.decode().split() == [HIDDEN, f"'{HIDDEN}'"]


def test_log_records_of_calls_are_sealed_and_those_of_the_app_are_its_own() -> None:
    learn(SENT)
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    loggers = [logging.getLogger(name) for name in ("httpx2", "evergold.test", "my_app")]
    for logger in loggers:
        logger.addHandler(handler)
        try:
            raise ValueError(SENT)
        except ValueError:
            logger.error("%s: sent %s", logger.name, SENT, exc_info=logger.name != "my_app")
        logger.removeHandler(handler)
    lines = written.getvalue().splitlines()
    assert [line for line in lines if SENT in line and "raise" not in line] == [f"my_app: sent {SENT}"]


def test_sealing_ends_with_exceptions_that_refer_to_each_other() -> None:
    learn(SENT)
    first, second = ValueError(SENT), KeyError(SENT)
    first.__context__, second.__context__ = second, first
    seal(first)
    assert (str(first), second.args) == (HIDDEN, (HIDDEN,))


def test_a_server_answers_and_logs_without_its_secrets(tmp_path: Path) -> None:
    with echoing(401) as port:
        env = {"OPENAI_API_KEY": SENT, "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1"}
        spec = {"dataset": "reasoning", "model": "openai/m", "metrics": ["exact_match"], "limit": 1}
        with served(tmp_path, **env) as url, calling(url) as client:
            started = client.post("/api/v1/benchmarks/runs", json=spec).json()
            run = f"/api/v1/benchmarks/runs/{started['id']}"
            paths = (f"{run}/events", run, f"{run}/results", "/api/v1/benchmarks/runs")
            shown = "".join(client.get(path).text for path in paths)
    assert HIDDEN in shown
    assert secrets_in(shown + stored_in(tmp_path), SENT) == []
