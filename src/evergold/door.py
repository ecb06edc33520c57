"""The Python door: `evergold.open()` gives a workspace, in a folder here or on a server, with one method per thing to do.

>>> import evergold
>>> ws = evergold.open()
>>> good = [{"name": "helpful", "value": 1.0, "source": source} for source in ("system", "user")]
>>> ask = {"id": "t1", "input": "May I return boots?", "output": "Yes, within 30 days.", "scores": good}
>>> ws.ingest(ask).traces
1
>>> ws.curate().tiers
{'confirmed': 1}
>>> def model(prompt):
...     return "Yes, within 30 days."
>>> run = ws.run("live", model, "exact_match")
>>> run["exact_match"].value
1.0
>>> ws.close()

Each method takes ids or the objects that other methods gave, and returns one type, which prints as a table in a terminal and
shows as one in a notebook. A wrong argument is an `EvergoldError` of one sentence.
"""

import getpass
import inspect
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial, wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeVar, Union, cast, get_args, get_origin

import orjson
from pydantic import ValidationError

from evergold import plugins
from evergold.errors import BadInput, NotFound, describe_unknown
from evergold.formats.atomic import write_bytes
from evergold.model.build import Build
from evergold.model.case import Case, candidates_left_out, ways_to_confirm
from evergold.model.faults import Rejected, first_fault
from evergold.model.operations import Curated, IngestReport
from evergold.model.policy import Explanation
from evergold.model.report import Mean, Printable, RunComparison
from evergold.model.review import CaseKey, Decision, ReviewVerdict
from evergold.model.run import Run, RunSpec
from evergold.model.trace import Correction, Reaction, ScoreLine, Trace
from evergold.sdk.server import Server, part
from evergold.sdk.transports import PATHS
from evergold.settings import load_settings
from evergold.storage import find_matching, location, open_read
from evergold.storage.compression import note_on
from evergold.workspace import Workspace

if TYPE_CHECKING:
    from evergold.extract.run import Summary

T = TypeVar("T")
Verb = TypeVar("Verb", bound=Callable[..., Any])
LIMIT = 100  # of a list, unless another one is asked for
PAGE = 500
LOOK_SECONDS = 0.3
HOME = ".evergold"
# Names of filters as the command line has them.
SHORT = {"session": "session_id", "user": "user_id", "type": "entry_type", "trace": "trace_id"}
VERDICTS = tuple(verdict.value for verdict in ReviewVerdict)
NOT_OVER_URL = "works in a folder only; open the workspace by its path on the machine where it lies"

File = str | Path
Count = Annotated[int, 1]  # and more
Rows = list[tuple[object, ...]]


OPTIONS: dict[str, dict[Any, str]] = {
    "run": {
        Count | None: "trials concurrency limit budget_tokens max_steps max_turns max_tokens",
        str | None: "judge candidates dataset_type turns on_unrecorded user_model tool_model",
        float | None: "budget_money max_cost max_seconds",
        str | float | None: "budget",
        int | None: "seed",
        bool: "no_cache weighted replay",
        Mapping[str, Any]: "params",
        File | None: "repo",
    },
    "extract": {
        File | None: "repo project sessions repo_dir sidekick_db out_dir",
        File | Sequence[File]: "files",
        Sequence[str]: "exclude trailers",
        str | None: "revision since kinds workspace_id range_side hunk_context cluster",
        Count | None: "max_files limit",
        bool: "first_parent no_default_excludes skip_archived all_approvals full into_store",
    },
}
"""Kinds of the options that `**options` of a verb takes, named as on the command line. Sources of cases have others too."""


class Listing(list[T], Printable):
    """A list that prints as a table. `total`: how many pass the filters; None where a server does not count them."""

    total: int | None = None
    __repr__, __str__ = Printable.__repr__, Printable.__str__

    def _count(self, what: str) -> str:
        return f"{len(self)} {what}" if self.total is None else f"{len(self)} of {self.total} {what}"


def _describe_left_out(taken: int, candidates: int) -> str:
    return f"; {(candidates_left_out if taken else ways_to_confirm)(candidates)}" if candidates else ""


class TraceList(Listing[Trace]):
    """Traces, newest first."""

    def table(self) -> tuple[str, Sequence[str], Rows]:
        rows: Rows = []
        for one in self:
            started = one.started_at and f"{one.started_at:%Y-%m-%d %H:%M}"
            rows.append((started, one.id, one.status.value, one.input, one.output))
        return self._count("traces"), ("started", "id", "status", "input", "output"), rows


class CaseList(Listing[Case]):
    """Cases, newest first. `candidates_left_out`: how many more pass the filters but for `candidates="include"`."""

    candidates_left_out: int = 0

    def table(self) -> tuple[str, Sequence[str], Rows]:
        rows: Rows = [
            (
                f"{one.dataset}/{one.id}",
                one.kind.value,
                "candidate" if one.tier == "candidate" else one.entry_type.value,
                one.review.value,
                one.input,
            )
            for one in self
        ]
        title = self._count("cases") + _describe_left_out(len(self), self.candidates_left_out)
        return title, ("case", "kind", "type", "review", "question"), rows


