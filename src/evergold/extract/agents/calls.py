"""A tool call of any agent → events. Tools are known by what they do, under all the names they go by.

Names are compared without case and without the server an MCP tool comes from. A tool nobody knows here shows nothing; the
caller counts it.
"""

import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Any

from evergold.errors import BadInput
from evergold.extract.agents.events import (
    MOST_DIGITS,
    WHOLE,
    Changed,
    Event,
    FileRef,
    LineSpan,
    Looked,
    Patch,
    Replacement,
    bare_paths,
    envelope_in,
    numbered_by_path,
    numbered_of_one,
    read_envelope,
    shown_by_path,
    text_lines,
)
from evergold.extract.agents.shell import shell_events
from evergold.extract.diff import FileDiff, parse_diff
from evergold.extract.flow_cases import TOOL_CALL
from evergold.model.flow import Action
from evergold.sources.agents.log_lines import objects_in

# `cat -n` and the read tools of agents write the number before an arrow, a tab or a bar.
_NUMBERED = re.compile(r"^[^\S\n]*(\d{1,9})(?:→|\t|\| ?)([^\n]*)", re.MULTILINE)
# The look-behind lets a run of line ends match from its first one only; else the search would be quadratic.
_REMINDER = re.compile(r"(?<!\n)\n*<system-reminder>.*?</system-reminder>\s*", re.DOTALL)
_REMINDER_END = "</system-reminder>"
_PATH_KEYS = ("file_path", "path", "absolute_path", "filePath", "notebook_path", "filename", "target_file")
_SHELL_TOOLS = """
bash shell shell_command local_shell exec_command execute_bash run_shell_command run_terminal_cmd bash_command
container.exec terminal run
"""
_COMMAND_KEYS = ("command", "cmd", "keystrokes", "script", "code")


def tool_of(action: Action) -> str:
    """The tool's name as the table below has it; "" for an action that is no tool call."""
    name = action.type.removeprefix(TOOL_CALL)
    # An MCP tool is named `mcp__server__tool`.
    return name.rsplit("__", 1)[-1].lower() if name != action.type else ""


def events_of(action: Action) -> Iterator[Event]:
    """What a call amounts to. A call that failed or never ended showed and changed nothing, but for what a shell printed."""
    handler = TOOLS.get(tool_of(action))
    # No result means that the call was interrupted: whether it did anything is not known.
    if handler is None or action.result is None:
        return
    # A shell that ended with an error still printed lines before it failed.
    if action.error and handler is not _shell:
        return
    yield from handler(action)


def _read(action: Action) -> Iterator[Event]:
    ref = _ref(action)
    if ref is None:
        return
    params = action.params
    # Printed numbers beat the parameters: a tool may clamp the range that it was asked for.
    numbered = _numbered_in(action.result or "")
    if numbered:
        yield Looked(ref, numbered=numbered, asked=True)
        return
    text = _without_reminders(action.result or "")
    first = _number(params, "offset", "start_line", "startLine") or 1
    last = _number(params, "end_line", "endLine")
    if last is None and (limit := _number(params, "limit")):
        last = first + limit - 1
    view = params.get("view_range")
    if isinstance(view, list) and len(view) == 2 and all(isinstance(number, int) for number in view):
        # A last line of -1 means the end of the file in the text editor tool.
        first, last = view[0], max(view[1], 0)
    whole = first == 1 and last is None
    yield Looked(ref, span=WHOLE if whole else LineSpan(max(first, 1), last or 0), shown=text_lines(text), asked=True)


def _grep(action: Action) -> Iterator[Event]:
    params, output = action.params, text_lines(_without_reminders(action.result or ""))
    # The tool's own default where the parameter is left out.
    mode = params.get("output_mode") or "files_with_matches"
    if mode == "count":
        return
    if mode != "content":
        yield from bare_paths(output, action.cwd)
        return
    results: list[Looked] = list(numbered_by_path(output, action.cwd))
    path = params.get("path")
    if not results and isinstance(path, str):
        results = list(numbered_of_one(output, FileRef(path, action.cwd)))
    yield from results or shown_by_path(output, action.cwd)


def _search(action: Action) -> Iterator[Event]:
    """Numbered lines, or names of files; relative ones start where the session works, whatever folder was searched."""
    output = text_lines(_without_reminders(action.result or ""))
    yield from list(numbered_by_path(output, action.cwd)) or bare_paths(output, action.cwd)


def _edit(action: Action) -> Iterator[Event]:
    ref = _ref(action)
    if ref is None:
        return
    details = action.details
    patches: list[Patch] = []
    for hunk in objects_in(details.get("structuredPatch")):
        lines, start = hunk.get("lines"), hunk.get("oldStart")
        if isinstance(lines, list) and isinstance(start, int):
            patches += _runs([line for line in lines if isinstance(line, str)], max(start, 1))
    before = details.get("originalFile")
    edits = action.params.get("edits")
    wanted = objects_in(edits) if isinstance(edits, list) else [action.params]
    replacements: list[Replacement] = []
    for edit in wanted:
        old, new = edit.get("old_string", edit.get("old_str")), edit.get("new_string", edit.get("new_str"))
        if isinstance(old, str):
            replacements.append(Replacement(old, new if isinstance(new, str) else "", bool(edit.get("replace_all"))))
    # From the last to the first: so each stands at its line whatever came before.
    yield Changed(ref, tuple(replacements), tuple(reversed(patches)), before if isinstance(before, str) else None)
    if numbered := _numbered_in(action.result or ""):
        yield Looked(ref, numbered=numbered)


