"""What is installed here: `evergold --version` prints it and loads no stage for it."""

from importlib.metadata import version

from evergold.build.lines import IMPLEMENTATION


def installed_version() -> str:
    """The version, and whether the RAG builder is compiled, or in Python where no compiler was at hand."""
    return f"{version('evergold')} (RAG builder: {IMPLEMENTATION})"