class Explained(Listing[Explanation]):
    """Why a trace has its verdict, by policy: the scores that decided, and what would change it."""

    def table(self) -> tuple[str, Sequence[str], Rows]:
        rows: Rows = []
        for one in self:
            rows.append(
                (one.policy, one.tier.value + (f" by {one.evidence.value}" if one.evidence else ""), one.reason)
            )
            rows += [("", f"incomplete: {lack.gap.value}", lack.change) for lack in one.incomplete]
            rows += [
                ("", "decided by", f"{s.name} = {s.value:g} ({s.source.value}) {s.comment or ''}") for s in one.deciding
            ]
            rows += [("", "left out", f"{s.name} = {s.value:g} ({s.source.value})") for s in one.left_out]
            rows += [("", f"if {change.when}", f"it would be {change.result.value}") for change in one.counterfactuals]
        return (f"trace {self[0].trace_id}" if self else "no policy looks at this trace"), ("policy", "", "why"), rows


@dataclass(frozen=True, repr=False)
class RunResult(Printable):
    """A run and the mean of every metric: `result["exact_match"].value`, with `low`, `high`, `n`, `errors`."""

    run: Run
    means: Sequence[Mean]

    @property
    def id(self) -> str:
        return self.run.id

    def __getitem__(self, metric: str) -> Mean:
        means = {mean.metric: mean for mean in self.means}
        if metric not in means:
            raise BadInput(describe_unknown("metric", metric, tuple(means)))
        return means[metric]

    def table(self) -> tuple[str, Sequence[str], Rows]:
        run, spec = self.run, self.run.spec
        title = f"{run.id}: {spec.model} on {spec.dataset}, {run.status.value}, {run.done} of {run.total} attempts"
        title += f"; {run.error}" if run.error else ""
        title += _describe_left_out(run.total, run.provenance.get("candidates_left_out", 0))
        return title, ("metric", "mean"), [(mean.metric, mean) for mean in self.means]


@dataclass(frozen=True, repr=False)
class ExportResult(Printable):
    """A file that was written: where, how many cases, and the cases that its format cannot hold, each with the reason."""

    path: Path
    cases: int | None
    rejected: tuple[str, ...] = ()
    candidates_left_out: int = 0

    def table(self) -> tuple[str, Sequence[str], Rows]:
        count = "" if self.cases is None else f": {self.cases} cases"
        count += _describe_left_out(self.cases or 0, self.candidates_left_out)
        return f"{self.path}{count}", ("not written",), [(reason,) for reason in self.rejected]


@dataclass(frozen=True, repr=False)
class RetrievalResult(Printable):
    """The figures of a retrieval as `evergold score-retrieval --json` prints them, by `result["line"]["macro"]`."""

    figures: Mapping[str, Any]
    rows: Sequence[tuple[object, ...]] = field(repr=False)

    def __getitem__(self, name: str) -> Any:
        return self.figures[name]

    def table(self) -> tuple[str, Sequence[str], Sequence[tuple[object, ...]]]:
        counts = ", ".join(f"{self.figures[name]} {name}" for name in ("abstained", "missing"))
        return f"{self.figures['n']} cases scored ({counts})", ("level", "figure", "value", "95 %"), self.rows


def _verb(method: Verb) -> Verb:
    """Check what a verb is given against its annotations, and let it raise nothing but `EvergoldError` for that."""
    verb, signature = method.__name__, inspect.signature(method)
    kinds = {name: one.annotation for name, one in signature.parameters.items() if name != "self"}
    rest = next((name for name, one in signature.parameters.items() if one.kind is one.VAR_KEYWORD), "")
    kinds.pop(rest, None)
    kinds |= {name: kind for kind, names in OPTIONS.get(verb, {}).items() for name in names.split()}
    is_open = rest == "filters" or verb == "extract"

    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        for name in kwargs:
            if name not in kinds and not is_open:
                raise BadInput(describe_unknown(f"option of {verb}()", name, tuple(kinds)))
        try:
            bound = signature.bind(*args, **kwargs).arguments
        except TypeError as problem:
            raise BadInput(f"{verb}(): {problem}") from None
        for name, value in {**bound, **bound.get(rest, {})}.items():
            if not _fits(kinds.get(name, Any), value):
                raise BadInput(f"{verb}(): {name} must be {_words(kinds[name])}, not {_kind(value)}")
        try:
            return method(*args, **kwargs)
        except ValidationError as problem:
            raise BadInput(f"{verb}(): {first_fault(problem)}") from None
        except (OSError, UnicodeError) as problem:
            raise BadInput(f"{verb}(): {problem}") from None

    return cast(Verb, call)


