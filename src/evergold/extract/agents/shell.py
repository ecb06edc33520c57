"""A shell call: where each command ran, what it printed of files, which files it changed, what it committed.

Only as much of the shell is parsed as reading needs: quotes, escapes, `|`, `&&`, `||`, `;`, `&`, line ends, brackets,
redirections and here-documents. Nothing is expanded: a word with a variable or a substitution in it is kept as it
stands.

`sed -n '10,20p' f | head -5` shows five lines, not a file. The words of the commands say which lines were asked for;
what was printed says which of them arrived. Only lines in both count, so a cut-off output, a missing file or a filter
never makes more of a read than it was.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain, dropwhile, pairwise
from posixpath import join, normpath

from evergold.extract.agents.events import (
    MOST_DIGITS,
    WHOLE,
    Changed,
    Committed,
    Event,
    FileRef,
    Lines,
    LineSpan,
    Looked,
    Moved,
    bare_paths,
    envelope_in,
    numbered_by_path,
    numbered_of_one,
    read_envelope,
    shown_by_path,
    shown_in_diff,
    text_lines,
)


@dataclass
class Command:
    """One simple command. `into` are files its output went to; `document` is its here-document."""

    words: list[str] = field(default_factory=list)
    into: list[str] = field(default_factory=list)
    document: str | None = None

    @property
    def name(self) -> str:
        return self.words[0].rsplit("/", 1)[-1] if self.words else ""


Pipeline = list[Command]

# What stands between brackets, which may hold brackets themselves; nobody nests them deeper.
_BALANCED = r"[^()]*+"
for _ in range(4):
    _BALANCED = rf"(?:[^()]++|\({_BALANCED}\))*+"
# The pieces of a word. A quote that is never closed ends at the end of the text.
_PIECES = (
    r"'(?P<single>[^']*+)(?:'|\Z)",
    rf'"(?P<double>(?:\\.|\$\({_BALANCED}\)|[^"\\])*+)(?:"|\\?\Z)',
    rf"(?P<kept>`[^`]*+(?:`|\Z)|\$\({_BALANCED}(?:\)|\Z)|\$|[^\s|&;()<>'\"\\`$]++)",
    r"\\(?P<escaped>.?)",
)
_PIECE = re.compile("|".join(_PIECES), re.DOTALL)
_WORD = re.sub(r"\(\?P<\w+>", "(?:", "|".join(_PIECES))
_TOKEN = re.compile(
    r"(?P<blank>[ \t\r]+|(?<!\S)#[^\n]*)|(?P<redirection>(?:\d*|&)(?:>>?|<<<|<<-?|<)[&|]?[ \t]*)"
    rf"|(?P<operator>&&|\|\||;;|\|&|[|;&()\n])|(?P<word>(?:{_WORD})++)|(?P<other>.)",
    re.DOTALL,
)


def read_script(text: str) -> list[Pipeline]:
    """The pipelines of a script, in order."""
    pipelines: list[Pipeline] = [[]]
    command, sign = Command(), ""
    waiting: list[tuple[Command, str, bool]] = []
    at = 0
    while match := _TOKEN.match(text, at):
        at, kind, token = match.end(), match.lastgroup, match[0]
        if kind == "redirection":
            sign = token.strip()
        elif kind == "word":
            word = _unquote(token)
            if sign in ("<<", "<<-"):
                waiting.append((command, word, sign == "<<-"))
            elif sign in ("", "<"):
                command.words.append(word)
            # Standard output alone shows lines; what went to a file or to /dev/null was not seen by the agent.
            elif sign.startswith((">", "1>", "&>")) and not word.isdigit() and word != "/dev/null":
                command.into.append(word)
            sign = ""
        elif kind == "operator":
            if command.words or command.into:
                pipelines[-1].append(command)
            if token not in ("|", "|&"):
                pipelines.append([])
            command, sign = Command(), ""
            # Here-documents begin on the line after the command that names them, whatever else stands on that line.
            if token == "\n":
                for reader, mark, indented in waiting:
                    reader.document, at = _read_document(text, at, mark, indented)
                waiting = []
    pipelines[-1].append(command)
    return [pipeline for pipeline in pipelines if pipeline]


def _read_document(text: str, at: int, mark: str, indented: bool) -> tuple[str, int]:
    """A here-document that begins at a line, and where the line after it begins; one that is cut off ends with the text."""
    lines: list[str] = []
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        line = text[at:end].lstrip("\t") if indented else text[at:end]
        at = end + 1
        if line.rstrip("\r") == mark:
            break
        lines.append(line)
    return "".join(f"{line}\n" for line in lines), min(at, len(text))


def _unquote(word: str) -> str:
    """A word as the command gets it, but for variables and substitutions, which stay as they stand."""
    pieces: list[str] = []
    for match in _PIECE.finditer(word):
        piece = match[match.lastgroup or 0]
        if match.lastgroup == "double":
            piece = re.sub(r'\\(["\\$`])|\\\n', r"\1", piece)
        # A backslash at the end of a line joins it with the next.
        pieces.append("" if match.lastgroup == "escaped" and piece == "\n" else piece)
    return "".join(pieces)


_GREPS = ("grep", "egrep", "fgrep", "rg", "ag", "ack", "zgrep")
_LISTS = ("ls", "find", "fd", "fdfind", "tree")
# These name files without showing a line of them.
_MENTIONS = ("wc", "stat", "file", "jq", "yq", "diff", "md5sum", "sha256sum", "open", "code")
# Behind these in a pipeline no line of the file arrives as it stands.
_QUIET = ("wc", "sort", "uniq", "cut", "tr", "awk", "xargs", "md5sum", "sha256sum", "tee")
_SED_PRINT = re.compile(r"(\d{1,9})(?:,\s*(\d{1,9}|\$|\+\d{1,9}))?\s*p")
_TAB_NUMBER = re.compile(r"\s*(\d{1,9})(?:\t|→|:\s?|\|\s?)(.*)", re.DOTALL)
_GLOB = re.compile(r"[*?\[{$`]")
# Options that take the next word as their value; that word is neither a file nor a pattern.
_VALUED = {
    "grep": ("-e", "-f", "-m", "-A", "-B", "-C", "--include", "--exclude", "--exclude-dir", "--max-count"),
    "rg": ("-e", "-f", "-m", "-A", "-B", "-C", "-g", "-t", "-T", "-M", "--glob", "--type", "--max-count", "--sort"),
    "head": ("-n", "-c"),
    "tail": ("-n", "-c"),
    "sed": ("-e", "-f"),
    "awk": ("-F", "-v"),
    "nl": ("-b", "-w", "-s", "-v"),
    "bat": ("-r", "--line-range", "-l", "--style"),
}


@dataclass(frozen=True)
class _Stream:
    """A file on its way through a pipeline. `span` None: some of its lines, unknown which; `counted`: with numbers."""

    ref: FileRef
    span: LineSpan | None = WHOLE
    counted: bool = False
    silent: bool = False


def looked_at(pipeline: Pipeline, output: Lines, folder: str | None) -> Iterator[Looked]:
    """What one pipeline showed, given everything that was printed. Files its words name count as asked for."""
    first, *rest = pipeline
    # What went to a file was not shown; the names of the command still count as asked for.
    if (rest and rest[-1].into) or (first.into and not rest):
        output = []
    if first.name in _GREPS or first.words[:2] == ["git", "grep"]:
        yield from _find_hits(first, rest, output, folder)
    elif first.name in _LISTS or first.words[:2] == ["git", "ls-files"]:
        yield from bare_paths(output, folder)
    elif first.name in _MENTIONS:
        yield from (Looked(FileRef(word, folder), asked=True) for word in _operands(first) if "." in word)
    elif reader := _READERS.get(first.name):
        for stream in reader(first, folder):
            yield from _run_rest(stream, rest, output)


def _run_rest(stream: _Stream, rest: Pipeline, output: Lines) -> Iterator[Looked]:
    for command in rest:
        stream = _filter(stream, command)
    # All commands of a script share one output, so an empty one means that nothing of this file arrived.
    if stream.silent or not output:
        yield Looked(stream.ref, asked=True)
        return
    if stream.counted:
        numbered = {int(match[1]): match[2] for line in output if (match := _TAB_NUMBER.fullmatch(line))}
        yield Looked(stream.ref, numbered=numbered or None, asked=True)
    else:
        yield Looked(stream.ref, span=stream.span, shown=output, asked=True)


def _filter(stream: _Stream, command: Command) -> _Stream:
    """A file's lines after one more command of the pipeline."""
    spans = _sed_spans(command) or [] if command.name == "sed" else []
    narrower = spans[0] if len(spans) == 1 else _ends_span(command) if command.name in ("head", "tail") else None
    if narrower is not None:
        return replace(stream, span=narrow_span(stream.span, narrower) if stream.span else None)
    if command.name in ("cat", "less", "more", "bat"):
        return replace(stream, counted=stream.counted or "-n" in command.words)
    if command.name == "nl":
        return replace(stream, counted=True)
    if command.name in _GREPS and "-c" not in command.words:
        # `grep -n` counts the lines it reads: behind `head` they are those of the file only where the file came whole.
        whole = stream.span == WHOLE and _has_flag(command, "n")
        return replace(stream, span=None, counted=stream.counted or whole)
    return replace(stream, span=None, silent=stream.silent or command.name in _QUIET)


