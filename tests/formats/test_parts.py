"""Every export by parts is the export by one process: the same files with the same content, also of no cases."""

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from evergold import plugins
from evergold.errors import BadInput
from evergold.formats.parts import CasesPart, WrittenPart, require_joinable, write_joined
from evergold.model.case import Case
from evergold.spread import spread_here
from tests.builders import a_case

# A task file is read whole and holds its number of cases; the others ask the repository for the patches of their cases.
ALONE = {"yaml", "harbor", "swe-bench"}
JOINED = sorted(set(plugins.names("formats")) - ALONE)
TURNS = tuple(
    {"role": role, "content": text}
    for role, text in (("user", "Hello"), ("assistant", "Hi"), ("user", "What is the capital of Peru?"))
)


def cases() -> list[Case]:
    """Cases that fit and some that do not, in two splits, and a conversation in a later part only."""
    plain = [a_case(f"c{number}", dataset="mine", expected="Lima.", output="Lyma.") for number in range(7)]
    plain[2] = plain[2].model_copy(update={"expected": None, "output": None})
    plain[4] = plain[4].model_copy(update={"metadata": {"split": "train"}})
    plain[5] = plain[5].model_copy(update={"messages": TURNS})
    return plain


def parts_of(chosen: list[Case]) -> Iterator[CasesPart]:
    numbers = {(case.dataset, case.id): number for number, case in enumerate(chosen, 1)}
    yield from (CasesPart(chosen[at : at + 2], numbers) for at in range(0, len(chosen), 2))


def content(path: Path) -> object:
    from pyarrow import parquet

    return parquet.read_table(path).to_pylist() if path.suffix == ".parquet" else path.read_bytes()


def contents(folder: Path) -> dict[str, object]:
    return {path.relative_to(folder).as_posix(): content(path) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", JOINED)
@pytest.mark.parametrize("chosen", [cases(), []], ids=["some", "none"])
def test_parts_make_the_same_files(name: str, chosen: list[Case], tmp_path: Path) -> None:
    form = plugins.load("formats", name)
    numbers = {(case.dataset, case.id): number for number, case in enumerate(chosen, 1)}
    total, unfit = WrittenPart(), list[object]()
    whole, joined = (tmp_path / folder / f"mine{form.suffix}" for folder in ("whole", "joined"))
    count = form.write(chosen, whole, rejected=unfit, numbers=lambda _: numbers)
    assert write_joined(spread_here, name, parts_of(chosen), joined, total) == count
    assert contents(joined.parent) == contents(whole.parent)
    assert total.rejected == unfit


def test_what_an_earlier_export_left_beside_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "mine.deepeval.json"
    write_joined(spread_here, "deepeval", parts_of(cases()), path, WrittenPart())
    assert len(contents(tmp_path)) == 2
    write_joined(spread_here, "deepeval", parts_of(cases()[:2]), path, WrittenPart())
    assert list(contents(tmp_path)) == [path.name]


def test_the_joined_file_is_packed_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl.gz"
    write_joined(spread_here, "case-jsonl", parts_of(cases()), path, WrittenPart())
    assert len(gzip.decompress(path.read_bytes()).splitlines()) == len(cases())


def test_a_format_whose_parts_are_no_files_is_refused_with_those_that_are() -> None:
    with pytest.raises(BadInput, match=r"yaml is written by one process.* parquet"):
        require_joinable("yaml")


@pytest.mark.parametrize("name", ["harbor", "swe-bench"])
def test_a_format_that_asks_the_repository_is_refused_to_workers(name: str) -> None:
    with pytest.raises(BadInput, match=rf"{name} is written by one process, since workers do not have the repository"):
        require_joinable(name)
