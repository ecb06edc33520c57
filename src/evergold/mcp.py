"""Coding agents: a workspace as tools of the Model Context Protocol, over stdio (`evergold mcp`) and HTTP (`/mcp`).

Answers fit an agent's context: short texts, ids, pages. An agent reads, explains, proposes cases, starts runs and compares. What
it proposes waits in review in the dataset `proposed`, marked with its name; it gives no verdicts, because it is no person.
Over HTTP the token says who it is and its role what it may do; over stdio it acts for the user who started it.
"""

from __future__ import annotations

import inspect
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

import orjson
from pydantic import ValidationError

from evergold.errors import BadInput, EvergoldError, Refused
from evergold.model.access import INCLUDES, LOCAL, Holder, Role
from evergold.model.case import Case, Provenance
from evergold.model.case_actions import Picking
from evergold.model.faults import first_fault
from evergold.model.overview import Period
from evergold.model.run import Run, RunSpec
from evergold.model.values import hash_bytes

if TYPE_CHECKING:
    from mcp.server import MCPServer

    from evergold.model.trace import Score, Trace
    from evergold.workspace import Workspace

PROPOSED = "proposed"
SHORT, LONG = 200, 2000  # characters of a text in a list, and of one that was asked for
MOST = 50  # items of a page
SHOWN_STEPS = 40
MISSING = "coding agents need the extra mcp: pip install 'evergold[mcp]'"
INSTRUCTIONS = (
    "Evergold holds traces of an LLM app, the evaluation cases made of them, and benchmark runs. Begin with overview; narrow "
    "down with count_traces and search_traces; explain_trace says why a trace is golden or failed. propose_case hands a case "
    "to people, who review it. Texts are shortened: get_trace and get_case have more. Lists have `next`: pass it as `cursor`."
)


def read_skill() -> str:
    """Read the skill that ships with the package."""
    return (files("evergold") / "skill" / "SKILL.md").read_text(encoding="utf-8")


def make_server(workspace: Workspace, *, holder: Holder = LOCAL, works_here: bool = False) -> MCPServer:
    """Make the server of a workspace for one caller, whose role says what it may do.

    `works_here`: this process works on the runs that are started, for no other does.
    """
    try:
        from mcp.server import MCPServer
        from mcp.types import ToolAnnotations
    except ImportError as problem:
        raise BadInput(MISSING) from problem
    server: MCPServer = MCPServer(
        "evergold", instructions=INSTRUCTIONS, version=version("evergold"), log_level="WARNING"
    )
    tools = Tools(workspace, works_here)
    for tool, role in TOOLS.items():
        reads = role is Role.READER
        server.add_tool(
            _as_tool(getattr(tools, tool), role, holder),
            name=tool,
            annotations=ToolAnnotations(read_only_hint=reads, destructive_hint=False, open_world_hint=not reads),
            structured_output=False,
        )
    return server


def _as_tool(call: Callable[..., Any], role: Role, holder: Holder) -> Callable[..., str]:
    """Let a method be called as a tool: by a caller of that role, with compact JSON as its answer and errors as one sentence."""
    from mcp.server.mcpserver import Context
    from mcp.server.mcpserver.exceptions import ToolError

    # The tool's parameters are those of the method, without who calls, which the agent does not choose.
    parameters = inspect.signature(call, eval_str=True).parameters
    keyed = [one.replace(kind=one.KEYWORD_ONLY) for one in parameters.values() if one.name != "agent"]
    own = inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=Context)

    def answer(ctx: Any, **given: Any) -> str:
        try:
            if not holder.role.allows(role):
                allowed = ", ".join(one for one in INCLUDES if role in INCLUDES[one])
                raise Refused(
                    f"this needs one of the roles {allowed}; the token of {holder.name} is a {holder.role.value}"
                )
            if "agent" in parameters:
                # Named by its token, else by what its client calls itself.
                client = getattr(getattr(ctx.session, "client_params", None), "client_info", None)
                given["agent"] = f"agent {holder.name or getattr(client, 'name', '') or 'without a name'}"
            return orjson.dumps(call(**given), default=str, option=orjson.OPT_NON_STR_KEYS).decode()
        except EvergoldError as problem:
            raise ToolError(problem.message) from None

    answer.__doc__ = call.__doc__
    answer.__signature__ = inspect.Signature([*keyed, own], return_annotation=str)  # type: ignore[attr-defined]
    answer.__annotations__ = {one.name: one.annotation for one in [*keyed, own]} | {"return": str}
    return answer


