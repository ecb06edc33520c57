"""Read policy files, try policies on people's labels, and measure how often reviewers kept what policies decided.

A policy file is TOML; a mistake in it is one line that says which key is wrong and what is allowed.

name = "support"
dataset = "support-live"
ignore = ["trace_complete"]      # bookkeeping scores that never take part
llm_judge = "system"             # or "ignored", the default
tags = ["model", "tool"]
fallback_texts = ["Sorry, something went wrong*"]

[thresholds]
failure_below = 0.3
golden_from = 0.8

[eligible]
metadata = { message_type = ["text", "audio"] }

[sample]
candidate = 0.1                  # the inclusion probability is recorded with each entry

Labels of people are JSON lines, `{"trace_id": "t1", "label": "golden"}`: `golden`, `failure` or `none`. Lines of `evergold
export --format live-jsonl` are labels too (`entry_type`). A line with an `input` is a whole trace with its label, for trying a
policy on traces that are not stored.
"""

import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from evergold import plugins
from evergold.curate.classify import Verdict
from evergold.errors import BadInput, NotFound, describe_unknown
from evergold.formats.lines import numbered_lines, record_in
from evergold.model.faults import first_fault, refused_settings
from evergold.model.policy import (
    TAG_KINDS,
    ClassTrial,
    Policy,
    PolicyTrial,
    Proportion,
    ReviewAgreement,
    RuleAgreement,
    TrialDifference,
)
from evergold.model.trace import Trace
from evergold.stats.intervals import proportion_interval
from evergold.store.case.questions import Decided

DEFAULT = Policy()


def read_policy(path: Path) -> Policy:
    """The policy a file describes; every mistake in it is named at once."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as problem:
        raise NotFound(f"policy file {str(path)!r} does not exist") from problem
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise BadInput(f"policy file {str(path)!r} cannot be read as TOML: {problem}") from problem
    return parse_policy(table, origin=str(path))


def parse_policy(table: dict[str, Any], origin: str) -> Policy:
    try:
        policy = Policy.model_validate(table)
    except ValidationError as problem:
        raise refused_settings(problem, Policy, origin) from problem
    known = (*TAG_KINDS, *plugins.names("taggers"))
    for name in policy.tags:
        if name not in known:
            raise BadInput(f"{origin}: {describe_unknown('tag extractor', name, known)}")
    return policy


def policies(paths: Iterable[str | Path], default: Policy = DEFAULT) -> tuple[Policy, ...]:
    """The policies in force: `default` unless a file replaces it, then each file's; two of one name are an error."""
    policies: dict[str, Policy] = {DEFAULT.name: default}
    origin: dict[str, str] = {}
    for path in paths:
        policy = read_policy(Path(path))
        if policy.name in origin:
            raise BadInput(f"{path} and {origin[policy.name]} both describe policy {policy.name!r}; rename one")
        origin[policy.name] = str(path)
        policies[policy.name] = policy
    return tuple(policies.values())


SHOWN = 50
EXAMPLES = 5


def proportion(hits: int, of: int) -> Proportion:
    """A share with its interval."""
    interval = proportion_interval(hits, of)
    if interval is None:
        return Proportion(hits=hits, of=of)
    return Proportion(hits=hits, of=of, value=interval.value, low=interval.low, high=interval.high)


def trial_of(policy: Policy, labels: Mapping[str, str], verdicts: Mapping[str, Verdict]) -> PolicyTrial:
    """Compare the verdicts on labelled traces with their labels; labels of traces that are not there are counted."""
    made = {trace_id: verdict.tier.entry_type or "none" for trace_id, verdict in verdicts.items()}
    pairs = [(labels[trace_id], called) for trace_id, called in made.items()]
    missing = sorted(labels.keys() - made.keys())
    differences = [
        TrialDifference(
            trace_id=trace_id, label=labels[trace_id], verdict=called, reason=policy.explain(verdicts[trace_id].reason)
        )
        for trace_id, called in sorted(made.items())
        if called != labels[trace_id]
    ]
    return PolicyTrial(
        policy=policy.label,
        labelled=len(pairs),
        missing=len(missing),
        missing_examples=tuple(missing[:EXAMPLES]),
        golden=_class_trial("golden", pairs),
        failure=_class_trial("failure", pairs),
        agreement=proportion(len(pairs) - len(differences), len(pairs)),
        differences=tuple(differences[:SHOWN]),
    )


