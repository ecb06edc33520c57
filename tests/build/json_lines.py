"""Lines of JSON as nobody sane writes them, and some that are none: what readers of lines are tried on.

    python -m tests.build.json_lines 60    # a minute of new lines; any difference between the implementations ends it

All from a seeded generator, so that a failure has a number.
"""

import itertools
import random
import sys
import time

from evergold.build import lines, lines_reference
from evergold.build.lines import Recipe

OUTER = (b"id", b"text", b"list", "é\\n".encode(), b"rag")
INNER = (b"text", b"list", b"objects", b"x")
_SPACES = ("", "", "", " ", "\t", "  ")
_NUMBERS = ("0", "-0", "1", "-12.50", "1e5", "1E+400", "0.10e-7", "9" * 50, "-")
_ODD_NUMBERS = ("01", "1.", ".5", "+1", "1e", "NaN", "-Infinity", "0x1", "--1", "1e+", "2.e3")
_WORDS = ("true", "false", "null")
_CHARACTERS = "a Z0[1]{},:/\u007f\u00a0éß\u2003\u2028\u3000東\ud7ff\ue000\uffff😀\U0010ffff"
_ESCAPES = (*(f"\\{letter}" for letter in '"\\/bfnrt'), "\\u0020", "\\u00e9", "\\u3000", "\\ud83d\\ude00", "\\u005c")
_ODD_ESCAPES = ("\\ud800", "\\udc00", "\\ud800\\u0041", "\\x41", "\\u12g4", "\\u-123", "\\", "\x01", "\x00", "\\u00")
_ODD_BYTES = (
    b"\xff",
    b"\xc0\x80",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xe2\x80",
    b"\x80",
    b"\xf0\x80\x80\x80",
    b"\r",
    b"\x0b",
    b"\0",
)


class Writer:
    """Writes JSON by chance; `oddity` is how often a thing is written that JSON does not know."""

    def __init__(self, seed: int, oddity: float = 0.0) -> None:
        self.rng = random.Random(seed)
        self._oddity = oddity

    def _of(self, usual: tuple[str, ...], odd: tuple[str, ...]) -> str:
        return self.rng.choice(odd if self.rng.random() < self._oddity else usual)

    def space(self) -> str:
        return self.rng.choice(_SPACES)

    def text(self) -> str:
        size = self.rng.choice((0, 1, 2, 8, 15, 16, 17, 40))
        inside = [
            self._of(_ESCAPES, _ODD_ESCAPES) if self.rng.random() < 0.2 else self.rng.choice(_CHARACTERS)
            for _ in range(size)
        ]
        return '"' + self.rng.choice(("", "", "[1] ", "[2]", "[", "[x] ")) + "".join(inside) + '"'

    def array(self, depth: int) -> str:
        count = self.rng.choice((0, 1, 2, 3, 6, 256 if depth == 3 and self.rng.random() < 0.05 else 3))
        element = self.rng.choice((self.text, lambda: self.object(depth - 1), lambda: self.value(depth - 1)))
        return "[" + ",".join(self.space() + element() + self.space() for _ in range(count)) + self.space() + "]"

    def object(self, depth: int, keys: tuple[str, ...] | None = None) -> str:
        names = [f'"{key}"' for key in keys] if keys else [self.text() for _ in range(self.rng.randrange(3))]
        return "{" + self.space() + ",".join(self.member(name, depth) for name in names) + "}"

    def member(self, name: str, depth: int) -> str:
        inner = tuple(key.decode() for key in self.rng.sample(INNER, self.rng.randrange(1, len(INNER))))
        is_opened = name == '"rag"' and depth == 3 and self.rng.random() < 0.9
        value = self.object(2, inner) if is_opened else self.value(depth)
        return self.space() + name + self.space() + ":" + self.space() + value + self.space()

    def value(self, depth: int) -> str:
        if depth <= 0 or self.rng.random() < 0.3:
            return self._of(_NUMBERS[:-1] + _WORDS, _ODD_NUMBERS) if self.rng.random() < 0.4 else self.text()
        if self.rng.random() < 0.02:
            return "[" * (deep := self.rng.choice((60, 63, 64, 65, 70, 2000))) + "]" * deep
        return self.array(depth) if self.rng.random() < 0.6 else self.object(depth)

    def line(self) -> bytes:
        keys = [key.decode() for key in self.rng.sample(OUTER, self.rng.randrange(1, len(OUTER) + 1))]
        if self.rng.random() < self._oddity:
            keys.append(self.rng.choice([*keys, "unknown", "\\u0069d"]))
        line = (self.space() + self.object(3, tuple(keys)) + self.space()).encode()
        while self.rng.random() < 3 * self._oddity:
            line = self._tampered(line)
        return line

    def _tampered(self, line: bytes) -> bytes:
        start = self.rng.randrange(len(line) + 1)
        end = min(len(line), start + self.rng.choice((0, 0, 1, 2, 9)))
        there = line[self.rng.randrange(len(line) + 1) :][:5]
        return line[:start] + self.rng.choice((b"", there, b'"', b"\\", b"]", b"}", b",", *_ODD_BYTES)) + line[end:]

    def block(self) -> bytes:
        written = [self.line() for _ in range(self.rng.randrange(6))]
        return b"".join(line + self.rng.choice((b"\n", b"\n", b"\r\n", b"\n\n")) for line in written) + self.rng.choice(
            (b"", b"", *written)
        )

    def recipes(self, makes: list[bytes | None]) -> tuple[Recipe | None, ...]:
        """For each line something that can be written of it."""
        return tuple(self._recipe(make) for make in makes)

    def _recipe(self, make: bytes | None) -> Recipe | None:
        if make is None:
            return self.rng.choice((None, b"careful\n"))
        kinds = make[::2]
        places = [place for place in range(len(kinds)) if kinds[place]]
        bare = [~place for place in places if kinds[place : place + 1] == b"B"]
        chosen = self.rng.choices([*places, *bare], k=self.rng.randrange(4))
        return tuple(itertools.chain.from_iterable((b"<", place, b">") for place in chosen))


def difference(seed: int, oddity: float) -> str | None:
    """What the two implementations see differently in the lines of this seed, if anything."""
    writer = Writer(seed, oddity)
    block = writer.block()
    table, makes = lines.survey(block, OUTER, INNER)
    reference, known = lines_reference.survey(block, OUTER, INNER)
    if len(makes) != len(known) or any(ours not in (None, theirs) for ours, theirs in zip(makes, known, strict=True)):
        return f"seed {seed}: {makes} for {known} of {block!r}"
    values = [
        [value if make else None for make, value in zip(makes, values, strict=True)]
        for place in range(len(OUTER) + len(INNER))
        if (values := lines_reference.pick(reference, place)) is not None
    ]
    if [lines.pick(table, place) for place in range(len(values))] != values:
        return f"seed {seed}: other values of {block!r}"
    recipes = writer.recipes(makes)
    if lines.weave(table, recipes) != lines_reference.weave(reference, recipes):
        return f"seed {seed}: {recipes} written otherwise from {block!r}"
    return None


def main() -> None:
    end = time.monotonic() + float(sys.argv[1])
    seed = first = time.time_ns()
    while time.monotonic() < end:
        seed += 1
        if problem := difference(seed, (seed % 4) / 20):
            sys.exit(problem)
    print(f"{seed - first} blocks read alike by {lines.IMPLEMENTATION} and python")


if __name__ == "__main__":
    main()