def narrow_span(outer: LineSpan, inner: LineSpan) -> LineSpan | None:
    """Lines `inner` of what lines `outer` of a file are; None where only the file's length could tell."""
    if outer == WHOLE:
        return inner
    # A span from the end, cut again, depends on the length of the file.
    if outer.first < 0 or inner.first < 0:
        return None
    first = outer.first + inner.first - 1
    last = outer.first + inner.last - 1 if inner.last else outer.last
    return LineSpan(first, min(last, outer.last) if outer.last else last)


def _cat(command: Command, folder: str | None) -> Iterator[_Stream]:
    counted = command.name == "nl" or (command.name == "cat" and _has_flag(command, "n"))
    span: LineSpan | None = _ends_span(command) if command.name in ("head", "tail") else WHOLE
    lines = re.fullmatch(r"(\d{0,9}):(\d{0,9})", _value(command, "-r", "--line-range") or "")
    if command.name == "bat" and lines:
        span = LineSpan(int(lines[1] or 1), int(lines[2] or 0))
    yield from (_Stream(FileRef(word, folder), span, counted) for word in _operands(command))


def _sed_streams(command: Command, folder: str | None) -> Iterator[_Stream]:
    # An edit in place prints nothing; it is an event of its own.
    if any(word.startswith(("-i", "--in-place")) for word in command.words):
        return
    spans = _sed_spans(command)
    scripted = _value(command, "-e", "-f") is not None
    # The first operand is the script, unless `-e` or `-f` gave it.
    for word in _operands(command)[0 if scripted else 1 :]:
        yield from (_Stream(FileRef(word, folder), span) for span in spans or (None,))


