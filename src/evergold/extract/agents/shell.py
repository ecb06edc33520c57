"""A line of shell → the commands in it, with their words, pipes and here-documents.

Only as much of the shell as reading needs: quotes, escapes, `|`, `&&`, `||`, `;`, `&`, line ends, brackets, redirections and
here-documents. Nothing is expanded: a word with a variable or a substitution in it is kept as it stands.
"""

from dataclasses import dataclass, field

# Longer operators first: `&&` must not be read as two `&`.
_OPERATORS = ("&&", "||", ";;", "|&", "|", ";", "&", "(", ")", "\n")
_PIPES = ("|", "|&")


@dataclass
class Command:
    """One simple command. `into` are files its output went to; `document` is its here-document; `piped` says that it reads
    the output of the command before it."""

    words: list[str] = field(default_factory=list)
    into: list[str] = field(default_factory=list)
    document: str | None = None
    piped: bool = False

    @property
    def name(self) -> str:
        return self.words[0].rsplit("/", 1)[-1] if self.words else ""


Pipeline = list[Command]


def pipelines(line: str) -> list[Pipeline]:
    """The pipelines of a line in order; an unclosed quote ends at the end of the line."""
    reader = _Reader(line)
    reader.read()
    return [pipeline for pipeline in reader.pipelines if pipeline]


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.pipelines: list[Pipeline] = [[]]
        self.command = Command()
        self.waiting: list[tuple[Command, str, bool]] = []

    def read(self) -> None:
        while self.at < len(self.text):
            char = self.text[self.at]
            # Here-documents begin on the line after the command that names them, whatever else stands on that line.
            if char == "\n" and self.waiting:
                self._end_command("\n")
                self.at += 1
                self._documents()
            elif operator := next((op for op in _OPERATORS if self.text.startswith(op, self.at)), None):
                self._end_command(operator)
                self.at += len(operator)
            elif char in " \t\r":
                self.at += 1
            elif char == "#" and (self.at == 0 or self.text[self.at - 1].isspace()):
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            elif self._redirection():
                continue
            else:
                self.command.words.append(self._word())
        self._end_command(";")

    def _end_command(self, operator: str) -> None:
        if self.command.words or self.command.document is not None:
            self.pipelines[-1].append(self.command)
        # Only a command that exists can feed a pipe.
        self.command = Command(piped=operator in _PIPES and bool(self.command.words))
        if operator not in _PIPES:
            self.pipelines.append([])

    def _redirection(self) -> bool:
        """`>`, `>>`, `<`, `<<`, `2>&1` and the like; True where one was read."""
        start = self.at
        # `2>` names a file descriptor. Digits that no sign follows are an ordinary word, and the position is set back.
        while self.at < len(self.text) and self.text[self.at].isdigit():
            self.at += 1
        if self.at >= len(self.text) or self.text[self.at] not in "<>":
            self.at = start
            return False
        sign = self.text[self.at]
        number = self.text[start : self.at]
        run = len(self.text[self.at :]) - len(self.text[self.at :].lstrip(sign))
        self.at += run
        if sign == "<" and run == 2:
            indented = self.text.startswith("-", self.at)
            self.at += indented
            self._skip_blanks()
            # The command of now is kept: others may follow on the same line before its document begins.
            self.waiting.append((self.command, self._word(), indented))
            return True
        if self.text.startswith(("&", "|"), self.at):
            self.at += 1
        self._skip_blanks()
        target = self._word()
        # Standard output alone shows lines; what went to a file or to /dev/null was not seen by the agent.
        if sign == ">" and number in ("", "1") and not target.isdigit() and target != "/dev/null":
            self.command.into.append(target)
        elif sign == "<" and run == 1 and target:
            self.command.words.append(target)
        return True

    def _skip_blanks(self) -> None:
        while self.at < len(self.text) and self.text[self.at] in " \t":
            self.at += 1

    def _documents(self) -> None:
        """The here-documents that begin on this line, one after the other."""
        for command, mark, indented in self.waiting:
            lines: list[str] = []
            while self.at < len(self.text):
                end = self.text.find("\n", self.at)
                end = len(self.text) if end < 0 else end
                line = self.text[self.at : end]
                self.at = end + 1
                if (line.lstrip("\t") if indented else line).rstrip("\r") == mark:
                    break
                lines.append(line.lstrip("\t") if indented else line)
            command.document = "".join(f"{line}\n" for line in lines)
        self.waiting = []
        # A document that is cut off ends with the text.
        self.at = min(self.at, len(self.text))

    def _word(self) -> str:
        parts: list[str] = []
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in " \t\r\n|&;()<>":
                break
            if char == "'":
                parts.append(self._quoted("'"))
            elif char == '"':
                parts.append(self._double())
            elif char == "\\":
                following = self.text[self.at + 1 : self.at + 2]
                # A backslash at the end of a line joins it with the next.
                parts.append("" if following == "\n" else following)
                self.at += 2
            elif self.text.startswith("$(", self.at):
                parts.append(self._substitution())
            elif char == "`":
                parts.append("`" + self._quoted("`") + "`")
            else:
                parts.append(char)
                self.at += 1
        return "".join(parts)

    def _quoted(self, mark: str) -> str:
        end = self.text.find(mark, self.at + 1)
        end = len(self.text) if end < 0 else end
        inside = self.text[self.at + 1 : end]
        self.at = end + 1
        return inside

    def _double(self) -> str:
        self.at += 1
        parts: list[str] = []
        while self.at < len(self.text) and self.text[self.at] != '"':
            if self.text[self.at] == "\\" and self.text[self.at + 1 : self.at + 2] in ('"', "\\", "$", "`", "\n"):
                parts.append(self.text[self.at + 1].replace("\n", ""))
                self.at += 2
            elif self.text.startswith("$(", self.at):
                parts.append(self._substitution())
            else:
                parts.append(self.text[self.at])
                self.at += 1
        self.at += 1
        return "".join(parts)

    def _substitution(self) -> str:
        """`$( … )` as it stands, up to the bracket that closes it."""
        start, depth = self.at, 0
        while self.at < len(self.text):
            char = self.text[self.at]
            depth += (char == "(") - (char == ")")
            self.at += 1
            if char == ")" and depth == 0:
                break
        return self.text[start : self.at]