def _runs(lines: list[str], at: int) -> Iterator[Patch]:
    """The runs of removed and added lines of a hunk, in order."""
    removed, added = 0, list[str]()
    # A closing context line ends the run that is open.
    for line in [*lines, " "]:
        if line.startswith("-"):
            removed += 1
        elif line.startswith("+"):
            added.append(line[1:])
        elif not line.startswith("\\"):
            if removed or added:
                yield Patch(at, removed, added)
            at += removed + 1
            removed, added = 0, []


def _ask(action: Action) -> Iterator[Event]:
    """A question about a file whose answer shows none of its lines."""
    if ref := _ref(action):
        yield Looked(ref, asked=True)


def _write(action: Action) -> Iterator[Event]:
    ref = _ref(action)
    if ref is None:
        return
    content = next((action.params[key] for key in ("content", "file_text") if key in action.params), None)
    before = action.details.get("originalFile")
    after = content if isinstance(content, str) else None
    yield Changed(ref, after=after, before=before if isinstance(before, str) else None)


def _editor(action: Action) -> Iterator[Event]:
    """One tool that views, creates and replaces by its `command`."""
    command = action.params.get("command")
    if command == "view":
        yield from _read(action)
    elif command == "create":
        yield from _write(action)
    elif command == "insert" and (ref := _ref(action)):
        line = _number(action.params, "insert_line")
        text = action.params.get("insert_text", action.params.get("new_str"))
        if line is not None and isinstance(text, str):
            # `insert_line` names the line after which the text goes; a patch names the line it stands at.
            yield Changed(ref, patches=(Patch(line + 1, 0, text_lines(text)),))
    elif command in ("str_replace", "undo_edit"):
        yield from _edit(action)


def _shell(action: Action) -> Iterator[Event]:
    script = next((action.params[key] for key in _COMMAND_KEYS if key in action.params), None)
    if isinstance(script, list):
        words = [str(word) for word in script]
        # ["bash", "-lc", SCRIPT]: the third word is the script. Any other list is a command with its words.
        script = words[2] if len(words) == 3 and words[1].startswith("-") and "c" in words[1] else shlex.join(words)
    if not isinstance(script, str):
        return
    workdir = action.params.get("workdir", action.params.get("working_directory"))
    folder = workdir if isinstance(workdir, str) and workdir else action.cwd
    yield from shell_events(script, action.result or "", folder)


def _apply_patch(action: Action) -> Iterator[Event]:
    """An envelope, or a unified diff, whose paths begin at the root of the repository."""
    texts = [action.params[key] for key in ("input", "patch") if isinstance(action.params.get(key), str)]
    files: list[FileDiff] = []
    if texts and (envelope := envelope_in(texts[0])):
        yield from read_envelope(envelope, action.cwd)
    elif texts and texts[0].startswith("diff --git "):
        with suppress(BadInput):
            files = parse_diff(texts[0])
    for file in files:
        patches: list[Patch] = []
        for hunk in file.hunks:
            patches += _runs([line.decode("utf-8", "replace") for line in hunk.body], max(hunk.old_start, 1))
        yield Changed(FileRef(file.new_path or file.path, action.cwd), patches=tuple(reversed(patches)))


# A file that nobody changed is read again and again: by sub-agents, after a summary, by the next session.
@lru_cache(maxsize=32)
def _numbered_in(text: str) -> dict[int, str]:
    """Lines a tool printed with their numbers, which are the truth about what was read. Nobody changes them."""
    results = {int(number): line for number, line in _NUMBERED.findall(_without_reminders(text))}
    # Line 0 does not exist; tools that print it mean a heading.
    results.pop(0, None)
    return results


def _ref(action: Action) -> FileRef | None:
    named = (action.params.get(key) for key in _PATH_KEYS)
    return next((FileRef(path, action.cwd) for path in named if path and isinstance(path, str)), None)


def _number(params: dict[str, Any], *keys: str) -> int | None:
    for key in keys:
        value = params.get(key)
        if isinstance(value, str) and value.isdecimal():
            return int(value[:MOST_DIGITS])
        if isinstance(value, int | float) and not isinstance(value, bool):
            return int(value)
    return None


TOOLS: dict[str, Callable[[Action], Iterator[Event]]] = {
    **dict.fromkeys(("read", "read_file", "view", "view_file", "open_file", "notebookread", "cat"), _read),
    "lsp": _ask,
    "grep": _grep,
    **dict.fromkeys(
        ("grep_search", "search_file_content", "search_files", "codebase_search", "find_references"), _search
    ),
    **dict.fromkeys(("glob", "ls", "list_dir", "list_directory", "list_files", "find_files"), _search),
    **dict.fromkeys(("edit", "multiedit", "replace", "edit_file", "notebookedit"), _edit),
    **dict.fromkeys(("write", "write_file", "create_file"), _write),
    **dict.fromkeys(("str_replace_editor", "str_replace_based_edit_tool", "file_editor"), _editor),
    **dict.fromkeys(_SHELL_TOOLS.split(), _shell),
    "apply_patch": _apply_patch,
}


def _without_reminders(text: str) -> str:
    """Take reminders out. Behind the last end no reminder is complete, so nothing is searched there in vain."""
    head, end, tail = text.rpartition(_REMINDER_END)
    return _REMINDER.sub("", head + end) + tail.lstrip() if end else text
