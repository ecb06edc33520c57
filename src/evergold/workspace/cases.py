"""Cases: list, show, tag, edit by hand, export and import."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from evergold import plugins
from evergold.errors import BadInput, describe_unknown
from evergold.formats.columns import begins_with_question
from evergold.formats.parts import CasesPart, WrittenPart, count_written, require_joinable, write_joined
from evergold.model.case import Case, CaseKind, Origin
from evergold.model.faults import Rejected
from evergold.model.flow import CodeChange
from evergold.review.questions import with_answers, without_answers
from evergold.seams import Format
from evergold.settings import Settings
from evergold.sources.jsonl import CASE_SIGNS, describe_head, describe_nothing
from evergold.spread import spread_here, spread_over
from evergold.storage import file_name, open_read
from evergold.storage.compression import CHUNK, note_on
from evergold.store import Store, make_reader, make_writer
from evergold.store.case.builds import require_dataset
from evergold.store.case.cases import (
    CaseFilter,
    candidates_beside,
    case_facets,
    case_ids,
    count_cases,
    entry_ids,
    failed_answers,
    get_case,
    iterate_cases,
    page_of_cases,
    revisions_of,
)
from evergold.store.case.questions import answers_to
from evergold.store.case.writes import Author, PutResult, put_cases, revise_case
from evergold.store.database.rows import batches
from evergold.store.facts import Portion

SNIFF = 64 * 1024  # bytes of a file that are read to recognise its format; a longer first line is read whole
LONGEST_LINE = 64 << 20
AT_ONCE = 500  # cases of a transaction, at most


class Cases:
    def __init__(self, store: Store, settings: Settings | None = None) -> None:
        self._store, self._settings = store, settings

    page = make_reader(page_of_cases)
    facets = make_reader(case_facets)
    count = make_reader(count_cases)
    candidates_beside = make_reader(candidates_beside)
    get = make_reader(get_case)
    history = make_reader(revisions_of)
    ids = make_reader(case_ids)
    require_dataset = make_reader(require_dataset)
    revise = make_writer(revise_case)

    def iterate(self, wanted: CaseFilter, *, oldest_first: bool = True) -> Iterator[Case]:
        with self._store.db.read() as connection:
            yield from iterate_cases(connection, wanted, oldest_first=oldest_first)

    def put(self, cases: Iterable[Case], author: Author | None = None) -> PutResult:
        return self._store.write(put_cases, list(cases), author or Author())

    def tag(self, dataset: str, case_id: str, *, add: Iterable[str] = (), remove: Iterable[str] = (), who: str) -> Case:
        case = self.get(dataset, case_id)
        tags = tuple(sorted((set(case.tags) | set(add)) - set(remove)))
        return self.revise(case.model_copy(update={"tags": tags}), Author(who=who, action="tagged"))

    def export(
        self,
        wanted: CaseFilter,
        format_name: str,
        path: Path,
        *,
        limit: int | None = None,
        cluster: str | None = None,
        **options: Any,
    ) -> int:
        """Write the cases as `format_name`, newest first; the limit counts what passed the filter. Returns how many.

        `unheld`, a counter, gets the fields that the format has no place of its own for: field → cases that have it; `evidence`
        what the lines of a training file rest on. No training file has an answer that is held as a failure of the same question.
        With the address of a Dask cluster its workers write parts of the file, which are joined here.
        """
        chosen: Format = plugins.load("formats", format_name)
        rejected: list[Rejected] = options.setdefault("rejected", [])
        counters = {name: options.pop(name, Counter()) for name in ("unheld", "evidence")}
        total = WrittenPart(rejected=rejected, **counters)
        # The limit is applied after the filter and before the format, which may leave cases out.
        chosen_cases: Iterator[Case] = islice(self._with_answers(self.iterate(wanted, oldest_first=False)), limit)
        if getattr(chosen, "trains", False):
            chosen_cases = self._without_failed_answers(chosen_cases, rejected)
        numbered = getattr(chosen, "numbered", False)
        if cluster is not None:
            require_joinable(format_name)
            parts = (CasesPart(batch, self._numbers(batch) if numbered else None) for batch in batches(chosen_cases))
            with spread_over(cluster) as spread:
                return write_joined(spread or spread_here, format_name, parts, path, total)
        if numbered:
            options["numbers"] = self._numbers
        if getattr(chosen, "needs_changes", False):
            options["change_of"] = self._change_of
        with plugins.name_culprit("formats", format_name):
            return chosen.write(count_written(chosen_cases, chosen, total), path, **options)

    def _without_failed_answers(self, cases: Iterable[Case], rejected: list[Rejected]) -> Iterator[Case]:
        """Leave out cases whose right answer is held as a failure of the same question elsewhere, unless a person wrote it."""
        failed = self._store.read(failed_answers)
        for case in cases:
            reference = case.reference()
            spoken = reference is not None and reference.origin is not Origin.PERSON
            if reference is not None and spoken and hash((case.input, reference.text)) in failed:
                reason = (
                    "the same answer to the same question is held as a failure; decide in review which of them is right"
                )
                rejected.append(Rejected(where=f"{case.dataset}/{case.id}", reason=reason))
            else:
                yield case

    def export_to_file(self, wanted: CaseFilter, format_name: str) -> Path:
        """Write the cases into a file of a new folder, which the caller deletes."""
        if format_name not in self.file_formats():
            raise BadInput(describe_unknown("format", format_name, self.file_formats()))
        # A folder of its own: the name of the file may be the same for two requests at once.
        folder = Path(mkdtemp(prefix="evergold-export-"))
        path = folder / (file_name(wanted.dataset or "cases") + self.suffix_of(format_name))
        self.export(wanted, format_name, path)
        return path

    def file_formats(self) -> list[str]:
        """The formats that are one file of cases."""
        return [name for name, made in plugins.load_all("formats", plugins.names("formats")).items() if made.suffix]

    def _with_answers(self, cases: Iterator[Case]) -> Iterator[Case]:
        """Give each case the answers of its reviewers, a batch of cases at a time."""
        for batch in batches(cases):
            answers = self._store.read(answers_to, [(case.dataset, case.id) for case in batch])
            for case in batch:
                yield with_answers(case, answers.get((case.dataset, case.id), ()))

    def _numbers(self, cases: Sequence[Case]) -> dict[tuple[str, str], int]:
        """The integers by which SQL knows these cases."""
        return self._store.read(entry_ids, [(case.dataset, case.id) for case in cases])

    def suffix_of(self, format_name: str) -> str:
        suffix: str = plugins.factory("formats", format_name).suffix
        return suffix

    def import_file(
        self,
        path: Path,
        *,
        format_name: str | None = None,
        dataset: str | None = None,
        who: str = "system",
        repo_dir: Path | None = None,
    ) -> tuple[PutResult, list[Rejected]]:
        """Read cases of any known format into the store; what could not be read is returned, not lost.

        Base commits of context cases are proved against `repo_dir`, or the repository of the settings.
        """
        if not path.exists():
            raise BadInput(f"no file {str(path)!r} to import")
        name = format_name or _recognise(path)
        reader: Format = plugins.load("formats", name)
        # Read twice: a file that cannot be read to its end changes nothing, though it is stored in short transactions.
        rejected, left_out = _check(_read(name, reader, path), dataset, path)
        # Answers of reviewers travel in exports for reading; they are not part of a case's content.
        cases = (
            without_answers(item)
            for number, item in enumerate(_read(name, reader, path), 1)
            if not isinstance(item, Rejected) and number not in left_out
        )
        author = Author(who=who, action="imported", why=f"{name} file {path.name}")
        total, portion = PutResult(), Portion(AT_ONCE)
        for batch in portion.of(cases):
            named = [case if dataset is None else case.model_copy(update={"dataset": dataset}) for case in batch]
            named, disproved = self._settle(named, repo_dir)
            rejected += [Rejected(where=path.name, reason=f"{problem}; stored unvalidated") for problem in disproved]
            total.add(self._store.db.write(portion.time_work(partial(put_cases, cases=named, author=author))))
        return total, rejected

    def _change_of(self, case: Case) -> CodeChange:
        """The change of a context case, from the repository and the flows of the settings."""
        from evergold.extract.evidence import EvidenceRoom

        return EvidenceRoom(self._store, self._settings).change_of(case) if self._settings else CodeChange()

    def read_file(self, path: Path) -> list[Case]:
        """Read the cases of a file of any known format, without storing them; a record that cannot be read is an error."""
        name = _recognise(path)
        items = list(_read(name, plugins.load("formats", name), path))
        for item in items:
            if isinstance(item, Rejected) and not item.is_note:
                raise BadInput(f"{path}: {item}")
        return [item for item in items if isinstance(item, Case)]

    def _settle(self, cases: list[Case], repo_dir: Path | None) -> tuple[list[Case], list[str]]:
        """Prove the bases of rows that come validated or with their change, as review does."""
        settings = self._settings
        if settings is None or all(one.kind is not CaseKind.CONTEXT for one in cases):
            return cases, []
        from evergold.extract.evidence import BaseCommits, EvidenceRoom

        settings = replace(settings, review_repo_dir=repo_dir) if repo_dir else settings
        return BaseCommits(settings).settle_rows(cases, EvidenceRoom(self._store, settings).change_of)


def _check(items: Iterable[Case | Rejected], dataset: str | None, path: Path) -> tuple[list[Rejected], set[int]]:
    """What a file has that becomes no case, and the numbers of those records whose id an earlier one has."""
    known: dict[tuple[str, str], tuple[int, str]] = {}
    rejected, left_out = list[Rejected](), set[int]()
    for number, item in enumerate(items, 1):
        if isinstance(item, Rejected):
            rejected.append(item)
            continue
        first, rev = known.setdefault((dataset or item.dataset, item.id), (number, item.rev()))
        if first != number:
            left_out.add(number)
            where = f"{path.name}: record {number}"
            if rev == item.rev():
                rejected.append(Rejected(where=where, reason=f"says the same as record {first}", is_note=True))
            else:
                reason = f"record {first} has {item.id!r} too, with other content; the first is kept"
                rejected.append(Rejected(where=where, field="id", reason=reason))
    if path.is_file():
        with open_read(path) as handle:
            while handle.read(CHUNK):  # what was done to the text is known at its end
                pass
            note = note_on(handle)
        rejected += [Rejected(where=path.name, reason=note, is_note=True)] if note else []
    return rejected, left_out


def _read(name: str, reader: Format, path: Path) -> Iterator[Case | Rejected]:
    try:
        with plugins.name_culprit("formats", name):
            yield from reader.read(path)
    except OSError as problem:
        raise BadInput(f"cannot read {path}: {problem.strerror or problem}") from problem


def _recognise(path: Path) -> str:
    """By the beginning of a file; of a folder, by its card."""
    readme = path / "README.md" if path.is_dir() else path
    head = b""
    if readme.is_file():
        with open_read(readme) as handle:
            head = handle.read(SNIFF)
            # One line may be larger than what is looked at; formats of one JSON object need it whole.
            if b"\n" not in head:
                head += handle.readline(LONGEST_LINE)
    for name, candidate in plugins.load_all("formats", plugins.names("formats")).items():
        # The first format that accepts wins; plugins are listed in a fixed order.
        if plugins.try_call("formats", name, partial(candidate.accepts, head), False):
            return name
    if begins_with_question(head):
        return "parquet"  # which reads the rows of any table, CSV and JSON too
    if path.is_dir():
        raise BadInput(f"{path} is a folder without a card (README.md) that names its data; name the files in it")
    if nothing := describe_nothing(head):
        raise BadInput(f"{path}: {nothing}, so there is nothing to import")
    known = ", ".join(plugins.names("formats"))
    looks = describe_head(head, CASE_SIGNS)
    raise BadInput(f"{path}: none of the known formats ({known}): {looks}; name one with --format")
