"""Write docs/reference.md from the code: every command, setting, seam and route. A test fails when it is stale."""

import re
from pathlib import Path

import click

from evergold import seams
from evergold.api.app import interface
from evergold.cli import VERBS, load_verb
from evergold.settings import Settings, describe

TARGET = Path(__file__).parent.parent / "docs" / "reference.md"


def render() -> str:
    return "\n".join(["# Reference", "", *_commands(), *_settings(), *_seams(), *_routes()]) + "\n"


def _commands() -> list[str]:
    verbs = {verb: load_verb(verb) for verb in sorted(VERBS)}
    without = [f"`{name}`" for verb, command in verbs.items() for name in _without_json(verb, command)]
    lines = [
        "## Commands",
        "",
        f"Every command takes `--json` and then prints one JSON document, except {', '.join(without)}.",
        "`--cluster tcp://…` lets workers of a Dask scheduler do the work. "
        "Exit codes: 0 done, 1 something did not pass, 2 could not run,",
        "3 cannot tell. An option without a text is explained where it stands first on this page.",
        "",
    ]
    above = {"- `--cluster`"}
    for verb, command in verbs.items():
        lines += _command(f"evergold {verb}", command, above)
    return lines


def _without_json(name: str, command: click.Command) -> list[str]:
    inner = command.commands if isinstance(command, click.Group) else {}
    found = [one for sub in sorted(inner) for one in _without_json(f"{name} {sub}", inner[sub])]
    works = command.invoke_without_command if isinstance(command, click.Group) else True
    return [name, *found] if works and not any("--json" in one.opts for one in command.params) else found


def _command(name: str, command: click.Command, above: set[str]) -> list[str]:
    arguments = [
        param.make_metavar(click.Context(command)) for param in command.params if isinstance(param, click.Argument)
    ]
    lines = [f"### `{' '.join([name, *arguments])}`", "", _prose(command.help), ""]
    options = [
        param
        for param in command.params
        if isinstance(param, click.Option) and not param.hidden and "--json" not in param.opts
    ]
    plain = []  # options without a text, or with one that stands above
    for option in options:
        flags = ", ".join(f"`{flag}`" for flag in [*option.opts, *option.secondary_opts])
        line = f"- {flags}: {option.help or _choices(option)}"
        if {line, f"- {flags}"} & above:
            plain.append(flags)
        else:
            lines.append(line)
        above.add(line)
    lines += [f"- {', '.join(plain)}"] if plain else []
    lines += [""] if options else []
    if isinstance(command, click.Group):
        for sub in sorted(command.commands):
            lines += _command(f"{name} {sub}", command.commands[sub], above)
    return lines


def _choices(option: click.Option) -> str:
    return (
        ", ".join(map(str, option.type.choices)) + "."
        if isinstance(option.type, click.Choice)
        else option.type.name + "."
    )


def _prose(text: str | None) -> str:
    return "\n".join(" ".join(part.split()) + "\n" for part in (text or "").replace("\b", "").split("\n\n")).strip()


def _settings() -> list[str]:
    lines = [
        "## Settings",
        "",
        "Read from `evergold.toml`, then the environment, then flags. `evergold settings` prints them.",
        "In brackets: the variable, and the default.",
        "",
    ]
    lines += [
        f"- `{row['name']}` (`{row['env']}`{_default(row['value'])}): {row['doc']}" for row in describe(Settings())
    ]
    return [*lines, ""]


def _default(value: object) -> str:
    return f", `{value}`" if value not in ("", None, (), []) else ""


def _seams() -> list[str]:
    table = [line for line in (seams.__doc__ or "").splitlines() if line.startswith("|")]
    return [
        "## Seams",
        "",
        "A plug-in is a class (or function) named by an entry point; `evergold plugins` lists them.",
        "",
        *table,
        "",
    ]


def _routes() -> list[str]:
    lines = ["## Routes", "", "`/openapi.json` describes each in full.", ""]
    for path, methods in sorted(interface()["paths"].items()):
        for method, spec in methods.items():
            # The first sentence: the whole text stands in /openapi.json.
            text = " ".join((spec.get("description") or spec.get("summary", "")).split())
            first = re.split(r"(?<=\.)\s|;\s", text)[0].rstrip(".")
            lines.append(f"- `{method.upper()} {path}`: {first}.")
    return lines


if __name__ == "__main__":
    TARGET.write_text(render(), encoding="utf-8")
