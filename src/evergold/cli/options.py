"""Options that several verbs have, and the workspace that the settings of a call name.

A path on the command line is one of this machine or of an object store (`s3://`, `gs://`, `az://`, `hf://`).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from evergold.cli.output import JSON_WANTED
from evergold.errors import BadInput
from evergold.settings import Settings, load_settings
from evergold.workspace import Workspace

# Values of the enums of `evergold.model`, written out because loading those takes ten times as long as `--help`.
CASE_KINDS = ("chat", "context", "qa", "summary", "task")
CASE_STATUSES = ("active", "withdrawn", "dismissed", "erased")
ENTRY_TYPES = ("golden", "failure", "correction")
CANDIDATES = ("exclude", "include", "only")
EVIDENCE = ("person", "user", "outcome", "content", "check", "silence", "source")
CANDIDATES_HELP = "Golden cases that rest on silence alone: left out (default), taken along, or only these."
REVIEW_STATES = ("unvalidated", "validated")
T = TypeVar("T")
LAST_SECONDS = 1.0  # for the transaction under way, after Ctrl-C


def settings_of(ctx: click.Context, **flags: Any) -> Settings:
    """Read the settings: file, then environment, then the flags of this call."""
    return load_settings({**ctx.find_root().obj, **flags})


@contextmanager
def open_workspace(ctx: click.Context) -> Iterator[Workspace]:
    """Make the workspace; its database is opened when a facade needs it, and after Ctrl-C waited for only a moment."""
    with Workspace(settings_of(ctx)) as workspace:
        try:
            yield workspace
        except KeyboardInterrupt:
            # What waits for the database, perhaps for minutes, is given up; what is committed stays.
            if "store" in vars(workspace):
                workspace.store.db.close_within(LAST_SECONDS)
            raise


def with_workspace(verb: Callable[..., T]) -> Callable[..., T]:
    """Open the workspace for a verb and pass it as the first argument."""

    @click.pass_context
    @wraps(verb)
    def run(ctx: click.Context, /, **options: Any) -> T:
        with open_workspace(ctx) as workspace:
            return verb(workspace, **options)

    return run


class PathOrUrl(click.Path):
    """A path, or a URL of an object store; what a path must be is asked of paths of this machine alone."""

    name = "path"

    def __init__(self, **options: Any) -> None:
        super().__init__(path_type=Path, **options)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        # Whether an object exists is asked when it is opened: a check here would cost a request for each argument.
        if isinstance(value, str) and "://" in value:
            from evergold.storage import is_url, location

            if is_url(value):
                return location(value)
        return super().convert(value, param, ctx)


A_PATH = PathOrUrl()


def _remember_json(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    ctx.meta[JSON_WANTED] = wanted


json_flag = click.option(
    "--json", is_flag=True, expose_value=False, callback=_remember_json, help="Print one JSON document."
)


def report_verb(verb: Callable[..., T]) -> Callable[..., T]:
    """Give a verb that reports the workspace and the flag --json."""
    return json_flag(with_workspace(verb))


candidates_option = click.option("--candidates", type=click.Choice(CANDIDATES), default="exclude", help=CANDIDATES_HELP)
evidence_option = click.option(
    "--evidence",
    multiple=True,
    type=click.Choice(EVIDENCE),
    help="Only cases whose tier rests on this; may be repeated.",
)
cluster_option = click.option(
    "--cluster", metavar="tcp://…", help="Dask scheduler whose workers do the work; they see the same files."
)


def combine_options(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Make one decorator of several options; `--help` lists them in the order given."""

    def decorate(function: Any) -> Any:
        # Decorators apply from the bottom up.
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def parse_filters(texts: Sequence[str]) -> dict[str, str]:
    """Read the texts of `--filter`, each field once: of two values for the same one, either would be ignored."""
    filters: dict[str, str] = {}
    for text in texts:
        field, sign, value = text.partition("=")
        if not sign:
            raise BadInput(f"--filter {text!r} is not FIELD=VALUE, as in entry_type=golden")
        name, value = field.strip().replace("-", "_"), value.strip()
        if filters.setdefault(name, value) != value:
            raise BadInput(f"--filter {name} is given as {filters[name]!r} and as {value!r}; a case can pass only one")
    return filters
