"""What is wrong with an installation and its workspace, and what to do about it. Looking changes nothing and makes nothing."""

import os
import platform
import shutil
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partialmethod
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from evergold.credentials import hide
from evergold.errors import EvergoldError
from evergold.machine import is_mode_wrong
from evergold.model.operations import Diagnosis, Finding, Level
from evergold.model.trace import Gap
from evergold.settings import FILE_NAME, Settings, load_settings
from evergold.store import Store
from evergold.store.database.engines import sqlite_file
from evergold.store.database.migrate import look_at_database
from evergold.store.trace.filter import TraceFilter
from evergold.workspace import Workspace
from evergold.workspace.configuration import Configuration
from evergold.workspace.operations import plugin_states

EXTRAS = {
    "postgres": ("psycopg", "PostgreSQL"),
    "embeddings": ("wordllama", "word vectors"),
    "local": ("xllamacpp", "local/smollm2"),
    "providers": ("pydantic_ai", "Anthropic, Google, Mistral"),
    "export": ("pyarrow", "Parquet, Hugging Face, Arrow"),
    "metrics": ("sacrebleu", "BLEU and chrF"),
    "cluster": ("distributed", "--cluster"),
    "mcp": ("mcp", "coding agents"),
}
DIST = Path(__file__).parent.parent / "web_dist" / "index.html"
CHECK_SECONDS = 20.0  # of the quick check of a database file
LITTLE, TOO_LITTLE = 1 << 30, 200 << 20  # bytes free on a disk
LARGE_LOG = 256 << 20
SAMPLE = 200  # traces that are looked at for what their exporters send
FEW = 0.5  # a field that fewer traces have is one they lack
LACKING = {
    "session": "set session.id (or gen_ai.conversation.id), so that turns of a conversation belong together",
    "user": "set user.id, so that what one user says can be erased and counted once",
}
T = TypeVar("T")