def _fits(kind: Any, value: Any) -> bool:
    """Whether a value is of the kind that an annotation names. True and False are no numbers."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return True
    if origin in (Union, UnionType):
        return any(_fits(one, value) for one in inner)
    if origin is Annotated:
        return _fits(inner[0], value) and value >= inner[1]
    if origin is Literal:
        return isinstance(value, str) and value in inner
    if origin is Sequence:
        return isinstance(value, list | tuple) and all(_fits(inner[0], one) for one in value)
    if kind in (int, float):
        return isinstance(value, int | kind) and not isinstance(value, bool)
    return isinstance(value, origin or kind)


PLAIN = {str: "a text", int: "a whole number", float: "a number", bool: "True or False", NoneType: "None"}


def _words(kind: Any) -> str:
    """Name the kind that an annotation asks for."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType, Literal):
        *others, last = (repr(one) if origin is Literal else _words(one) for one in inner)
        return f"{', '.join(others)} or {last}"
    if origin is Annotated:
        return f"{_words(inner[0])} of {inner[1]} or more"
    names = {Sequence: "a list", Mapping: "a dict", Callable: "a function"}
    return PLAIN.get(kind) or names.get(origin) or f"a {kind.__name__}"


@_verb
def open(path: File | None = None, *, url: str | None = None, token: str | None = None) -> "Door":
    """Open a workspace: the one in this folder, in the folder `path` (or `path/.evergold`), or on the server at `url`.

    A folder without one gets one. `token` goes with `url`; without it the setting `server.token` is sent.

    >>> import evergold
    >>> with evergold.open("shop") as ws:
    ...     print(ws.traces())
    0 of 0 traces
    """
    if url is not None:
        if path is not None:
            raise BadInput(f"open() takes a path or a url, and was given {str(path)!r} and {url!r}; give one")
        return Door(Server(url, load_settings().server_token if token is None else token))
    if token is not None:
        raise BadInput("token= goes with url=; a workspace in a folder asks for none")
    if path is None:
        return Door(Workspace.open())
    folder = location(path)
    if folder.is_file():
        raise BadInput(f"{str(folder)!r} is a file; give the folder in which {HOME} lies")
    is_home = folder.name == HOME or (folder / "evergold.db").is_file()
    around = folder.parent if is_home else folder
    return Door(Workspace.open(load_settings({"home": str(folder if is_home else folder / HOME)}, folder=around)))


