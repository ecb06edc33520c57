"""Read and write many lines of JSON at once: compiled where a compiler was present at installation, else in Python.

What the three functions do stands at the top of `_lines.c` and, in Python, in `lines_reference.py`.
"""

from typing import TYPE_CHECKING, Any, TypeAlias

Piece: TypeAlias = bytes | int
"""Bytes, a place (its value as it was written), or ~place (its list of texts, numbered)."""
Recipe: TypeAlias = bytes | tuple[Piece, ...]
"""How a new line is made: it is there already, or from pieces."""
Table: TypeAlias = Any
"""The values of surveyed lines; only for the functions of the implementation that made it."""

if TYPE_CHECKING:
    from evergold.build._lines import pick, survey, weave

    IMPLEMENTATION: str
else:
    try:
        from evergold.build._lines import pick, survey, weave

        IMPLEMENTATION = "compiled"
    except ImportError:
        from evergold.build.lines_reference import pick, survey, weave

        IMPLEMENTATION = "python"

__all__ = ["IMPLEMENTATION", "Piece", "Recipe", "Table", "pick", "survey", "weave"]
