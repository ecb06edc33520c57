"""Try a policy against people's labels: precision and recall of what it calls golden and failure. Nothing is written."""

from collections.abc import Mapping

from evergold.curate.classify import Verdict
from evergold.model.policy import Policy
from evergold.model.policy_trial import ClassTrial, PolicyTrial, Proportion, TrialDifference
from evergold.stats.intervals import proportion_interval

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
