"""A model's name → the thing to call.

| name                      | what answers                                                                |
|---------------------------|-----------------------------------------------------------------------------|
| `openai/gpt-4o`           | any OpenAI-compatible URL (`OPENAI_BASE_URL`, `OPENAI_API_KEY` honoured)    |
| `local/smollm2`           | a small real model on this machine, no network (extra `local`)              |
| `anthropic/…`, `google/…`, `mistral/…` | native providers (extra `providers`)                           |
| `http:URL`                | POST of JSON, reply JSON or text                                            |
| `command:PROGRAM ARGS`    | a program: JSON on its input, JSON or text on its output                    |
| `python:MODULE:FUNCTION`  | a function, plain or async                                                  |
| `retriever:NAME`          | a retriever (`bm25`, `grep`, `paths`, `oracle`) in a repository, for context cases |
| `recorded`                | the output already stored in the case                                       |

The word before the first `/` or `:` is the plug-in (`evergold.targets`), the rest is its address. A plug-in is a
factory `make(address, params, settings)`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evergold import plugins
from evergold.credentials import HIDDEN, whole_address
from evergold.errors import BadInput, Refused, describe_unknown
from evergold.seams import Target
from evergold.settings import Settings

RUNS_CODE = frozenset({"command", "python", "http", "https", "retriever"})
"""Targets that start a program or call an address of the caller's choice: never for a client over the network."""

ADDRESSED = {
    "openai": "openai/gpt-4o",
    "local": "local/smollm2",
    "anthropic": "anthropic/NAME",
    "google": "google/NAME",
    "mistral": "mistral/NAME",
    "http": "http://127.0.0.1:8000/answer",
    "https": "https://example.org/answer",
    "command": "command:./answer.sh",
    "python": "python:my_app:answer",
    "retriever": "retriever:bm25",
}
"""Targets that are nothing without an address, each with one."""

_NAME = re.compile(r"(?P<plugin>[A-Za-z0-9_-]+)(?:(?P<sign>[/:])(?P<address>.*))?\Z", re.DOTALL)


@dataclass(frozen=True)
class ModelName:
    plugin: str
    address: str


def parse_name(model: str) -> ModelName:
    """Split and check a model's name; nothing is started. Raises `BadInput` naming the valid forms."""
    match = _NAME.fullmatch(model.strip())
    known = plugins.names("targets")
    if match is None or match["plugin"] not in known:
        # A name without a sign is most often a model's name without its provider.
        word = match["plugin"] if match else model
        hint = f"; write openai/{model} for a model by that name" if match and not match["sign"] else ""
        raise BadInput(f"{describe_unknown('model', word, known)}{hint}")
    name = ModelName(match["plugin"], (match["address"] or "").strip())
    if not name.address and (match["sign"] or name.plugin in ADDRESSED):
        raise BadInput(
            f"model {model!r} does not say which; write for example {ADDRESSED.get(name.plugin, 'recorded')}"
        )
    return name


def refuse_remote(model: str) -> None:
    """Over the network a client may name a model, never a program or an address on the server."""
    name = parse_name(model).plugin
    if name in RUNS_CODE:
        raise Refused(f"the target {name!r} runs on the server's side and is only taken from the command line")


def make_target(model: str, params: Mapping[str, Any], settings: Settings) -> Target:
    name = parse_name(whole_address(model))
    if HIDDEN in name.address:
        raise BadInput(
            f"the address {model!r} held a secret, which is not stored; "
            "put the whole address into an environment variable of any name, and try again"
        )
    whole = {key: whole_address(value) if isinstance(value, str) else value for key, value in params.items()}
    target: Target = plugins.load("targets", name.plugin, name.address, whole, settings)
    return target
