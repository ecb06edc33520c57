"""Private things out of the parts of a span.

Ids of sessions and users are kept as they came: they hold the turns of a conversation together, and erasing a user needs
them. A placeholder there would make one session of all the people who are known by their telephone number.
"""

from typing import Any

from evergold.redact.fields import FieldRedactor

IDS = ("session_id", "user_id")
SIDES = {"input": "trace_input", "output": "trace_output"}  # where a span speaks for the whole trace

Texts = tuple[str, str | None, str | None]


def redact_parts(
    texts: Texts, facts: dict[str, Any], raw: dict[str, Any], cleaner: FieldRedactor
) -> tuple[Texts, dict[str, Any], dict[str, Any]]:
    """The texts (name, input, output), what was understood and what was carried of a span, without private things."""
    name, *sides = texts
    apart = {key: facts[key] for key in (*IDS, *SIDES.values()) if key in facts}
    rest = {key: value for key, value in facts.items() if key not in apart}
    # The span's own text and the one it states for the trace are redacted under the same switch.
    parts: dict[str, Any] = {
        side: [text, apart.get(whole)] for (side, whole), text in zip(SIDES.items(), sides, strict=True)
    }
    redacted = cleaner.clean(parts | {"metadata": {"name": name, "facts": rest}, "attributes": raw})
    for side, whole in SIDES.items():
        if whole in apart:
            apart[whole] = redacted[side][1]
    metadata = redacted["metadata"]
    return (
        (metadata["name"], redacted["input"][0], redacted["output"][0]),
        metadata["facts"] | apart,
        redacted["attributes"],
    )