class Door:
    """An open workspace. Every method works in a folder; those that also work over `url` say so."""

    def __init__(self, opened: Workspace | Server) -> None:
        self._here = opened if isinstance(opened, Workspace) else None
        self._there = opened if isinstance(opened, Server) else None

    def __repr__(self) -> str:
        where = self._here.settings.home if self._here is not None else self._server.url
        return f"<evergold workspace {where}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database; a server is left as it is."""
        if self._here is not None:
            self._here.close()

    @property
    def workspace(self) -> Workspace:
        """The facades of every stage below these methods: judges, replays, retention, backups and the rest. Not over `url`."""
        if self._here is None:
            raise BadInput(f"what was asked for {NOT_OVER_URL}")
        return self._here

    @property
    def _server(self) -> Server:
        assert self._there is not None
        return self._there

    @_verb
    def ingest(
        self,
        *files_or_records: Any,
        source: str | None = None,
        unit: Literal["task", "turn"] | None = None,
        strict: bool = False,
    ) -> IngestReport:
        """Take in traces, scores and corrections: files of any known format, records as dicts or objects, or lists of them.

        Over `url` too: records as they are, files as text (at most the server's body limit each). `source` names the format of
        files, `unit` what becomes a trace of an agent's log (`task` or `turn`), `strict` stores nothing when any is bad; these
        three in a folder only.

        >>> import evergold
        >>> ws = evergold.open("ingest")
        >>> print(ws.ingest({"id": "t1", "input": "Hello?", "output": "Hello."}, evergold.Trace(id="t2", input="Hi")))
        ingested: 2 traces
        """
        files, records = _split_given(files_or_records)
        if self._here is None:
            if source or unit or strict:
                raise BadInput(f"source=, unit= and strict= {NOT_OVER_URL}")
            return _send_records(self._server, files, records)
        intake, report = self._here.intake, IngestReport()
        if strict and (rejected := [one for one in records if isinstance(one, Rejected)]):
            files, records = [], rejected
        if files:
            report.add(intake.ingest(files, source=source, unit=unit, strict=strict))
        if records:
            report.add(intake.accept(records))
        return report

    @_verb
    def curate(self) -> Curated:
        """Turn everything new into cases, by the policies in force. Over `url` too.

        >>> import evergold
        >>> print(evergold.open("curate").curate())
        curated 0 traces
        """
        if self._here is not None:
            return self._here.live.curate().as_curated(self._here.live.count_waiting())
        traces, tiers, changes = 0, Counter[str](), Counter[str]()
        while True:
            # A server answers after some seconds and says how many traces are left.
            step = Curated.model_validate(self._server.post("/curation", None))
            traces += step.traces
            tiers.update(step.tiers)
            changes.update(step.changes)
            if not step.waiting or not step.traces:
                return Curated(traces=traces, tiers=tiers, changes=changes, waiting=step.waiting)

    @_verb
    def traces(self, *, limit: Count | None = LIMIT, order: str = "newest", **filters: Any) -> TraceList:
        """List traces, newest first; `limit=None` lists all. Over `url` too.

        Filters: `search` (words of question or answer), `session`, `user`, `status`, `name`, `model`, `tag`, `score`
        (`"helpful<0.3"`), `metadata` (`"key=value"`), `error`, `since`, `until`, and bounds such as `took_min`.

        >>> import evergold
        >>> ws = evergold.open("traces")
        >>> _ = ws.ingest({"id": "t1", "input": "Hello?", "output": "Hello."})
        >>> [trace.id for trace in ws.traces(search="hello")]
        ['t1']
        """
        from evergold.store.trace.filter import TraceFilter, TraceOrder

        wanted = TraceFilter.model_validate(_known_filters(filters, TraceFilter))
        if order not in list(TraceOrder):
            raise BadInput(describe_unknown("order", order, list(TraceOrder)))
        if self._here is None:
            query = {**_as_query(wanted), "order": order, "scores": True}
            return TraceList(Trace.model_validate(one) for one in self._pages("/traces", "traces", query, limit))
        intake = self._here.intake
        page = partial(intake.page, wanted, order=TraceOrder(order), scores=True)
        result = TraceList(_read_pages(lambda size, before: page(limit=size, before=before), limit))
        result.total = intake.count(wanted)
        return result

    @_verb
    def explain(self, trace: str | Trace | Case) -> Explained:
        """Say why a trace (or the trace of a case) has its verdict, and what would change it. Over `url` too.

        >>> import evergold
        >>> ws = evergold.open("explain")
        >>> _ = ws.ingest({"id": "t1", "input": "Hello?", "output": "Hello."})
        >>> ws.explain("t1")[0].trace_id
        't1'
        """
        ident = trace.provenance.trace_id if isinstance(trace, Case) else _id(trace)
        if not ident:
            raise BadInput(f"{_id(trace)!r} comes from no trace; there is nothing to explain")
        if self._here is not None:
            return Explained(self._here.live.explain(ident))
        return Explained(map(Explanation.model_validate, self._server.get(f"/traces/{part(ident)}/explain")))

    @_verb
    def cases(self, dataset: Any = None, *, limit: Count | None = LIMIT, **filters: Any) -> CaseList:
        """List cases of a dataset (a name, `name@v3`, a Build, a file) or of all, newest first; `limit=None` lists all.

        Over `url` too, of stored datasets. Filters: `type` (golden, failure, correction), `review`, `status`, `kind`, `tag`,
        `search`, `trace`, `since` and the others of `evergold cases list`; of stored datasets only.

        >>> import evergold
        >>> evergold.open("cases").cases("live", type="golden")
        0 of 0 cases
        """
        from evergold.store.case.cases import CaseFilter

        name = dataset.name if isinstance(dataset, Build) else dataset
        if name is not None and (not isinstance(name, str) or "@" in name or _is_file(name)):
            if filters:
                raise BadInput(
                    f"filters go with a stored dataset, and {name!r} is none; leave {', '.join(filters)} out"
                )
            given = self._read_cases(dataset)
            result = CaseList(given[:limit])
            result.total = len(given)
            return result
        wanted = CaseFilter.model_validate({**_known_filters(filters, CaseFilter), "dataset": name})
        if self._here is None:
            result = CaseList(map(_read_case, self._pages("/cases", "cases", _as_query(wanted), limit)))
            counted = self._server.get("/cases", {**_as_query(wanted), "limit": 1})
            result.total, result.candidates_left_out = counted["total"], counted["candidates_left_out"]
            return result
        cases = self._here.cases
        if name is not None:
            cases.require_dataset(name)
        result = CaseList(_read_pages(lambda size, before: cases.page(wanted, limit=size, before=before), limit))
        result.total, result.candidates_left_out = cases.count(wanted), cases.candidates_beside(wanted)
        return result

    @_verb
    def review(
        self,
        case: str | Case | tuple[str, str],
        verdict: str,
        answer: str | None = None,
        by: str | None = None,
        *,
        comment: str = "",
        adjudicate: bool = False,
        override_base: bool = False,
    ) -> Case:
        """Give a verdict on a case as it is now: approve, dismiss, second_opinion, skip, reopen or withdraw.

        `case` is a Case, `dataset/id`, or an id that one dataset has. `answer` is the right answer, where it is edited. `by`
        is the reviewer: the token's name over `url`, else the user of the system. `adjudicate` settles a dispute;
        `override_base` approves although the repository disproves the base commit. Over `url` too.

        >>> import evergold
        >>> ws = evergold.open("review")
        >>> good = {"name": "helpful", "value": 1.0, "source": "system"}
        >>> _ = ws.ingest({"id": "t1", "input": "Boots?", "output": "Yes.", "scores": [good]})
        >>> _ = ws.curate()
        >>> ws.review(ws.cases()[0], "approve", answer="Yes, within 30 days.").review.value
        'validated'
        """
        if verdict not in VERDICTS:
            raise BadInput(describe_unknown("verdict", verdict, VERDICTS))
        seen = case if isinstance(case, Case) else self._case(case)
        changes = {} if answer is None else {"expected": answer}
        given = {"comment": comment, "adjudicate": adjudicate, "override_base": override_base}
        decision = Decision(version=seen.version, verdict=ReviewVerdict(verdict), changes=changes, **given)
        if self._here is not None:
            key = CaseKey(dataset=seen.dataset, id=seen.id)
            return self._here.review.decide(key, decision, by or getpass.getuser())
        named = {"X-Evergold-Reviewer": part(by or getpass.getuser())}
        query = {"dataset": seen.dataset, "id": seen.id}
        return _read_case(self._server.send("POST", "/decisions", decision.model_dump_json().encode(), query, named))

    @_verb
    def build(
        self,
        dataset: Any,
        *,
        version: str | None = None,
        split: str | Mapping[str, float] | None = None,
        group_by: str | None = None,
        seed: int | None = None,
        filter: Mapping[str, Any] | None = None,
        on_leak: str | None = None,
        repeats: str | None = None,
        candidates: str | None = None,
        canary: bool | None = None,
        out: File | None = None,
        avoid: File | Sequence[File] = (),
        force: bool | None = None,
    ) -> Build:
        """Freeze a stored dataset as its next version, with split files and a manifest. Over `url` too.

        Options as of `evergold build`; `split` is `"train=0.7,test=0.3"` or a dict, `filter` a dict. `out`, `avoid` and
        `force` in a folder only.

        >>> import evergold
        >>> ws = evergold.open("build")
        >>> good = {"name": "helpful", "value": 1.0, "source": "system"}
        >>> _ = ws.ingest({"id": "t1", "input": "Boots?", "output": "Yes.", "scores": [good]})
        >>> _ = ws.curate()
        >>> ws.build("live").name
        'live@v1'
        """
        name = dataset.dataset if isinstance(dataset, Build) else dataset
        if not isinstance(name, str):
            raise BadInput(f"build() freezes a stored dataset by its name, not {_kind(dataset)}; import cases first")
        options: dict[str, Any] = {"group_by": group_by, "seed": seed, "on_leak": on_leak, "repeats": repeats}
        filters = dict(filter or {}) | ({} if candidates is None else {"candidates": candidates})
        options |= {"canary": canary, "filters": filters}
        if self._here is not None:
            files = [avoid] if isinstance(avoid, str | Path) else avoid
            options |= {"shares": split, "avoid": tuple(map(location, files)), "force": force}
            return self._here.builds.freeze_as(name, version, None if out is None else location(out), **options)[0]
        if out is not None or avoid or force is not None:
            raise BadInput(f"out=, avoid= and force= of build() {NOT_OVER_URL}")
        options |= {"version": version, "split": split}
        wanted = {"dataset": name, **{key: value for key, value in options.items() if value is not None}}
        answer = self._server.post("/builds", wanted)
        while "message" in answer:  # a large one goes on after the answer
            time.sleep(LOOK_SECONDS)
            answer = self._server.post("/builds", {**wanted, "version": answer["version"]})
        return Build.model_validate(answer)

    @_verb
    def run(
        self, dataset: Any, model: str | Callable[..., Any], metrics: str | Sequence[str] = (), **options: Any
    ) -> RunResult:
        """Run a dataset against a model and measure the answers; waits for the end.

        `dataset`: a name, `name@v3`, a Build, a YAML file, or a list of cases. `model`: a name such as `openai/gpt-4o`, or a
        function of the prompt (plain or async; it gets what its parameters are called: `prompt`, `messages`, `tools`, `case`,
        `trial`, `seed`, `call_tool`). `metrics`: one or several names. Options as of `evergold run`: `judge`, `trials`,
        `concurrency`, `limit`, `seed`, `budget`, `params` (a dict), `no_cache`, `weighted`, `replay` and what belongs to it.
        Over `url` with the name of a model.

        >>> import evergold
        >>> ws = evergold.open("run")
        >>> questions = [evergold.Case(id="a", input="2 + 2?", expected="4"), evergold.Case(id="b", input="3?", expected="3")]
        >>> ws.run(questions, lambda prompt: "4", ["exact_match"])["exact_match"].value
        0.5
        """
        given: dict[str, Any] = {**options, "metrics": [metrics] if isinstance(metrics, str) else list(metrics)}
        if self._here is None:
            return self._run_there(dataset, model, given)
        if callable(model):
            from evergold.bench.targets.programs import name_function

            model = name_function(model)
        is_named = isinstance(dataset, Build) or (isinstance(dataset, str | Path) and not _is_case_file(dataset, given))
        cases = None if is_named else self._read_cases(dataset)
        bench, name = self._here.bench, _name_of(dataset, cases)
        spec = RunSpec.from_options({**given, "dataset": name, "model": model})
        run = bench.run_here(spec, dataset_type=given.get("dataset_type"), cases=cases)
        return self.result(bench.work_on(run.id))

    def _run_there(self, dataset: Any, model: Any, given: dict[str, Any]) -> RunResult:
        if not isinstance(model, str):
            raise BadInput(
                f"over url a model is a name such as openai/gpt-4o, not {_kind(model)}; a function {NOT_OVER_URL}"
            )
        chosen: dict[str, Any] = {}
        if not isinstance(dataset, str | Build):
            cases = _as_cases(dataset)
            if len({case.dataset for case in cases}) != 1:
                raise BadInput("over url a list of cases must be of one stored dataset, by which the server knows them")
            chosen = {"cases": tuple(case.id for case in cases)}
        name = dataset if isinstance(dataset, str) else _name_of(dataset, None if isinstance(dataset, Build) else cases)
        spec = RunSpec.from_options({**given, "dataset": name, "model": model, **chosen})
        run = self._server.post("/benchmarks/runs", spec.model_dump(mode="json"))
        while not Run.model_validate(run).status.ended:
            time.sleep(LOOK_SECONDS)
            run = self._server.get(f"/benchmarks/runs/{part(run['id'])}")
        return self.result(run["id"])

    @_verb
    def result(self, run: str | Run | RunResult) -> RunResult:
        """Read a run that was made before, with the mean of every metric. Over `url` too."""
        ident = _id(run)
        if self._here is not None:
            known = self._here.bench.get(ident)
            return RunResult(known, self._here.bench.results.means(known))
        answer = self._server.get(f"/benchmarks/runs/{part(ident)}/results", {"limit": 1})
        return RunResult(Run.model_validate(answer["run"]), [Mean.model_validate(mean) for mean in answer["means"]])

    @_verb
    def compare(
        self,
        baseline: str | Run | RunResult,
        candidate: str | Run | RunResult,
        *,
        margin: float | None = None,
        weighted: bool | None = None,
        errors: Literal["count", "exclude"] = "count",
        metric: str | Sequence[str] = (),
    ) -> RunComparison:
        """Compare two runs over the same cases: better, worse, the same, or inconclusive, per metric. Over `url` too.

        `margin` is the smallest difference that matters. `metric` (one or several) in a folder only.

        >>> import evergold
        >>> ws = evergold.open("compare")
        >>> questions = [evergold.Case(id=f"c{n}", input=f"{n}?", expected=str(n)) for n in range(8)]
        >>> first = ws.run(questions, lambda prompt: "?", "exact_match")
        >>> second = ws.run(questions, lambda prompt: prompt[0], "exact_match")
        >>> ws.compare(first, second).metrics[0].verdict.value
        'better'
        """
        ids = _id(baseline), _id(candidate)
        how = {name: value for name, value in (("margin", margin), ("weighted", weighted)) if value is not None}
        if self._here is not None:
            only = [metric] if isinstance(metric, str) else metric
            compare: Callable[..., RunComparison] = self._here.bench.results.compare
            return compare(*ids, metrics=only, exclude_errors=errors == "exclude", **how)
        if metric:
            raise BadInput(f"metric= of compare() {NOT_OVER_URL}")
        query = {"first": ids[0], "second": ids[1], "errors": errors, **how}
        return RunComparison.model_validate(self._server.get("/benchmarks/compare", query))

    @_verb
    def export(
        self, dataset: Any, format: str, path: File, *, limit: Count | None = None, **filters: Any
    ) -> ExportResult:
        """Write a dataset (a name, `name@v3`, a Build, a file, a list of cases) in a format: `live-jsonl`, `openai-ft`, `yaml`, …

        Filters are those of `cases`, for a stored dataset. Over `url` too, stored datasets in formats of one file.

        >>> import evergold
        >>> ws = evergold.open("export")
        >>> print(ws.export([evergold.Case(id="a", input="2 + 2?", expected="4")], "case-jsonl", "cases.jsonl"))
        cases.jsonl: 1 cases
        """
        from evergold.store.case.cases import CaseFilter

        target, known = location(path), plugins.names("formats")
        if format not in known:
            raise BadInput(describe_unknown("format", format, known))
        is_stored = isinstance(dataset, str) and "@" not in dataset and not _is_file(dataset)
        if filters and not is_stored:
            raise BadInput(f"filters go with a stored dataset; leave {', '.join(filters)} out")
        named = {"dataset": dataset} if is_stored else {}
        wanted = CaseFilter.model_validate({**_known_filters(filters, CaseFilter), **named})
        if self._here is None:
            if not is_stored:
                raise BadInput(f"over url export() writes a stored dataset by its name, not {_kind(dataset)}")
            if limit is not None:
                raise BadInput(f"limit= of export() {NOT_OVER_URL}")
            with self._server.open("GET", "/cases/export", query={**_as_query(wanted), "format": format}) as answer:
                write_bytes(target, answer.read(), private=True)
            return ExportResult(target, None)
        rejected: list[Any] = []
        left_out = 0
        if is_stored:
            self._here.cases.require_dataset(dataset)
            count = self._here.cases.export(wanted, format, target, limit=limit, rejected=rejected)
            left_out = self._here.cases.candidates_beside(wanted)
        else:
            cases = self._read_cases(dataset)[:limit]
            with plugins.name_culprit("formats", format):
                count = plugins.load("formats", format).write(iter(cases), target, rejected=rejected)
        return ExportResult(target, count, tuple(map(str, rejected)), left_out)

    @_verb
    def extract(self, source: str, **options: Any) -> "Summary":
        """Write context-retrieval cases from merged work: `git`, `sidekick`, or a coding agent's logs. Not over `url`.

        Options as of `evergold extract SOURCE`: `repo`, `since`, `limit`, `out_dir`, `into_store` and the others.

        >>> import evergold
        >>> evergold.open("extract").extract("svn")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        evergold.errors.BadInput: unknown source of cases 'svn' (valid: ...)
        """
        return self._only_here("extract").flows.extract(source, options)

    @_verb
    def score_retrieval(
        self,
        golden: Any,
        predictions: Any,
        other: Any = None,
        *,
        tier: Literal["edited", "core", "all"] = "edited",
        seed: int = 0,
        repo: File | None = None,
        per_case: File | None = None,
        html: File | None = None,
        cluster: str | None = None,
    ) -> RetrievalResult:
        """Score what a retrieval brought against golden cases; a second set of predictions is compared. Not over `url`.

        `golden`: a dataset A or B file, a stored dataset or cases; `predictions`: a file, or dicts with `caseId` and `ranges` or
        `paths`, best first. `per_case` and `html` name files to write.

        >>> import evergold
        >>> from evergold.model.case import CaseKind, LineRange
        >>> fix = LineRange(path="a.py", start=1, end=3, sources=("golden_diff",))
        >>> case = evergold.Case(id="c1", kind=CaseKind.CONTEXT, input="Fix it", ranges=(fix,), base_commit="f" * 40)
        >>> scored = evergold.open("retrieval").score_retrieval([case], [{"caseId": "c1", "paths": ["a.py"]}])
        >>> scored["file"]["macro"]["recall"]["value"]
        1.0
        """
        from evergold.bench.retrieval_run import ScoringQuery

        retrieval = self._only_here("score_retrieval").retrieval
        query = ScoringQuery(tier, seed, _location(repo))
        written = {"per_case": _location(per_case), "html": _location(html)}
        with self._retrieval_files(golden, predictions, other) as files:
            first, second, third = files
            figures = retrieval.score(first, second, third, query, **written, cluster=cluster)
        return RetrievalResult(figures, retrieval.rows(figures))

    @contextmanager
    def _retrieval_files(self, golden: Any, *predictions: Any) -> Iterator[list[Any]]:
        """Give each as a file: objects are written into a folder that is deleted."""
        with TemporaryDirectory(prefix="evergold-") as folder:
            if not (isinstance(golden, Path) or (isinstance(golden, str) and _is_file(golden))):
                self.export(golden, "dataset-b", file := Path(folder) / "golden.jsonl")
                golden = file
            paths: list[Any] = [location(golden)]
            for number, one in enumerate(predictions):
                if one is not None and not isinstance(one, str | Path):
                    one = _write_json_lines(one, Path(folder) / f"predictions-{number}.jsonl")
                paths.append(None if one is None else location(one))
            yield paths

    def _only_here(self, verb: str) -> Workspace:
        if self._here is None:
            raise BadInput(f"{verb}() {NOT_OVER_URL}")
        return self._here

    def _pages(self, path: str, key: str, query: Mapping[str, Any], limit: int | None) -> Iterator[Any]:
        def page(size: int, before: str | None) -> tuple[list[Any], str | None]:
            answer = self._server.get(path, {**query, "limit": size, "before": before})
            return answer[key], answer["next"]

        yield from _read_pages(page, limit)

    def _read_cases(self, dataset: Any) -> list[Case]:
        """The cases of a dataset, a version, a Build or a file; or those given."""
        if isinstance(dataset, str | Path | Build):
            if self._here is None:
                raise BadInput(f"reading the cases of {_name_of(dataset, None)!r} {NOT_OVER_URL}")
            name = _name_of(dataset, None)
            if isinstance(dataset, Path) and not dataset.exists():
                raise NotFound(f"no file {name!r}; give one that is there")
            if _is_case_file(name, {}):
                return self._here.cases.read_file(location(name))
            return list(self._here.bench.datasets.freeze(name, local=True).cases)
        return _as_cases(dataset)

    def _case(self, named: Any) -> Case:
        """Find a case by `dataset/id`, or by an id that one dataset has."""
        text = "/".join(named) if isinstance(named, tuple) else str(named)
        if self._here is not None:
            datasets = [one.dataset for one in self._here.builds.datasets()]
        else:
            datasets = [one["dataset"] for one in self._server.get("/datasets")]
        keys = [(name, text.removeprefix(f"{name}/")) for name in datasets if text.startswith(f"{name}/")]
        hits: list[Case] = []
        for dataset, ident in keys + [(name, text) for name in datasets]:
            with suppress(NotFound):
                if self._here is not None:
                    hits.append(self._here.cases.get(dataset, ident))
                else:
                    hits.append(_read_case(self._server.get(f"/cases/{part(dataset)}/{part(ident)}")))
        if not hits:
            raise NotFound(f"no case {text!r}; name it as dataset/id (datasets: {', '.join(datasets) or 'none'})")
        if len(hits) > 1:
            names = ", ".join(f"{one.dataset}/{one.id}" for one in hits)
            raise BadInput(f"several datasets have a case {text!r}; write one of {names}")
        return hits[0]