class Tools:
    """What an agent can do. The docstrings are what it reads."""

    def __init__(self, workspace: Workspace, works_here: bool) -> None:
        self._ws, self._works_here = workspace, works_here

    def overview(self, days: Literal[1, 7, 30, 90, 365] = 30) -> dict[str, Any]:
        """Show what there is: traces, failing checks, what keeps traces out of the golden set, cases, datasets."""
        period = {1: Period.DAY, 7: Period.WEEK, 30: Period.MONTH, 90: Period.QUARTER, 365: Period.YEAR}[days]
        seen = self._ws.overviews.read_period(period)
        kept_out = self._ws.overviews.kept_out(period)
        return {
            "traces": seen.traces,
            "in_period": seen.in_period,
            "oldest": seen.oldest,
            "newest": seen.newest,
            "cases_by_type": self._ws.live.stats(None).model_dump(
                mode="json",
                include={"total", "golden", "confirmed", "unconfirmed", "candidate", "failure", "correction"},
            ),
            "failing_checks": [one.model_dump(mode="json") for one in seen.checks[:10]],
            "kept_out_of_golden": [{"reason": one.reason, "traces": one.traces} for one in kept_out.reasons[:10]],
            "datasets": [
                {"name": one.dataset, "cases": one.cases, "versions": len(one.builds)}
                for one in self._ws.builds.datasets()
            ],
        }

    def count_traces(self, search: str = "", score: str = "", status: str = "", model: str = "", tag: str = "",
                     since: str = "", until: str = "") -> dict[str, Any]:  # fmt: skip
        """Count the traces that match, and how they divide by status, name, model, tag and score (with how many fail each).

        `total` is exact. Where `breakdown_of` is smaller, the rest counts only the newest so many: for shares, ask for totals.
        search: words of question or answer. score: such as `helpful<0.3` or `*<0.5` (any score). Times: 2026-01-31T00:00:00Z.
        """
        wanted = _filter(search=search, score=score, status=status, model=model, tag=tag, since=since, until=until)
        facets = self._ws.intake.facets(wanted)
        return {"total": self._ws.intake.count(wanted), "breakdown_of": facets.total} | {
            name: [one.model_dump(mode="json") for one in getattr(facets, name)[:10]]
            for name in ("statuses", "names", "models", "tags", "scores")
        }

    def search_traces(self, search: str = "", score: str = "", status: str = "", model: str = "", tag: str = "",
                      session: str = "", since: str = "", until: str = "",
                      order: Literal["newest", "oldest", "slowest", "dearest", "match"] = "newest",
                      limit: int = 10, cursor: str = "") -> dict[str, Any]:  # fmt: skip
        """List traces that match, with short texts and their scores. Filters as of count_traces."""
        from evergold.store.trace.filter import TraceOrder

        given = {"search": search, "score": score, "status": status, "model": model, "tag": tag}
        wanted = _filter(**given, session_id=session, since=since, until=until)
        page, following = self._ws.intake.page(
            wanted, limit=_size(limit), before=cursor or None, order=TraceOrder(order), scores=True, preview=SHORT
        )
        return {"traces": [_trace_line(one) for one in page], "next": following}

    def get_trace(self, trace_id: str) -> dict[str, Any]:
        """Show one trace: question, answer, steps, scores."""
        trace = self._ws.intake.get(trace_id)
        steps = [
            {"kind": one.kind, "name": one.name, "status": one.status.value, "output": _cut(one.output, SHORT)}
            for one in trace.spans[:SHOWN_STEPS]
        ]
        whole: dict[str, Any] = {"input": _cut(trace.input, LONG), "output": _cut(trace.output, LONG)}
        whole |= {"session": trace.session_id, "tags": trace.tags, "steps": steps, "steps_in_all": len(trace.spans)}
        return _trace_line(trace) | whole

    def explain_trace(self, trace_id: str) -> list[dict[str, Any]]:
        """Explain why a trace is golden, a failure or neither: the scores that decided, and what would change it."""
        return [
            {
                "policy": one.policy,
                "tier": one.tier.value,
                "evidence": one.evidence,
                "reason": one.reason,
                "incomplete": [f"{lack.gap.value}: {lack.change}" for lack in one.incomplete],
                "decided_by": [_score_line(score) for score in one.deciding],
                "would_change": [f"if {change.when}: {change.result.value}" for change in one.counterfactuals[:10]],
            }
            for one in self._ws.live.explain(trace_id)
        ]

    def search_cases(self, dataset: str = "", search: str = "", entry_type: Literal["", "golden", "failure", "correction"] = "",
                     review: Literal["", "unvalidated", "validated"] = "", tag: str = "",
                     candidates: Literal["exclude", "include", "only"] = "exclude", limit: int = 10,
                     cursor: str = "") -> dict[str, Any]:  # fmt: skip
        """List evaluation cases that match, with short texts. Candidates, which nobody has confirmed, only if asked for."""
        from evergold.store.case.cases import CaseFilter

        given: dict[str, Any] = {"dataset": dataset, "search": search, "entry_type": entry_type, "review": review}
        wanted = _validate(CaseFilter, given | {"tag": [tag] if tag else "", "candidates": candidates})
        page, following = self._ws.cases.page(wanted, limit=_size(limit), before=cursor or None, preview=SHORT)
        counted = {
            "total": self._ws.cases.count(wanted),
            "candidates_left_out": self._ws.cases.candidates_beside(wanted),
        }
        return counted | {"cases": [_case_line(one) for one in page], "next": following}

    def get_case(self, dataset: str, case_id: str) -> dict[str, Any]:
        """Show one case: question, recorded answer, reference, contexts, where it comes from, what reviewers said."""
        case = self._ws.cases.get(dataset, case_id)
        reference = case.reference()
        return _case_line(case) | {
            "input": _cut(case.input, LONG),
            "output": _cut(case.output, LONG),
            "reference": reference and _cut(reference.text, LONG),
            "contexts": [_cut(one.text, SHORT) for one in case.contexts[:5]],
            "trace_id": case.provenance.trace_id,
            "history": [
                f"{one.created_at} {one.who}: {one.action} {one.why}"
                for one in self._ws.cases.history(dataset, case_id)[-5:]
            ],
        }

    def propose_case(self, question: str, why: str, expected: str = "", trace_id: str = "", tags: Sequence[str] = (), *,
                     agent: str = "") -> dict[str, Any]:  # fmt: skip
        """Propose a case: it waits for people in the dataset `proposed`. From a trace (trace_id) it has that conversation.

        question: what is asked (left as recorded where a trace is named). expected: the right answer, if you know it. why: for
        the reviewer, what this case tests.
        """
        from evergold.store.case.writes import Author

        if not why.strip() or not (question.strip() or trace_id):
            raise BadInput("a proposal needs a question or a trace, and why it is worth a case")
        author = Author(who=agent, action="proposed", why=why[:LONG])
        if trace_id:
            picking = Picking(trace_ids=(trace_id,), dataset=PROPOSED, note=why[:LONG])
            (picked,) = self._ws.case_actions.pick(picking, agent)
            if picked.problem or picked.dataset is None or picked.id is None:
                raise BadInput(picked.problem or f"no case can be made of trace {trace_id!r}")
            case = self._ws.cases.get(picked.dataset, picked.id)
        else:
            ident = f"proposed-{hash_bytes(question.encode()).removeprefix('sha256:')[:12]}"
            if ident in self._ws.cases.ids(PROPOSED):
                raise BadInput(f"this question is already proposed as {PROPOSED}/{ident}; people review it there")
            made = Case(id=ident, dataset=PROPOSED, input=question, provenance=Provenance(source="agent"))
            self._ws.cases.put([made], author)
            case = self._ws.cases.get(PROPOSED, ident)
        changes = {"tags": tuple(sorted({*case.tags, *tags})), "metadata": {**case.metadata, "proposed_by": agent}}
        changes |= {"expected": expected} if expected else {}
        case = self._ws.cases.revise(case.model_copy(update=changes), author)
        return _case_line(case) | {"waits": "for review by a person"}

    def list_metrics(self) -> dict[str, Any]:
        """List the metrics a run can use and the datasets it can run."""
        return {
            "metrics": {one.name: _cut(one.description, 100) for one in self._ws.bench.metrics()},
            "datasets": {one.name: one.tasks for one in self._ws.bench.datasets.list()},
        }

    def start_run(self, dataset: str, model: str, metrics: Sequence[str], judge: str = "", limit: int = 0, trials: int = 1,
                  candidates: Literal["exclude", "include", "only"] = "exclude") -> dict[str, Any]:  # fmt: skip
        """Start a benchmark run of a dataset (NAME or NAME@VERSION) against a model such as openai/gpt-4o or recorded."""
        from evergold.calls.targets import refuse_remote

        refuse_remote(model)
        given = {
            "dataset": dataset,
            "model": model,
            "metrics": tuple(metrics),
            "judge": judge,
            "candidates": candidates,
        }
        spec, bench = _validate(RunSpec, given | {"limit": limit, "trials": trials}), self._ws.bench
        run = bench.run_here(spec) if self._works_here else bench.start(spec)
        if self._works_here:
            threading.Thread(target=bench.work_on, args=(run.id,), name="evergold-mcp-run", daemon=True).start()
        return {"run_id": run.id, "next_step": "ask get_run until it has ended"}

    def list_runs(self, dataset: str = "", model: str = "", limit: int = 10) -> list[dict[str, Any]]:
        """List benchmark runs, newest first."""
        page, _ = self._ws.bench.page(dataset=dataset or None, model=model or None, limit=_size(limit))
        return [_run_line(one) | {"at": one.created_at} for one in page]

    def get_run(self, run_id: str, worst: int = 5) -> dict[str, Any]:
        """Show a run: how far it is, the mean of every metric with its interval, and the worst answers."""
        run = self._ws.bench.get(run_id)
        results = self._ws.bench.results
        page = results.page(run_id, order="worst", limit=min(max(0, worst), 20)) if worst > 0 else []
        asked = results.read_questions(run_id, [one.case_id for one in page])
        worst_answers = []
        for one in page:
            of_case = asked.get(one.case_id)
            texts = {name: getattr(of_case, name, None) for name in ("question", "reference")}
            texts |= {"answer": one.error or one.output}
            values = {name: made.value for name, made in one.measurements.items()}
            shortened = {name: _cut(text, SHORT) for name, text in texts.items()}
            worst_answers.append({"case": one.case_id, **shortened, "values": values})
        counts = {"candidates_left_out": run.provenance.get("candidates_left_out", 0), "done": run.done}
        counts |= {"total": run.total, "failed": run.failed, "error": run.error}
        means = {mean.metric: str(mean) for mean in results.means(run)}
        return _run_line(run) | counts | {"means": means, "worst": worst_answers}

    def compare_runs(self, baseline: str, candidate: str) -> dict[str, Any]:
        """Compare two runs over the same cases: better, worse, same or inconclusive per metric, and the cases that changed."""
        compared = self._ws.bench.results.compare(baseline, candidate)
        return {
            "sentence": compared.sentence,
            "metrics": [
                {
                    "metric": one.metric, "baseline": round(one.first, 4), "candidate": round(one.second, 4),
                    "difference": round(one.difference, 4), "interval": [round(one.low, 4), round(one.high, 4)],
                    "verdict": one.verdict.value, "cases": one.n, "lost": one.lost[:10], "gained": one.gained[:10],
                }
                for one in compared.metrics
            ],
            "warnings": list(compared.warnings)[:5],
        }  # fmt: skip


