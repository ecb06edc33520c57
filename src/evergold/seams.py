"""Every extension point, on one page. A plug-in sees nouns, never the store.

| seam       | entry-point group        | in one sentence                                                        |
|------------|--------------------------|------------------------------------------------------------------------|
| Source     | `evergold.sources`       | a file from outside → traces, spans, scores, corrections               |
| FlowSource | `evergold.flow_sources`  | a log of coding-agent work → flows                                     |
| Redactor   | `evergold.redactors`     | text before storage → text without secrets, and what was taken out     |
| Detector   | `evergold.detectors`     | a user's message → what it remarks on an earlier answer                |
| Check      | `evergold.checks`        | a turn → a score with its reason, or nothing where it does not apply    |
| Tagger     | `evergold.taggers`       | a trace → tags for its case                                            |
| Metric     | `evergold.metrics`       | a case and an attempt → a measurement                                  |
| Judge      | `evergold.judges`        | a question about an answer → a verdict                                 |
| Target     | `evergold.targets`       | a case → an attempt at it                                              |
| Retriever  | `evergold.retrievers`    | a query at a commit → ranked paths and line ranges                     |
| Writer     | `evergold.writers`       | passages of documents → questions, and answers that cite them          |
| Format     | `evergold.formats`       | cases ↔ a file another tool reads                                      |

An entry point names a factory: a class, or a function that returns the object. Built-ins are registered in this
package's own metadata and are loaded the same way (`plugins.py`). How each factory is called:

| group                                    | the factory is called with                                                |
|------------------------------------------|---------------------------------------------------------------------------|
| sources, detectors, taggers, formats     | nothing                                                                   |
| retrievers                               | nothing                                                                   |
| checks                                   | nothing, or the settings where it has a parameter for them                |
| flow_sources                             | a path or None; `atif`: a tuple of paths                                  |
| redactors                                | nothing; `ip_addresses=True` where that setting is on                     |
| metrics                                  | its parameters by name, as written in `name:parameter=value`              |
| judges                                   | the address after the slash (`openai/ADDRESS`; may be empty), the settings |
| targets                                  | the address, the run's parameters (a dict), the settings                  |
| writers                                  | `ask=` and `prompts=`                                                     |

Members marked optional may be left out: they are looked up with `getattr`. `docs/plugins.md` has a package to copy.
"""

from collections.abc import Awaitable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

from evergold.model.case import Case
from evergold.model.check import CheckResult, Turn
from evergold.model.faults import Rejected
from evergold.model.flow import Flow
from evergold.model.generation import Draft, Idea, Passage, WritingTask
from evergold.model.judge import JudgeAnswer, Question
from evergold.model.run import Attempt, Measurement
from evergold.model.trace import Correction, Reaction, ScoreLine, SpanLine, Trace

Incoming = Trace | SpanLine | ScoreLine | Correction | Reaction


class Source(Protocol):
    """Reads one file of traces. `accepts` looks at the first bytes, so that a user need not name the format.

    Optional: `remembers: bool`, true for a source that needs what earlier files of the same call said; it is then read
    where the command runs and not by workers of a cluster.
    """

    def accepts(self, head: bytes) -> bool: ...

    def read(self, lines: Iterable[bytes], name: str) -> Iterator[Incoming | Rejected]: ...


@runtime_checkable
class OfUnits(Protocol):
    """A source of logs that hold several turns: a trace is a whole `task` or each `turn`."""

    def with_unit(self, unit: str) -> Source: ...


class FlowSource(Protocol):
    """Streams flows: one in memory at a time.

    Optional: `readers() -> Sequence[Callable[[], Flow]]`, a function for each flow that reads it where it is called; with
    them the workers of a cluster read the flows.
    """

    def count(self) -> int:
        """How many flows there are, for a progress bar; cheap."""

    def flows(self) -> Iterator[Flow]: ...


class Redactor(Protocol):
    """Takes private things out of one text before it is stored; the counts say what kinds were found.

    Optional: `suspicious(text) -> Iterable[int]`, a quick look at many texts joined into one: the positions near which
    `redact` may find something. It must not miss any; without it every text is redacted.
    """

    def redact(self, text: str) -> tuple[str, dict[str, int]]: ...