class Examination:
    """Collects findings of one area after the other; what an area cannot look at is a finding too."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.area = ""

    def examine(self, area: str, look: Callable[..., T], *given: Any) -> T | None:
        self.area = area
        try:
            return look(self, *given)
        except EvergoldError as problem:
            self.add(Level.ERROR, problem.message, "mend this first; then run evergold doctor again")
            return None

    def add(self, level: Level, message: str, todo: str | None = None) -> None:
        self.findings.append(Finding(area=self.area, level=level, message=hide(message), todo=todo))

    add_fine = partialmethod(add, Level.FINE)
    note = partialmethod(add, Level.NOTE)
    warn = partialmethod(add, Level.WARNING)


def diagnose(flags: Mapping[str, Any] | None = None) -> Diagnosis:
    """Look at installation, settings, database, disk, plug-ins, judge, model endpoints and exporters."""
    look = Examination()
    look.examine("installation", _look_at_installation)
    settings = look.examine("settings", _look_at_settings, flags)
    if settings is not None:
        look.examine("disk", _look_at_disk, settings)
        workspace = look.examine("database", _look_at_database, settings)
        with workspace or nullcontext():
            look.examine("plug-ins", _look_at_plugins, settings, workspace)
            look.examine("judge", _look_at_judge, settings, workspace)
            look.examine("model endpoints", _look_at_endpoints, settings)
            if workspace is not None:
                look.examine("exporters", _look_at_exporters, workspace)
    levels = {finding.level for finding in look.findings}
    return Diagnosis(ok=not levels & {Level.WARNING, Level.ERROR}, findings=tuple(look.findings))


def _look_at_installation(look: Examination) -> None:
    look.add_fine(f"evergold {version('evergold')} on Python {platform.python_version()}")
    there = [name for name, (module, _) in EXTRAS.items() if find_spec(module) is not None]
    look.add_fine(f"extras: {', '.join(there) or 'none'}")
    if lacking := [f"{name} ({what_for})" for name, (_, what_for) in EXTRAS.items() if name not in there]:
        look.note(f"extras not installed: {', '.join(lacking)}", "where you need one: pip install 'evergold[NAME]'")
    if shutil.which("bwrap") is None:
        look.note("bubblewrap is not here: the metric tests_passed runs no code", "install the package bubblewrap")
    if DIST.is_file():
        look.add_fine("the web app is built")
    else:
        look.warn("the web app is not built: pages are empty", "make setup, or install a wheel")


def _look_at_settings(look: Examination, flags: Mapping[str, Any] | None) -> Settings:
    problems: list[str] = []
    settings = load_settings(flags, problems=problems)
    for problem in problems:
        if problem.endswith("which counts"):
            look.note(problem, "take one of them out, so that nobody is surprised")
        else:
            look.warn(problem, "correct or remove it; it is not used")
    where = f"read from {settings.file}" if settings.file else f"no {FILE_NAME} here: built-in values"
    look.add_fine(f"{where}; {len(settings.origins)} set")
    return settings


def _look_at_disk(look: Examination, settings: Settings) -> None:
    folder = next(path for path in (settings.home.absolute(), *settings.home.absolute().parents) if path.exists())
    free = shutil.disk_usage(folder).free
    if free < LITTLE:
        level = Level.ERROR if free < TOO_LITTLE else Level.WARNING
        look.add(level, f"{free >> 20} MB are free at {folder}", "make room: traces are refused when the disk is full")
    else:
        look.add_fine(f"{free >> 30} GB are free at {folder}")


def _look_at_database(look: Examination, settings: Settings) -> Workspace | None:
    """Look at the database as it lies there; give the workspace where it can be opened without changing anything."""
    file = sqlite_file(settings.database)
    if file is not None and not file.exists():
        look.note(f"no workspace at {settings.home} yet", "evergold demo, evergold serve or evergold ingest makes one")
        return None
    _look_at_modes(look, settings, file)
    health = look_at_database(settings.database, CHECK_SECONDS)
    if health.refused:
        look.add(Level.ERROR, f"the database {health.refused}", "install the version that knows it")
        return None
    if health.damage:
        look.add(Level.ERROR, f"the database file is damaged: {health.damage}", "evergold restore the last backup")
        return None
    if not health.checked:
        look.note(f"the quick check of {health.bytes >> 20} MB took longer than {CHECK_SECONDS:.0f} s and was left off")
    if health.schema_number != health.current:
        message = f"the database has schema {health.schema_number}; the next command upgrades it to {health.current}"
        look.warn(message, "evergold backup FILE with the version before, then go on")
        return None
    look.add_fine(f"{health.engine}, schema {health.current}, {health.bytes >> 20} MB")
    if health.free_bytes > max(health.bytes // 2, 64 << 20):
        look.note(
            f"{health.free_bytes >> 20} MB of the file are free pages", "they are used again; VACUUM returns them"
        )
    if health.log_bytes > LARGE_LOG:
        look.warn(
            f"the write-ahead log has {health.log_bytes >> 20} MB", "end programs that read for hours; it shrinks then"
        )
    # Not `Workspace.open`: that writes down how the workspace began.
    return Workspace(settings, Store.open(settings))


def _look_at_modes(look: Examination, settings: Settings, file: Path | None) -> None:
    if settings.files_mode == "unmanaged" or os.name != "posix" or file is None:
        return
    shared = settings.files_mode == "shared"
    wrong = [path for path in (settings.home, file) if path.exists() and is_mode_wrong(path, shared=shared)]
    for path in wrong:
        mode = f"{path.stat().st_mode & 0o777:o}"
        look.warn(f"{path} has mode {mode}: others may read it", f"chmod go-rwx {path}, or set files.mode")
    if not wrong:
        look.add_fine(f"{settings.home} is {settings.files_mode}")


def _look_at_plugins(look: Examination, settings: Settings, workspace: Workspace | None) -> None:
    states = plugin_states(settings, None if workspace is None else workspace.store)
    for one in states:
        named = f"{one.group.removesuffix('s').replace('_', ' ')} {one.name} of {one.package}"
        if one.problem:
            stops = "; nothing is taken in without it" if one.group == "redactors" else ""
            look.warn(f"{named}: {one.problem}{stops}", "mend the package, or uninstall it")
        elif one.failed:
            look.warn(f"{named}: {one.failed} calls failed and cost their own result", "see the log of evergold.curate")
        else:
            look.add_fine(named)
    if not states:
        look.add_fine("none beside the built-in ones")


def _look_at_judge(look: Examination, settings: Settings, workspace: Workspace | None) -> None:
    name = settings.judge_default.strip() or "offline"
    if name == "offline":
        look.add_fine("the offline judge, which needs no key")
        return
    if workspace is None:
        look.add_fine(f"judge.default = {name}")
        return
    judge = next(one for one in workspace.judging.judges() if one.default)
    if judge.calibrations:
        look.add_fine(f"{name}, calibrated on {', '.join(one.metric for one in judge.calibrations)}")
    else:
        look.note(f"{name} was never compared with people's verdicts", "evergold judge calibrate")


def _look_at_endpoints(look: Examination, settings: Settings) -> None:
    configured = Configuration(settings)
    own_judge = settings.judge_base_url or settings.judge_api_key
    for name in ("models", *(("judge",) if own_judge else ())):
        answer = configured.try_endpoint(name)
        if answer.todo is None:
            look.add_fine(f"{name}: {answer.message}")
        elif answer.message.startswith("no address"):
            look.note("no endpoint and no key: openai/… cannot be called", answer.todo)
        else:
            look.warn(f"{name}: {answer.message}", answer.todo)


def _look_at_exporters(look: Examination, workspace: Workspace) -> None:
    """Name the exporters whose traces cannot be evaluated, by what curation found missing, and what most traces do not say."""
    page, _ = workspace.intake.page(TraceFilter(), limit=SAMPLE)
    gaps = workspace.live.incomplete()
    for one in gaps:
        level = Level.NOTE if one.gap is Gap.NO_INTERACTION else Level.WARNING
        message = f"{one.exporter or 'native records'}: {one.traces} traces are incomplete: {one.gap.replace('_', ' ')}"
        look.add(level, message, one.change)
    for what, todo in LACKING.items():
        if page and sum(bool(getattr(trace, f"{what}_id")) for trace in page) < FEW * len(page):
            look.note(f"most of the newest {len(page)} traces come without a {what}", todo)
    if not page:
        look.note("no traces yet", "point an OpenTelemetry exporter at evergold serve; see docs/ingest.md")
    elif not gaps:
        look.add_fine(f"the newest {len(page)} traces: none is known to be incomplete (curation looks at each)")