WRITING = ("propose_case", "start_run")
TOOLS = {name: Role.EDITOR if name in WRITING else Role.READER for name in vars(Tools) if not name.startswith("_")}
"""Every tool, with the role that it needs."""


def _size(limit: int) -> int:
    return min(max(1, limit), MOST)


def _cut(text: str | None, most: int) -> str | None:
    return text if text is None or len(text) <= most else f"{text[:most]}… ({len(text)} characters)"


def _validate(shape: Any, given: Mapping[str, Any]) -> Any:
    """Make a filter or spec of what was given; an empty value was not."""
    try:
        return shape.model_validate({name: value for name, value in given.items() if value not in ("", 0, ())})
    except ValidationError as problem:
        raise BadInput(str(first_fault(problem, shape))) from None


def _filter(**given: str) -> Any:
    from evergold.store.trace.filter import TraceFilter

    many = {name: [given[name]] for name in ("score", "model", "tag") if given.get(name)}
    return _validate(TraceFilter, given | many)


def _score_line(score: Score) -> str:
    comment = f": {_cut(score.comment, 100)}" if score.comment else ""
    return f"{score.name} = {score.value:g} ({score.source.value}){comment}"


def _run_line(run: Run) -> dict[str, Any]:
    return {"id": run.id, "dataset": run.spec.dataset, "model": run.spec.model, "status": run.status.value}


