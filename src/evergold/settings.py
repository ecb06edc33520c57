"""One settings object, read once: built-in values, then `evergold.toml`, then `EVERGOLD_*`, then flags.

A setting has one dotted name (`server.port`); the TOML file writes it as a table and key, the environment as
`EVERGOLD_SERVER_PORT`, Python as the attribute `server_port`. Each carries the sentence that documents it, and
remembers where its value came from, so that `evergold settings` can show it.

A value from TOML has a type of its own; one from the environment or the command line is text. Each parser raises
ValueError or TypeError with what would be right; `_parse` adds the name of the setting and where it was written.
"""

import json
import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from math import isfinite
from pathlib import Path
from typing import Any

from evergold.credentials import Secret, hide_value, learn_environment, learn_url
from evergold.errors import BadInput, describe_unknown


def _as_bool(raw: Any) -> bool:
    if isinstance(raw, bool):
        return raw
    word = str(raw).strip().lower()
    if word in ("1", "true", "yes", "on"):
        return True
    if word in ("0", "false", "no", "off", ""):
        return False
    raise ValueError("use true or false")


def _as_int(raw: Any) -> int:
    if isinstance(raw, bool) or (isinstance(raw, float) and not raw.is_integer()):
        raise ValueError("use a whole number")
    return int(raw)


def _as_float(raw: Any) -> float:
    number = float(raw)
    # Nothing is larger or smaller than NaN: as a limit it would let everything pass.
    if isinstance(raw, bool) or not isfinite(number):
        raise ValueError("use a finite number")
    return number


def _as_path(raw: Any) -> Path:
    # Both slashes or one: a path has lost the second. One letter is a drive of Windows.
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", str(raw)):
        raise ValueError("it must be a folder or file of this machine; exports, builds and backups may go to a store")
    return Path(str(raw)).expanduser()


def _as_tuple(raw: Any) -> tuple[str, ...]:
    parts = raw.split(",") if isinstance(raw, str) else list(raw)
    return tuple(str(part).strip() for part in parts if str(part).strip())


def _as_tables(raw: Any) -> tuple[Mapping[str, Any], ...]:
    tables = json.loads(raw) if isinstance(raw, str) else raw
    if not isinstance(tables, list | tuple) or not all(isinstance(table, Mapping) for table in tables):
        raise ValueError("write [[…]] tables in the file, or a JSON list of objects in the environment")
    return tuple(tables)


def _as_file_mode(raw: Any) -> str:
    word = str(raw).strip().lower()
    if word not in FILE_MODES:
        raise ValueError(f"use {', '.join(FILE_MODES)}")
    return word


FILE_MODES = ("private", "shared", "unmanaged")
PARSERS: dict[str, Callable[[Any], Any]] = {
    "bool": _as_bool,
    "int": _as_int,
    "float": _as_float,
    "str": str,
    "Path": _as_path,
    "tuple": _as_tuple,
    "tables": _as_tables,
    "file mode": _as_file_mode,
}

FILE_NAME = "evergold.toml"


def declare(default: Any, doc: str, *, secret: bool = False, kind: str = "") -> Any:
    """A field of `Settings`: its built-in value and what it does. `kind` where the value does not say it."""
    return field(default=default, metadata={"doc": doc, "secret": secret, "kind": kind})


