"""A shell call as a whole: where each command ran, what it printed of files, which files it changed, what it committed."""

import re
from collections.abc import Iterator
from functools import lru_cache
from posixpath import join, normpath

from evergold.extract.agents.apply_patch import envelope_in, read_envelope
from evergold.extract.agents.diff_output import shown_in_diff
from evergold.extract.agents.events import Changed, Committed, Event, FileRef, Lines, Moved, text_lines
from evergold.extract.agents.shell import Command, pipelines
from evergold.extract.agents.shell_reads import looked_at

# Words that may stand before a command and change nothing about what it reads.
_PREFIXES = ("do", "then", "else", "sudo", "time", "command", "env", "exec", "!", "{", "if", "while")
_COMMIT_LINE = re.compile(r"^\[(?P<branch>.+?) (?:\(root-commit\) )?(?P<id>[0-9a-f]{7,40})\] (?P<subject>.*)$", re.M)
# Programs that change the files they name, and the option that makes them do so; "": always.
_IN_PLACE = {
    "gofmt": "-w",
    "goimports": "-w",
    "gofumpt": "-w",
    "prettier": "--write",
    "black": "",
    "sed": "-i",
    "perl": "-i",
    "rm": "",
    "touch": "",
}
_MERGED = ("Merge made by", "Fast-forward", "Squash commit")


def shell_events(script: str, output: str, cwd: str | None) -> Iterator[Event]:
    """The events of one call, in the order of its commands. An error's text shows no file, so it needs no exception."""
    lines = text_lines(output)
    folder = cwd
    for pipeline in pipelines(script):
        commands = [bare for command in pipeline if (bare := _bare(command)).words or bare.document]
        if not commands:
            continue
        first = commands[0]
        # A `cd` holds for the rest of the script; a subshell is not told apart from it.
        if first.name == "cd":
            folder = _entered(folder, first.words[1] if len(first.words) > 1 else "~")
            continue
        yield from looked_at(commands, lines, folder)
        # A diff that goes to a file was not shown.
        if _prints_diff(first) and not commands[-1].into:
            yield from shown_in_diff(lines)
        for command in commands:
            yield from _changes(command, folder)
        yield from _commits(first, output, lines)


@lru_cache(maxsize=65536)
def joined(folder: str | None, path: str) -> str:
    """A path from a folder on, `.` and `..` resolved as far as the text alone tells."""
    return normpath(join(folder, path) if folder else path)


def _bare(command: Command) -> Command:
    """Without keywords of the shell and variables set for the command."""
    words = list(command.words)
    while words and (words[0] in _PREFIXES or re.match(r"[A-Za-z_]\w*=", words[0])):
        words.pop(0)
    return Command(words, command.into, command.document, command.piped)


def _prints_diff(command: Command) -> bool:
    words = [word for word in command.words if not word.startswith("-")] or [""]
    return (words[0] == "git" and words[1:2] in (["diff"], ["show"], ["log"])) or words[:3] == ["gh", "pr", "diff"]


def _entered(folder: str | None, target: str) -> str | None:
    # A folder that only the machine of the session knows: paths from here on are relative to nothing.
    if target.startswith(("~", "$", "-")):
        return None
    return joined(folder, target)


def _changes(command: Command, folder: str | None) -> Iterator[Event]:
    if command.name in ("apply_patch", "applypatch"):
        envelope = envelope_in(command.document or " ".join(command.words[1:]))
        yield from read_envelope(envelope, folder) if envelope else ()
    for target in command.into:
        # `cat > f <<EOF` is the only redirection whose content is known.
        whole = command.document if command.name == "cat" and len(command.words) == 1 else None
        yield Changed(FileRef(target, folder), after=whole)
    words = command.words[1:] if command.words[:2] == ["git", "mv"] else command.words
    names = [word for word in words[1:] if not word.startswith("-")]
    if words[:1] == ["mv"] and len(names) == 2:
        yield Moved(FileRef(names[0], folder), FileRef(names[1], folder))
    elif command.name == "tee" or command.words[:2] in (["git", "checkout"], ["git", "restore"]):
        # A name with a dot is taken for a file; others are branches or options' values.
        yield from (Changed(FileRef(name, folder)) for name in names if "." in name)
    elif (flag := _IN_PLACE.get(command.name)) is not None and any(word.startswith(flag) for word in words[1:]):
        # A comma is part of a sed or perl script, not of a path.
        yield from (Changed(FileRef(name, folder)) for name in names if "." in name and "," not in name)


def _commits(command: Command, output: str, lines: Lines) -> Iterator[Committed]:
    words = [word for word in command.words if not word.startswith("-")]
    if command.name == "git" and "--dry-run" not in command.words:
        if words[1:2] == ["commit"] or ("commit" in words and "-C" in command.words):
            for match in _COMMIT_LINE.finditer(output):
                yield Committed(match["id"], match["subject"])
            # `git commit -q` prints no line with the id; such a commit is searched by its time.
            if not _COMMIT_LINE.search(output) and not _failed(lines):
                yield Committed()
        elif words[1:2] in (["cherry-pick"], ["revert"]):
            yield from (Committed(match["id"], match["subject"]) for match in _COMMIT_LINE.finditer(output))
        elif words[1:2] == ["merge"] and any(line.startswith(_MERGED) for line in lines):
            yield Committed(merge=True)
    elif words[:3] == ["gh", "pr", "merge"] and not _failed(lines):
        number = re.search(r"#(\d+)|/pull/(\d+)", " ".join([*words[3:4], output]))
        named = words[3] if len(words) > 3 and words[3].isdigit() else None
        yield Committed(merge=True, pull_request=named or (number and (number[1] or number[2])) or None)


def _failed(lines: Lines) -> bool:
    bad = ("Exit code", "error:", "fatal:", "nothing to commit", "no changes added", "On branch", "hint:", "X ")
    return any(line.startswith(bad) for line in lines)