def _awk(command: Command, folder: str | None) -> Iterator[_Stream]:
    operands = _operands(command)
    counted = bool(operands) and bool(re.search(r"print\w*[ (][^}]*\bF?NR\b", operands[0]))
    yield from (_Stream(FileRef(word, folder), None, counted) for word in operands[1:])


def _git(command: Command, folder: str | None) -> Iterator[_Stream]:
    """`git show REV:path` prints a file as another commit has it: its lines are looked up."""
    if command.words[1:2] == ["show"]:
        for word in command.words[2:]:
            revision, colon, path = word.partition(":")
            if colon and path and not revision.startswith("-"):
                yield _Stream(FileRef(path, None), None)


def _find_hits(first: Command, rest: Pipeline, output: Lines, folder: str | None) -> Iterator[Looked]:
    if any(command.name in _QUIET for command in rest):
        return
    operands = _operands(first)[1 if first.words[:2] == ["git", "grep"] else 0 :]
    files = operands if _value(first, "-e", "-f") else operands[1:]
    # A folder or a pattern may hold many files, and then grep prints their names.
    one = files[0] if len(files) == 1 and "." in files[0].rsplit("/", 1)[-1].strip(".") else None
    if one and _GLOB.search(one):
        one = None
    if _has_flag(first, "l") or "--files" in first.words or "--files-with-matches" in first.words:
        yield from bare_paths(output, folder)
    elif one and not _has_flag(first, "H"):
        ref = FileRef(one, folder)
        yield Looked(ref, asked=True)
        if _has_flag(first, "n") or "--line-number" in first.words:
            yield from numbered_of_one(output, ref)
        elif not _has_flag(first, "c"):
            yield Looked(ref, shown=output)
    elif not _has_flag(first, "c"):
        yield from list(numbered_by_path(output, folder)) or shown_by_path(output, folder)


