"""What `--help` of a verb loads, and the values that are written out so that it need not load more."""

import subprocess
import sys
from enum import StrEnum

import click
import pytest

from evergold.build.check import MOST_UNGROUNDED
from evergold.build.spec import DEFAULT_FOLDER
from evergold.cli import admin, build, extract, options, review, run, runs
from evergold.extract.agents.session import TRAILERS
from evergold.model.access import Role
from evergold.model.case import CaseKind, CaseStatus, EntryType, ReviewState
from evergold.model.review import ReviewVerdict, Standing
from evergold.model.run import OnUnrecorded, RunStatus, Turns
from evergold.upkeep import backups

LOAD_ALL = """
import sys
from evergold.cli import VERBS, load_verb
for name in VERBS:
    load_verb(name)
print(sorted({"pydantic", "sqlalchemy", "fastapi", "numpy", "rich"} & set(sys.modules)))
"""


def test_the_help_of_a_verb_loads_neither_models_nor_a_database() -> None:
    loaded = subprocess.run([sys.executable, "-c", LOAD_ALL], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("written", "enum"),
    [
        (admin.ROLES, Role),
        (options.CASE_KINDS, CaseKind),
        (options.CASE_STATUSES, CaseStatus),
        (options.ENTRY_TYPES, EntryType),
        (options.REVIEW_STATES, ReviewState),
        (review.STANDINGS, Standing),
        (review.VERDICTS, ReviewVerdict),
        (run.ON_UNRECORDED, OnUnrecorded),
        (run.TURNS, Turns),
        (runs.STATUSES, RunStatus),
    ],
)
def test_choices_are_the_values_of_their_enum(written: tuple[str, ...], enum: type[StrEnum]) -> None:
    assert written == tuple(enum)


def test_defaults_that_help_shows_are_those_in_force() -> None:
    assert f"{DEFAULT_FOLDER}/manifest.json" == build.DEFAULT_MANIFEST
    assert build.MOST_UNGROUNDED == MOST_UNGROUNDED
    assert admin.STEPS == backups.STEPS
    trailer = next(one for one in extract.extract_command.commands["codex"].params if one.name == "trailers")
    assert isinstance(trailer, click.Option) and ", ".join(TRAILERS) in (trailer.help or "")