def _class_trial(name: str, pairs: list[tuple[str, str]]) -> ClassTrial:
    both = sum(label == called == name for label, called in pairs)
    return ClassTrial(
        precision=proportion(both, sum(called == name for _, called in pairs)),
        recall=proportion(both, sum(label == name for label, _ in pairs)),
    )


CLASSES = {
    "golden": "golden",
    "confirmed": "golden",
    "unconfirmed": "golden",
    "candidate": "golden",
    "failure": "failure",
    "correction": "failure",
    "none": "none",
}
KEYS = ("label", "entry_type", "expected", "tier")


@dataclass
class Labelled:
    """Labels by trace, and the traces that came with them."""

    labels: dict[str, str] = field(default_factory=dict)
    traces: list[Trace] = field(default_factory=list)


def read_labels(path: Path) -> Labelled:
    """Read a file of labels; every mistake names its line."""
    labelled = Labelled()
    try:
        for number, line in numbered_lines(path):
            _take(labelled, line, f"{path}:{number}")
    except FileNotFoundError as problem:
        raise NotFound(f"file of labels {str(path)!r} does not exist") from problem
    except OSError as problem:
        raise BadInput(f"file of labels {str(path)!r} cannot be read: {problem.strerror}") from problem
    if not labelled.labels:
        raise BadInput(f'{path} holds no labels; write lines like {{"trace_id": "t1", "label": "golden"}}')
    return labelled


def _take(labelled: Labelled, line: bytes, where: str) -> None:
    try:
        record = record_in(line)
    except BadInput as problem:
        raise BadInput(f"{where}: {problem.message}; a line is an object with trace_id and label") from problem
    key = next((key for key in KEYS if key in record), "label")
    # null in `entry_type` of an export means that the trace has no entry.
    label = "none" if record.get(key, "") is None else record.get(key)
    if not isinstance(label, str) or label not in CLASSES:
        raise BadInput(f"{where}: {key} = {label!r}; a label is golden, failure or none")
    trace_id = record.get("trace_id", record.get("id"))
    if not isinstance(trace_id, str) or not trace_id:
        raise BadInput(f"{where}: trace_id = {trace_id!r}; it is the id of a trace")
    if labelled.labels.get(trace_id, CLASSES[label]) != CLASSES[label]:
        raise BadInput(f"{where}: trace {trace_id!r} has two different labels; keep one")
    # A trace that comes with its label is judged in a workspace of its own.
    if "input" in record and "trace_id" not in record and trace_id not in labelled.labels:
        labelled.traces.append(_trace({name: value for name, value in record.items() if name != key}, where))
    labelled.labels[trace_id] = CLASSES[label]


def _trace(record: dict[str, Any], where: str) -> Trace:
    try:
        return Trace.model_validate(record)
    except ValidationError as problem:
        raise BadInput(f"{where}: {first_fault(problem, Trace)}") from problem


Count = list[int]  # agreed, of


def agreement_of(cases: Iterable[Decided]) -> ReviewAgreement:
    """Sum the decided cases up; rules and checks with most disagreements come first."""
    classes: dict[str, Count] = defaultdict(lambda: [0, 0])
    rules: dict[tuple[str, str], Count] = defaultdict(lambda: [0, 0])
    checks: dict[tuple[str, str], Count] = defaultdict(lambda: [0, 0])
    reviewed = agreed = 0
    for case in cases:
        same = int(case.machine == case.person)
        reviewed, agreed = reviewed + 1, agreed + same
        named = [checks[name, case.machine] for name in case.checks]
        for count in (classes[case.machine], rules[case.rule, case.machine], *named):
            count[0] += same
            count[1] += 1
    return ReviewAgreement(
        reviewed=reviewed,
        disagreed=reviewed - agreed,
        golden=_share(classes, "golden"),
        failure=_share(classes, "failure"),
        rules=_list_rules(rules),
        checks=_list_rules(checks),
    )


def _share(classes: Mapping[str, Count], name: str) -> Proportion:
    return proportion(*classes.get(name, [0, 0]))


def _list_rules(counts: Mapping[tuple[str, str], Count]) -> list[RuleAgreement]:
    rows = [
        RuleAgreement(name=name, verdict=verdict, agreed=proportion(agreed, of))
        for (name, verdict), (agreed, of) in counts.items()
    ]
    # Most disagreements first, then the most frequent: where a rule should be looked at.
    return sorted(rows, key=lambda each: (each.agreed.hits - each.agreed.of, -each.agreed.of, each.name, each.verdict))