def _trace_line(trace: Trace) -> dict[str, Any]:
    return {
        "id": trace.id,
        "started": trace.started_at,
        "status": trace.status.value,
        "name": trace.name,
        "input": _cut(trace.input, SHORT),
        "output": _cut(trace.output, SHORT),
        "scores": [_score_line(score) for score in trace.scores[:20]],
    }


def _case_line(case: Case) -> dict[str, Any]:
    return {
        "dataset": case.dataset,
        "id": case.id,
        "type": case.entry_type.value,
        "evidence": case.evidence.value,
        "review": case.review.value,
        "input": _cut(case.input, SHORT),
        "expected": _cut(case.shown_answers()["expected_output"], SHORT),
        "tags": case.tags,
        **({"proposed_by": case.metadata["proposed_by"]} if "proposed_by" in case.metadata else {}),
    }


CONFIG_FILES = {  # where a client reads its servers, and its skills
    "claude": (".mcp.json in your project", ".claude/skills"),
    "codex": ("~/.codex/config.toml", ".agents/skills"),
    "cursor": (".cursor/mcp.json in your project", ".cursor/skills"),
}


def print_config(client: str, words: Sequence[str], url: str | None) -> str:
    """Write what goes into the file of a client, so that it uses this workspace, or the server at a URL."""
    program, *args = words
    if client == "codex":
        head = "[mcp_servers.evergold]\n"
        if url:
            return f'{head}url = "{url}/mcp"\nbearer_token_env_var = "EVERGOLD_TOKEN"\n'
        return f"{head}command = {json.dumps(program)}\nargs = {json.dumps(args)}\n"
    entry: dict[str, Any] = {"command": program, "args": args}
    if url:
        variable = "${env:EVERGOLD_TOKEN}" if client == "cursor" else "${EVERGOLD_TOKEN}"
        entry = {"type": "http", "url": f"{url}/mcp", "headers": {"Authorization": f"Bearer {variable}"}}
    return json.dumps({"mcpServers": {"evergold": entry}}, indent=2) + "\n"