class Detector(Protocol):
    """Gives the value a message has as a user's score of the answer before it: 0.0 a correction, below 0.3 a complaint, 0.3
    a doubt, None none of them.

    Optional: `remark(message: UserMessage) -> Remark | None`, which sees the turns before and says which one it is on, of
    what kind the remark is, how probably, and by what evidence; then `detect` is not called.
    """

    def detect(self, message: str, reply: str | None = None) -> float | None: ...


class Check(Protocol):
    """Looks at one turn. `version` changes whenever the same turn could get another result; scores of an old version are
    replaced on backfill. A check may set `source` to `ScoreSource.LLM_JUDGE` where it asks a judge."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    def check(self, turn: Turn) -> CheckResult | None: ...


class Tagger(Protocol):
    """Tags a case takes from its trace."""

    def tags(self, trace: Trace) -> Iterable[str]: ...


class Judge(Protocol):
    """Answers questions about answers. `identity` names model, endpoint and settings; it is recorded with a run.

    `ask` never raises for a failed call: the answer carries the reason. Optional: `async close()`, called at the end.
    """

    @property
    def identity(self) -> str: ...

    async def ask(self, question: Question) -> JudgeAnswer: ...


class Metric(Protocol):
    """A frozen dataclass whose fields are its parameters. One that needs a judge is a `JudgedMetric` instead.

    Raise `version` when the same input can score differently. Optional: `compares: ClassVar[bool]`, true for a metric
    that holds the answer against the case's reference, so that a recorded answer compared with itself is marked;
    `scale: ClassVar[Scale | None]`, its lowest and highest value and which is good (0 to 1, more is better, where none is
    declared; None for a metric without bounds, such as a number of steps).
    """

    version: ClassVar[str]

    def measure(self, case: Case, attempt: Attempt) -> Measurement: ...


class JudgedMetric(Protocol):
    """A metric that needs a judge: having `measure_with` instead of `measure` is what makes it one.

    `prompt_hash` is the hash of its prompts, recorded with a run. Optional: `compares`, as for `Metric`.
    """

    version: ClassVar[str]

    def prompt_hash(self) -> str: ...

    async def measure_with(self, case: Case, attempt: Attempt, judge: Judge) -> Measurement: ...


class Target(Protocol):
    """What is measured. `attempt` never raises for a failed call: the attempt carries the error.

    Optional: `request(case, seed) -> Any`, the whole request as JSON, without which replies are not cached;
    `priced: bool` (default true), false where costs cannot be known, so that a budget in money is refused;
    `async close()`, called at the end.
    """

    @property
    def identity(self) -> str: ...

    def attempt(self, case: Case, trial: int, seed: int | None) -> Awaitable[Attempt]: ...


class Retriever(Protocol):
    """Finds the files and lines a task needs in a repository at a commit."""

    def retrieve(self, query: str, repo: Path, commit: str) -> Attempt: ...


class Writer(Protocol):
    """Writes what an offline dataset is made of. A failed call is an idea or a draft with a problem, never an exception.

    `label` stands in every record and says how it came to be. Made by `make(ask=…, prompts=…)`: `ask(purpose, messages)`
    puts a prompt to the configured model and is None without one.
    """

    @property
    def identity(self) -> str: ...

    @property
    def label(self) -> str: ...

    def ideas(self, kind: str, passage: Passage, count: int) -> Awaitable[Sequence[Idea]]: ...

    def write(self, assignment: WritingTask) -> Awaitable[Draft]: ...

    def rewrite(self, assignment: WritingTask, draft: Draft, problems: Sequence[str]) -> Awaitable[Draft]: ...


class Format(Protocol):
    """Writes cases as another tool reads them, and reads them back without loss.

    `suffix` is the usual ending of the file; a format that writes a folder gives "". A case that cannot be said in the
    format at all is appended to `options["rejected"]` with the reason. Optional: `joining` (`formats/parts.py`), which
    joins the files of some cases to those of all of them; then workers of a cluster may write the parts. And
    `may_write(path)`: the files that an export may leave, of which those that this one did not write are removed.
    """

    suffix: ClassVar[str]

    def accepts(self, head: bytes) -> bool: ...

    def write(self, cases: Iterable[Case], path: Path, **options: Any) -> int: ...

    def read(self, path: Path) -> Iterator[Case | Rejected]: ...
