"""Policy files: TOML in, one `Policy` out, or one line that says which key is wrong and what is allowed.

name = "support"
dataset = "support-live"
ignore = ["trace_complete"]      # bookkeeping scores that never take part
llm_judge = "system"             # or "ignored", the default
tags = ["model", "tool"]
fallback_texts = ["Sorry, something went wrong*"]

[thresholds]
failure_below = 0.3
golden_from = 0.8

[eligible]
metadata = { message_type = ["text", "audio"] }

[sample]
candidate = 0.1                  # the inclusion probability is recorded with each entry
"""

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from evergold import plugins
from evergold.errors import BadInput, NotFound, unknown
from evergold.model.faults import refused_settings
from evergold.model.policy import TAG_KINDS, Policy

DEFAULT = Policy()


def read_policy(path: Path) -> Policy:
    """The policy a file describes; every mistake in it is named at once."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as problem:
        raise NotFound(f"policy file {str(path)!r} does not exist") from problem
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise BadInput(f"policy file {str(path)!r} cannot be read as TOML: {problem}") from problem
    return parse_policy(table, origin=str(path))


def parse_policy(table: dict[str, Any], origin: str) -> Policy:
    try:
        policy = Policy.model_validate(table)
    except ValidationError as problem:
        raise refused_settings(problem, Policy, origin) from problem
    known = (*TAG_KINDS, *plugins.names("taggers"))
    for name in policy.tags:
        if name not in known:
            raise BadInput(f"{origin}: {unknown('tag extractor', name, known)}")
    return policy


def policies(paths: Iterable[str | Path], default: Policy = DEFAULT) -> tuple[Policy, ...]:
    """The policies in force: `default` unless a file replaces it, then each file's; two of one name are an error."""
    policies: dict[str, Policy] = {DEFAULT.name: default}
    origin: dict[str, str] = {}
    for path in paths:
        policy = read_policy(Path(path))
        if policy.name in origin:
            raise BadInput(f"{path} and {origin[policy.name]} both describe policy {policy.name!r}; rename one")
        origin[policy.name] = str(path)
        policies[policy.name] = policy
    return tuple(policies.values())