def _ends_span(command: Command) -> LineSpan | None:
    """The lines that `head` or `tail` lets through; None where it counts bytes."""
    if _value(command, "-c") is not None:
        return None
    if command.name == "head":
        number = _count(command)
        return LineSpan(1, number) if number > 0 else None
    asked = _value(command, "-n") or next((word for word in command.words[1:] if word.startswith("+")), "")
    if asked.startswith("+") and asked[1:].isdecimal():
        return LineSpan(max(1, int(asked[1:][:MOST_DIGITS])), 0)
    return LineSpan(-_count(command), 0)


def _count(command: Command) -> int:
    """The number of `-n 5`, `-n5`, `-5` or `--lines=5`; 10 where none is given."""
    for at, word in enumerate(command.words[1:], start=1):
        if match := re.fullmatch(r"-(?:n|-lines=)?(\d{1,9})\d*", word):
            return int(match[1])
        if word in ("-n", "--lines") and at + 1 < len(command.words):
            digits = command.words[at + 1].lstrip("+-")
            return int(digits[:MOST_DIGITS]) if digits.isdecimal() else 10
    return 10


def _sed_spans(command: Command) -> list[LineSpan] | None:
    """The spans of `sed -n 'a,bp;c,dp'`; None for a script that does anything else."""
    if not _has_flag(command, "n"):
        return None
    scripts = [script for word, script in pairwise(command.words) if word == "-e"]
    scripts = scripts or _operands(command)[:1]
    spans: list[LineSpan] = []
    for part in (part.strip() for script in scripts for part in script.split(";")):
        match = _SED_PRINT.fullmatch(part)
        # `10q` ends the printing early and prints no other line than the spans say.
        if match is None and part and not re.fullmatch(r"\d*q", part):
            return None
        if match:
            first, last = int(match[1]), match[2]
            end = first + int(last[1:]) if last and last[0] == "+" else 0 if last == "$" else int(last or first)
            spans.append(LineSpan(first, end))
    return spans


def _operands(command: Command) -> list[str]:
    """The words that are no options and no values of options."""
    name = command.name if command.name in _VALUED else "grep" if command.name in _GREPS else ""
    valued = _VALUED.get(name, ())
    results: list[str] = []
    skip = False
    for word in command.words[1:]:
        if skip:
            skip = False
        elif word in valued:
            skip = True
        elif not word.startswith("-") or word == "-":
            results.append(word)
    return [word for word in results if word and not (name == "tail" and word.startswith("+"))]


def _value(command: Command, *options: str) -> str | None:
    following = (value for word, value in pairwise(command.words) if word in options)
    joined = (word[2:] for word in command.words for option in options if re.fullmatch(rf"{option}\+?\d+", word))
    return next(chain(following, joined), None)