@dataclass(frozen=True)
class Settings:
    home: Path = declare(Path(".evergold"), "Folder of the embedded workspace: database, builds, spool.")
    database_url: str = declare(
        "", "PostgreSQL URL (`postgresql://…`) or SQLite file; empty: `evergold.db` in `home`.", secret=True
    )
    database_connections: int = declare(
        15, "Connections to PostgreSQL that a process may open for reading; one more writes."
    )
    database_statement_seconds: float = declare(
        0.0, "Longest statement that reads from PostgreSQL, in seconds; 0: no limit."
    )
    files_mode: str = declare(
        "private",
        "Who may read the workspace: `private`: its owner (folders 700, files 600); `shared`: the group of its folder too (2770,"
        " 660); `unmanaged`: new files private, others as they are.",
        kind="file mode",
    )
    server_host: str = declare("127.0.0.1", "Address to listen on; any but loopback needs a token.")
    server_hosts: tuple[str, ...] = declare(
        (), "Names by which clients call the server, beside loopback addresses and `server.host`; others are refused."
    )
    server_port: int = declare(8321, "Port to listen on.")
    server_token: str = declare("", "Token that clients must send as `Authorization: Bearer …`.", secret=True)
    server_max_body_mb: int = declare(32, "Largest request body, after decompression, in MB.")
    server_max_inflight_mb: int = declare(
        96, "Bodies of all requests under way together, in MB; beyond it: 503, try again."
    )
    server_body_seconds: float = declare(30.0, "Seconds in which a request body must have arrived; beyond it: 408.")
    server_max_text_kb: int = declare(
        1024, "Longest single text in a span, in thousands of characters; the rest is cut and counted."
    )
    redact_redactor: str = declare("default", "Redactor applied before anything is stored; empty: none.")
    redact_ip_addresses: bool = declare(False, "Whether IP addresses are redacted too; loopback addresses are kept.")
    redact_fields: tuple[str, ...] = declare(
        ("input", "output", "metadata", "attributes", "comments", "corrections"),
        "Fields that are redacted: input, output, metadata, attributes, comments, corrections.",
    )
    eval_auto_curate: bool = declare(True, "Curate each trace in the background as it arrives.")
    tracing_enabled: bool = declare(True, "Whether the SDK records anything at all.")
    tracing_sample_rate: float = declare(1.0, "Share of traces the SDK records, decided by hash.")
    curation_policies: tuple[str, ...] = declare(
        (), "Policy files (TOML) that curate beside or instead of the built-in `default`."
    )
    curation_fallback_texts: tuple[str, ...] = declare(
        (),
        "Your app's own fallback replies, for the check `answered`; one that ends in `*` stands for every reply that begins so.",
    )
    checks_builtin: str = declare(
        "auto",
        "Built-in checks: `true`, `false`, or `auto`: on in workspaces that began with checks, off in older ones.",
    )
    checks_files: tuple[str, ...] = declare((), "Files (TOML) with checks of your own.")
    checks_off: tuple[str, ...] = declare((), "Built-in checks that are turned off by name.")
    curation_detector: str = declare(
        "patterns",
        "What finds corrections in a session's next message: a plug-in, or `judge:NAME`, a model; empty: none.",
    )
    curation_detector_budget: int = declare(
        1000, "Most questions a day to the judge that detects; beyond it `patterns` answers."
    )
    curation_detector_sample: float = declare(
        1.0, "Share of messages put to the judge that detects, decided by a hash of the id."
    )
    alerts_rules: tuple[Mapping[str, Any], ...] = declare(
        (),
        "What to watch, as `[[alerts.rules]]` tables: `failing_rate`, `intake_stopped`, `dataset_drop`, `gate_failed`, "
        "`coverage_low`, `topic_drift`.",
        kind="tables",
    )
    alerts_webhook: str = declare(
        "", "URL that alerts are posted to, or `env:NAME` of the variable that holds it.", secret=True
    )
    alerts_secret: str = declare(
        "", "Key that signs what is posted, as `env:NAME`; a file never holds the key.", secret=True
    )
    alerts_every_seconds: int = declare(60, "How often a server looks at what the rules watch.")
    alerts_repeat_hours: float = declare(24.0, "After how long an alert that still fires is posted again; 0: never.")
    benchmark_datasets_dir: Path | None = declare(
        None, "Folder searched for YAML benchmark datasets, beside the bundled ones."
    )
    benchmark_timeout: float = declare(120.0, "Seconds a single call of a target may take.")
    benchmark_metric_timeout: float = declare(
        10.0, "Seconds a metric without a judge may take on one answer; then it is an error."
    )
    benchmark_memory_mb: int = declare(4096, "Memory in MB that the process of a run started on a server may use.")
    benchmark_tries: int = declare(5, "How often a call that may succeed later is sent at most.")
    model_base_url: str = declare("", "URL of the OpenAI-compatible server behind `openai/…`; else `OPENAI_BASE_URL`.")
    model_api_key: str = declare("", "Key sent to that server; else `OPENAI_API_KEY`.", secret=True)
    judge_default: str = declare(
        "", "Judge wherever none is named: `offline` (also when empty), `openai/…`, `panel:…`."
    )
    judge_base_url: str = declare("", "URL of the server behind a judge `openai/…`; else the model's.")
    judge_api_key: str = declare("", "Key sent to that server; else the model's.", secret=True)
    review_reviewers: tuple[str, ...] = declare(
        (), "Reviewers as `name:token`; with none, the local user reviews without a token.", secret=True
    )
    review_reviewers_per_case: int = declare(1, "How many reviewers must say the same before a case is decided.")
    review_lease_minutes: int = declare(30, "How long a claimed case stays in one reviewer's hands.")
    review_daily_goal: int = declare(0, "How many cases a reviewer is to decide a day; 0: no goal is shown.")
    review_repo_dir: Path | None = declare(
        None, "Git repository from which review shows files and proves base commits."
    )
    review_sidekick_db: Path | None = declare(
        None, "Sidekick database from which review shows diffs and tool calls; read only."
    )
    origins: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    file: Path | None = field(default=None, compare=False, repr=False)
    """The file that these settings were read from, if there was one."""

    def __post_init__(self) -> None:
        """Make known what is secret: keys, and addresses that may hold a login."""
        learn_environment()
        learn_url(self.alerts_webhook, whole=True)
        for spec in fields(self):
            value = getattr(self, spec.name)
            if spec.metadata.get("secret") and isinstance(value, tuple):
                for entry in value:
                    Secret(entry.partition(":")[2])
                object.__setattr__(self, spec.name, tuple(map(Secret, value)))
            # `database_url` may be the path of a file, which is no secret.
            elif isinstance(value, str) and (
                "://" in value or (spec.metadata.get("secret") and not spec.name.endswith("_url"))
            ):
                object.__setattr__(self, spec.name, Secret(value))

    @property
    def database(self) -> str:
        """The database as a SQLAlchemy URL."""
        url = self.database_url or f"sqlite:///{self.home / 'evergold.db'}"
        if url.startswith(("postgresql://", "postgres://")):
            # SQLAlchemy would choose psycopg2 for the bare scheme, and no longer knows `postgres://`.
            url = "postgresql+psycopg://" + url.split("://", 1)[1]
        return Secret(url if "://" in url else f"sqlite:///{url}")


