"""Tests that an answer with code must pass."""

from typing import Annotated, Any

from pydantic import BaseModel, Field, model_validator


class CodeTests(BaseModel, frozen=True, extra="forbid"):
    """Python tests of an answer: each passes if it runs to its end without an exception.

    An answer in Python is run first, and the tests use its names. Code of another `language` is not run: the tests find it as
    the text `answer`. Written as a text (one test) or a list of texts, it is Python.
    """

    language: Annotated[str, Field(min_length=1, max_length=40)] = "python"
    code: Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=1, max_length=100)]

    @model_validator(mode="before")
    @classmethod
    def _from_short_form(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"code": [value]}
        if isinstance(value, list | tuple):
            return {"code": list(value)}
        # Without this a single text would be taken apart into its characters.
        if isinstance(value, dict) and isinstance(value.get("code"), str):
            return {**value, "code": [value["code"]]}
        return value

    @property
    def runs_answer(self) -> bool:
        return self.language.lower() in PYTHON


PYTHON = frozenset({"python", "py", "python3"})