def _split_given(given: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Part files from records; a list or tuple counts as what is in it."""
    from evergold.sources.jsonl import parse_record

    files: list[Any] = []
    records: list[Any] = []
    for at, one in enumerate(given):
        if isinstance(one, str | Path):
            files += find_matching(one)
        elif isinstance(one, Mapping):
            records.append(parse_record(dict(one), f"record {at + 1}"))
        elif isinstance(one, Trace | ScoreLine | Correction | Reaction | Rejected):
            records.append(one)
        elif isinstance(one, Sequence) and not isinstance(one, bytes):
            inner_files, inner_records = _split_given(one)
            files, records = files + inner_files, records + inner_records
        else:
            raise BadInput(f"ingest() takes files, and records as dicts or objects of evergold, not {_kind(one)}")
    return files, records


def _send_records(server: Server, files: Sequence[Path], records: Sequence[Any]) -> IngestReport:
    report = IngestReport()
    for file in files:
        with open_read(file) as handle:
            text = handle.read().decode()
            note = note_on(handle)
        answer = server.post("/uploads", {"of": "traces", "name": file.name, "text": text})
        report.add(IngestReport(traces=answer["stored"], rejected=answer["rejected"], problems=answer["problems"]))
        report.problems += [f"{file}: {note}"] if note else []
    for one in records:
        if isinstance(one, Rejected):
            report.reject(one)
    for kind, path in PATHS.items():
        chosen = [one.model_dump(mode="json", by_alias=True) for one in records if getattr(one, "type", "") == kind]
        for start in range(0, len(chosen), PAGE):
            answer = server.post(path.removeprefix("/api/v1"), chosen[start : start + PAGE])
            report.add(IngestReport(**answer))
    return report


def _read_pages(page: Callable[[int, str | None], tuple[list[T], str | None]], limit: int | None) -> Iterator[T]:
    """Read page after page up to the limit; all where there is none."""
    left, before = limit, None
    while left is None or left > 0:
        items, before = page(PAGE if left is None else min(PAGE, left), before)
        yield from items
        left = None if left is None else left - len(items)
        if before is None:
            return


def _known_filters(filters: Mapping[str, Any], shape: Any) -> dict[str, Any]:
    """Read filters by their names here or on the command line."""
    names = [name for name in shape.model_fields if name != "dataset"]
    result = {}
    for name, value in filters.items():
        field_name = SHORT.get(name, name)
        if field_name not in names:
            raise BadInput(describe_unknown("filter", name, names))
        is_list = isinstance(shape.model_fields[field_name].default, tuple)
        result[field_name] = [value] if is_list and not isinstance(value, list | tuple) else value
    return result


def _as_query(wanted: Any) -> dict[str, Any]:
    """Write a filter as the query of a request: what differs from the built-in values."""
    query: dict[str, Any] = wanted.model_dump(mode="json", exclude_defaults=True)
    return query


def _as_cases(given: Any) -> list[Case]:
    cases = list(given) if isinstance(given, Sequence | Iterator) and not isinstance(given, str | bytes) else None
    if cases is None or not all(isinstance(case, Case) for case in cases):
        raise BadInput(f"a dataset is a name, name@version, a Build, a file or a list of cases, not {_kind(given)}")
    if not cases:
        raise BadInput("the list of cases is empty; give at least one")
    return cases


def _name_of(dataset: Any, cases: Sequence[Case] | None) -> str:
    if cases is not None:
        names = {case.dataset for case in cases}
        return names.pop() if len(names) == 1 else "cases"
    return dataset.name if isinstance(dataset, Build) else str(dataset)


def _id(given: Any) -> str:
    """The id of an object, or the one that was given."""
    return given if isinstance(given, str) else str(given.id)


def _location(path: File | None) -> Path | None:
    return None if path is None else location(path)


def _is_file(name: str) -> bool:
    return Path(name).is_file()


def _is_case_file(name: str | Path, options: Mapping[str, Any]) -> bool:
    """Whether a dataset is a file of cases; one of YAML tasks, or a split whose type is said, is read by the run itself."""
    return _is_file(str(name)) and not str(name).endswith((".yaml", ".yml")) and not options.get("dataset_type")


def _kind(given: Any) -> str:
    is_plain = isinstance(given, str | int | float | None)
    return f"{given!r}"[:80] if is_plain else f"an object of type {type(given).__name__}"


def _read_case(answer: dict[str, Any]) -> Case:
    """Read a case as a server answers it, without what is derived from it."""
    return Case.model_validate({name: value for name, value in answer.items() if name in Case.model_fields})


def _write_json_lines(rows: Any, path: Path) -> Path:
    if not isinstance(rows, Sequence) or not all(isinstance(row, Mapping) for row in rows):
        raise BadInput(f"predictions are a file or a list of dicts with caseId and ranges or paths, not {_kind(rows)}")
    path.write_bytes(b"".join(orjson.dumps(dict(row)) + b"\n" for row in rows))
    return path