WITHOUT_SECTION = ("home", "database_url", "eval_auto_curate", "tracing_enabled", "tracing_sample_rate")
FIELDS: dict[str, Field[Any]] = {
    spec.name if spec.name in WITHOUT_SECTION else spec.name.replace("_", ".", 1): spec
    for spec in fields(Settings)
    if "doc" in spec.metadata
}
"""Every setting by its dotted name."""


def describe(settings: Settings) -> list[dict[str, Any]]:
    """Every setting with its value, where the value came from, and what it does; secrets are shown as set or not."""
    rows = []
    for name, spec in FIELDS.items():
        value = getattr(settings, spec.name)
        shown = ("(set)" if value else "") if spec.metadata["secret"] else hide_value(value)
        rows.append(
            {
                "name": name,
                "value": str(shown) if isinstance(shown, Path) else shown,
                "origin": settings.origins.get(name, "default"),
                "env": env_name(name),
                "doc": spec.metadata["doc"],
            }
        )
    return rows


def env_name(name: str) -> str:
    return "EVERGOLD_" + name.replace(".", "_").upper()


def load_settings(
    flags: Mapping[str, Any] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
    problems: list[str] | None = None,
) -> Settings:
    """Read the settings for a folder (the current one). `flags` are dotted names; a None among them is "not given".

    With a list for `problems`, a setting that is unknown or cannot be read is noted there and left out, and so is one of the
    file that the environment overrides.
    """
    environ = os.environ if environ is None else environ
    chosen: dict[str, Any] = {}
    origins: dict[str, str] = {}

    def take(name: str, raw: Any, origin: str) -> None:
        try:
            if name not in FIELDS:
                raise BadInput(f"{origin}: {describe_unknown('setting', name, tuple(FIELDS))}")
            value = _parse(name, raw, origin)
        except BadInput as problem:
            if problems is None:
                raise
            problems.append(problem.message)
            return
        attribute = FIELDS[name].name
        if problems is not None and origins.get(name, origin) != origin and chosen[attribute] != value:
            problems.append(f"{name} is set in {origins[name]} and otherwise by {origin}, which counts")
        chosen[attribute] = value
        origins[name] = origin

    path = Path(environ.get("EVERGOLD_CONFIG") or (folder or Path.cwd()) / FILE_NAME)
    if path.is_file():
        try:
            table = tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
            raise BadInput(f"{path}: not valid TOML: {problem}") from problem
        for name, raw in _flatten(table).items():
            take(name, raw, str(path.name))
    elif "EVERGOLD_CONFIG" in environ:
        raise BadInput(f"EVERGOLD_CONFIG names {str(path)!r}, which is not a file")
    for name in FIELDS:
        if env_name(name) in environ:
            take(name, environ[env_name(name)], env_name(name))
    if problems is not None:
        known = {*map(env_name, FIELDS), "EVERGOLD_CONFIG", "EVERGOLD_REPLAY_URL"}
        strange = sorted(name for name in environ if name.startswith("EVERGOLD_") and name not in known)
        unknown = (describe_unknown("environment variable", name, sorted(known)) for name in strange)
        problems += [problem.partition(" (valid")[0] for problem in unknown]
    for name, raw in (flags or {}).items():
        # The command line passes every option; None means that it was not given.
        if raw is not None:
            take(name, raw, "flag")
    return Settings(**chosen, origins=origins, file=path if path.is_file() else None)


def _flatten(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in table.items():
        # A table is a prefix, unless a setting of that very name takes the table as its value.
        if isinstance(value, dict) and f"{prefix}{key}" not in FIELDS:
            flat |= _flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def _parse(name: str, raw: Any, origin: str) -> Any:
    spec = FIELDS[name]
    # `Path | None` has None as its default, which says nothing of the type.
    plain = "Path" if isinstance(spec.default, Path) or "Path" in str(spec.type) else type(spec.default).__name__
    kind = spec.metadata["kind"] or plain
    try:
        return PARSERS[kind](raw)
    except (TypeError, ValueError) as problem:
        wanted = "a list of tables" if kind == "tables" else f"a {kind.lower()}"
        raise BadInput(f"{origin}: {name} = {raw!r} is not {wanted}: {problem}") from problem
