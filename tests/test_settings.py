"""Settings: where a value comes from, and what is wrong with one that cannot be used."""

from pathlib import Path
from typing import Any

import pytest

from evergold.errors import BadInput, describe_unknown
from evergold.settings import FIELDS, Settings, describe, env_name, load_settings
from tests.rows import each_row


def loaded(folder: Path, toml: str = "", environ: dict[str, str] | None = None, **flags: Any) -> Settings:
    if toml:
        (folder / "evergold.toml").write_text(toml)
    return load_settings(
        {name.replace("__", "."): value for name, value in flags.items()}, environ=environ or {}, folder=folder
    )


def test_a_flag_wins_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    toml = '[server]\nport = 1\nhost = "file"\ntoken = "file"\n'
    environ = {"EVERGOLD_SERVER_PORT": "2", "EVERGOLD_SERVER_HOST": "env"}
    settings = loaded(tmp_path, toml, environ, server__port=3, server__host=None)
    assert (settings.server_port, settings.server_host, settings.server_token) == (3, "env", "file")
    assert settings.origins == {
        "server.port": "flag",
        "server.host": "EVERGOLD_SERVER_HOST",
        "server.token": "evergold.toml",
    }
    assert settings.file == tmp_path / "evergold.toml"


def test_without_a_file_the_built_in_values_hold(tmp_path: Path) -> None:
    assert loaded(tmp_path) == Settings() and loaded(tmp_path).file is None


@pytest.mark.parametrize(
    ("name", "written", "value"),
    [
        ("server.port", "8000", 8000),
        ("tracing_sample_rate", "0.5", 0.5),
        ("tracing_enabled", " Yes ", True),
        ("tracing_enabled", "off", False),
        ("tracing_enabled", "", False),
        ("server.hosts", "a, b ,,", ("a", "b")),
        ("home", "~/x", Path("~/x").expanduser()),
        ("review.repo_dir", "/r", Path("/r")),
        ("alerts.rules", '[{"kind": "gate_failed"}]', ({"kind": "gate_failed"},)),
    ],
)
def test_a_value_of_the_environment_is_read_by_the_type_of_its_setting(
    tmp_path: Path, name: str, written: str, value: Any
) -> None:
    assert getattr(loaded(tmp_path, environ={env_name(name): written}), FIELDS[name].name) == value


@pytest.mark.parametrize(
    ("name", "written", "problem"),
    [
        ("server.port", "eighty", "is not a int"),
        ("tracing_sample_rate", "half", "is not a float"),
        ("tracing_enabled", "maybe", "use true or false"),
        ("server.body_seconds", "nan", "use a finite number"),
        ("database.statement_seconds", "inf", "use a finite number"),
        ("home", "s3://bucket/home", "of this machine"),
        ("alerts.rules", "{}", "a list of tables"),
        ("alerts.rules", "[1]", "a list of tables"),
        ("alerts.rules", "not json", "a list of tables"),
    ],
)
def test_a_value_that_cannot_be_read_names_its_origin(tmp_path: Path, name: str, written: str, problem: str) -> None:
    with pytest.raises(BadInput, match=f"{env_name(name)}: {name} = .*{problem}"):
        loaded(tmp_path, environ={env_name(name): written})


@pytest.mark.parametrize(
    ("toml", "problem"),
    [
        ("[server]\nprot = 1\n", "unknown setting 'server.prot'; did you mean 'server.port'"),
        ("server = 5\n", "unknown setting 'server'"),
        ("[server\n", "not valid TOML"),
        ("home = 5\nserver.hosts = 5\n", "server.hosts = 5 is not a tuple"),
        ("server.max_body_mb = 1.5\n", "use a whole number"),
        ("server.port = true\n", "use a whole number"),
        ("server.body_seconds = nan\n", "use a finite number"),
        ("tracing_sample_rate = true\n", "use a finite number"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, toml: str, problem: str) -> None:
    with pytest.raises(BadInput, match=problem):
        loaded(tmp_path, toml)


def test_a_file_of_bytes_that_are_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "evergold.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(BadInput, match="not valid TOML"):
        loaded(tmp_path)


def test_another_file_may_be_named_and_must_exist(tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text("[server]\nport = 5\n")
    assert loaded(tmp_path, environ={"EVERGOLD_CONFIG": str(tmp_path / "other.toml")}).server_port == 5
    with pytest.raises(BadInput, match="EVERGOLD_CONFIG names"):
        loaded(tmp_path, environ={"EVERGOLD_CONFIG": str(tmp_path / "missing.toml")})


def test_an_unknown_flag_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="flag: unknown setting 'colour'"):
        loaded(tmp_path, colour="red")


def test_secrets_are_described_as_set_or_not() -> None:
    rows = {row["name"]: row for row in describe(Settings(server_token="s3cret", origins={"server.token": "flag"}))}
    assert rows.keys() == FIELDS.keys()
    assert (rows["server.token"]["value"], rows["server.token"]["origin"]) == ("(set)", "flag")
    assert rows["model.api_key"]["value"] == "" and rows["home"]["value"] == ".evergold"
    assert "s3cret" not in str(rows)


@each_row(
    ("given_url", "url"),
    [
        ("", "sqlite:///.evergold/evergold.db"),
        ("other.db", "sqlite:///other.db"),
        ("sqlite:////tmp/x.db", "sqlite:////tmp/x.db"),
        ("postgresql://u@h/d", "postgresql+psycopg://u@h/d"),
        ("postgres://u@h/d", "postgresql+psycopg://u@h/d"),
    ],
)
def test_a_database_is_a_file_or_a_url(given_url: str, url: str) -> None:
    assert Settings(database_url=given_url).database == url


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("lenght", "unknown metric 'lenght'; did you mean 'length'? (valid: exact, length)"),
        ("zzz", "unknown metric 'zzz' (valid: exact, length)"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(name: str, message: str) -> None:
    assert describe_unknown("metric", name, ("length", "exact")) == message
    assert describe_unknown("metric", name, ()).endswith("(valid: none)")
