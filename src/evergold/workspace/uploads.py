"""The facade of files that come through the browser: traces or cases of any text format, and the sample data."""

import re
import tempfile
from datetime import date, timedelta
from importlib.resources import files
from io import BytesIO
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from evergold.errors import BadInput, TooLarge
from evergold.machine import open_file
from evergold.model.case_actions import Upload, Uploaded, UploadOf
from evergold.model.operations import IngestReport

if TYPE_CHECKING:
    from evergold.workspace import Workspace

DAY = re.compile(r"\b20\d\d-\d\d-\d\d(?=T)")
SHOWN = 5
MOST_LINES = 200_000  # half a minute or so; a file of the largest size has as many traces of 160 characters
FLAG = re.compile(r"; name one with --\w+")
TEMPORARY = re.compile(r"\S*/upload(\.\w{1,8})?(?=[:\s])")
SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,8}")


def recent_samples() -> str:
    """Give the lines of the sample traces as if they had happened in the last two weeks."""
    lines = (files("evergold") / "samples" / "traces.jsonl").read_text(encoding="utf-8")
    # Shifted by whole days, so that hours of the day keep their shape in the charts.
    shift = date.today() - timedelta(days=1) - date.fromisoformat(max(DAY.findall(lines)))
    return DAY.sub(lambda match: (date.fromisoformat(match[0]) + shift).isoformat(), lines)


class Uploads:
    """Reads what a person drops into a page."""

    def __init__(self, workspace: "Workspace") -> None:
        self._workspace = workspace

    def take(self, upload: Upload, who: str) -> Uploaded:
        """Read a file of traces or of cases; what could not be read is named, the rest is stored."""
        try:
            return self._store(upload, who)
        except BadInput as problem:
            # As the page shows it: by the name that the file has there, and without an option of the command line.
            message = TEMPORARY.sub(lambda _: upload.name, FLAG.sub("", problem.message))
            raise type(problem)(message) from problem

    def _store(self, upload: Upload, who: str) -> Uploaded:
        lines = upload.text.count("\n")
        # A line of two characters takes as long to be refused as a good one to be stored.
        if lines > MOST_LINES:
            raise TooLarge(f"{upload.name} has {lines} lines; at most {MOST_LINES} come through a page: split the file")
        if upload.of is UploadOf.TRACES:
            return self._curate_traces(self._workspace.intake.ingest([BytesIO(upload.text.encode())]))
        with tempfile.TemporaryDirectory() as folder:
            # Formats are recognised by content; the ending helps for
            # packed files, and nothing else of the name is used.
            suffix = PurePath(upload.name).suffix
            file = Path(folder) / f"upload{suffix if SUFFIX.fullmatch(suffix) else ''}"
            with open_file(file, "wb") as copy:
                copy.write(upload.text.encode())
            result, rejected = self._workspace.cases.import_file(file, dataset=upload.dataset or None, who=who)
        problems = [str(one).replace(str(file), upload.name) for one in rejected]
        stored = result.added + result.changed + result.unchanged
        refused = sum(not one.is_note for one in rejected)
        return Uploaded(of=upload.of, stored=stored, rejected=refused, problems=problems[:SHOWN])

    def sample(self) -> Uploaded:
        """Store the sample traces, as if they had happened in the last two weeks, and curate them."""
        return self._curate_traces(self._workspace.intake.ingest([BytesIO(recent_samples().encode())]))

    def _curate_traces(self, report: IngestReport) -> Uploaded:
        if self._workspace.live.background() is None:  # else it does so at once, and nobody waits for it
            self._workspace.live.curate()
        return Uploaded(
            of=UploadOf.TRACES, stored=report.traces, rejected=report.rejected, problems=report.problems[:SHOWN]
        )
