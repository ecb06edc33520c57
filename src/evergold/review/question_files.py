"""Questions of a dataset as a file: TOML or YAML, with a list `questions`."""

import tomllib
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from evergold.errors import BadInput, NotFound
from evergold.formats.yaml_reading import Unreadable, read
from evergold.model.faults import refused_settings
from evergold.model.questions import Questionnaire


def read_questionnaire(path: Path) -> Questionnaire:
    """Read the questions that a file describes; the first mistake is named with where it stands."""
    if not path.is_file():
        raise NotFound(f"question file {str(path)!r} does not exist")
    try:
        text = path.read_text(encoding="utf-8")
        table = tomllib.loads(text) if path.suffix == ".toml" else read(text).value
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, Unreadable) as problem:
        raise BadInput(f"question file {str(path)!r} cannot be read: {problem}") from problem
    return parse_questionnaire(table, str(path))


def parse_questionnaire(table: Any, origin: str) -> Questionnaire:
    if not isinstance(table, dict):
        raise BadInput(f"{origin}: a table with a list `questions` is wanted")
    try:
        return Questionnaire.model_validate(table)
    except ValidationError as problem:
        raise refused_settings(problem, Questionnaire, origin) from problem
