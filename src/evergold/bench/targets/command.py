"""`command:PROGRAM ARGS`: any program. One process per attempt: JSON on its input, JSON or text on its output."""

import asyncio
import os
import shlex
import signal
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import orjson

from evergold import replay
from evergold.bench.targets.prompts import payload
from evergold.bench.targets.replies import answered_text
from evergold.calls.caller import failed
from evergold.errors import BadInput
from evergold.model.case import Case
from evergold.model.run import Attempt
from evergold.settings import Settings

OPERATORS = frozenset(("|", "||", "&", "&&", "<", ">", ">>"))  # of a shell, which is not there


class CommandTarget:
    """The words of the command are fixed; nothing of a case ever reaches a shell."""

    def __init__(self, words: list[str], params: Mapping[str, Any]) -> None:
        self._words = words
        self._params = dict(params)

    @property
    def identity(self) -> str:
        return f"command:{shlex.join(self._words)}"

    async def attempt(self, case: Case, trial: int, seed: int | None) -> Attempt:
        pipe = asyncio.subprocess.PIPE
        session = replay.current.get()
        environment = None if session is None else {**os.environ, replay.URL_VARIABLE: session.url()}
        try:
            process = await asyncio.create_subprocess_exec(
                # A session of its own, so that a timeout ends the program with all its children.
                *self._words,
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                start_new_session=True,
                env=environment,
            )
        except OSError as problem:
            return failed(case, trial, "unknown_model", f"{self._words[0]} cannot be started: {problem.strerror}")
        try:
            output, errors = await process.communicate(orjson.dumps(payload(case, self._params, trial, seed)))
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        if process.returncode:
            return failed(case, trial, "target", f"exit code {process.returncode}: {_reason(errors)}")
        return answered_text(case, trial, output)


def _reason(errors: bytes) -> str:
    """The last line of stderr, where programs say what went wrong; many then name their help, which says nothing."""
    lines = errors.decode("utf-8", "replace").strip().splitlines()
    telling = [line for line in lines if not line.startswith("Try ")] or lines
    return telling[-1] if telling else "nothing on its error output"


def make_command(address: str, params: Mapping[str, Any], _settings: Settings) -> CommandTarget:
    try:
        words = shlex.split(address)
    except ValueError as problem:
        raise BadInput(f"command:{address} cannot be read: {problem}") from problem
    if meant := next((word for word in words if word in OPERATORS or word.endswith(";")), ""):
        raise BadInput(
            f"command: runs one program without a shell, which would read {meant!r}; write command:sh -c '…'"
        )
    if not words:
        raise BadInput("command: needs a program, for example command:python3 answer.py")
    return CommandTarget(words, params)