def _has_flag(command: Command, flag: str) -> bool:
    """A short option, alone or among others: `-rn` has `n`."""
    return any(re.fullmatch(r"-[A-Za-z]+\d*", word) and flag in word[1:] for word in command.words[1:])


_READERS: dict[str, Callable[[Command, str | None], Iterator[_Stream]]] = {
    **dict.fromkeys(("cat", "bat", "less", "more", "nl", "head", "tail"), _cat),
    **dict.fromkeys(("awk", "gawk"), _awk),
    "sed": _sed_streams,
    "git": _git,
}

# Words that may stand before a command and change nothing about what it reads.
_PREFIXES = ("do", "then", "else", "sudo", "time", "command", "env", "exec", "!", "{", "if", "while")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_DIFFS = (["git", "diff"], ["git", "show"], ["git", "log"])
_COMMIT_LINE = re.compile(r"^\[(?P<branch>.+?) (?:\(root-commit\) )?(?P<id>[0-9a-f]{7,40})\] (?P<subject>.*)$", re.M)
# Programs that change the files they name, and the option that makes them do so; "": always.
_IN_PLACE = {
    **dict.fromkeys(("gofmt", "goimports", "gofumpt"), "-w"),
    **dict.fromkeys(("sed", "perl"), "-i"),
    **dict.fromkeys(("black", "rm", "touch"), ""),
    "prettier": "--write",
}
_MERGED = ("Merge made by", "Fast-forward", "Squash commit")


def shell_events(script: str, output: str, cwd: str | None) -> Iterator[Event]:
    """The events of one call, in the order of its commands. An error's text shows no file, so it needs no exception."""
    lines = text_lines(output)
    folder = cwd
    for pipeline in read_script(script):
        commands: list[Command] = []
        for command in pipeline:
            # Without keywords of the shell and variables set for the command.
            words = list(dropwhile(lambda word: word in _PREFIXES or _ASSIGNMENT.match(word), command.words))
            if words or command.document:
                commands.append(replace(command, words=words))
        if not commands:
            continue
        first = commands[0]
        # A `cd` holds for the rest of the script; a subshell is not told apart from it.
        if first.name == "cd":
            target = first.words[1] if len(first.words) > 1 else "~"
            # A folder that only the machine of the session knows: paths from here on are relative to nothing.
            folder = None if target.startswith(("~", "$", "-")) else join_path(folder, target)
            continue
        yield from looked_at(commands, lines, folder)
        words = [word for word in first.words if not word.startswith("-")]
        # A diff that goes to a file was not shown.
        if (words[:2] in _DIFFS or words[:3] == ["gh", "pr", "diff"]) and not commands[-1].into:
            yield from shown_in_diff(lines)
        for command in commands:
            yield from _changes(command, folder)
        yield from _commits(first, output, lines)


@lru_cache(maxsize=65536)
def join_path(folder: str | None, path: str) -> str:
    """A path from a folder on, `.` and `..` resolved as far as the text alone tells."""
    return normpath(join(folder, path) if folder else path)


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
            if not _COMMIT_LINE.search(output) and not _has_failed(lines):
                yield Committed()
        elif words[1:2] in (["cherry-pick"], ["revert"]):
            yield from (Committed(match["id"], match["subject"]) for match in _COMMIT_LINE.finditer(output))
        elif words[1:2] == ["merge"] and any(line.startswith(_MERGED) for line in lines):
            yield Committed(merge=True)
    elif words[:3] == ["gh", "pr", "merge"] and not _has_failed(lines):
        number = re.search(r"#(\d+)|/pull/(\d+)", " ".join([*words[3:4], output]))
        named = words[3] if len(words) > 3 and words[3].isdigit() else None
        yield Committed(merge=True, pull_request=named or (number and (number[1] or number[2])) or None)


def _has_failed(lines: Lines) -> bool:
    bad = ("Exit code", "error:", "fatal:", "nothing to commit", "no changes added", "On branch", "hint:", "X ")
    return any(line.startswith(bad) for line in lines)
