"""Print a trial of `evergold curate --against`."""

from collections.abc import Sequence

from evergold.cli.output import echo, emit_json, table
from evergold.model.policy_trial import PolicyTrial, Proportion

SHOWN = 10


def print_trials(trials: Sequence[PolicyTrial], as_json: bool) -> None:
    """Precision and recall with their intervals, then the first traces on which people and policy differ."""
    if as_json:
        emit_json({"trials": list(trials)})
        return
    for trial in trials:
        rows = [
            (name, _shown(part.precision), _shown(part.recall))
            for name, part in (("golden", trial.golden), ("failure", trial.failure))
        ]
        table(f"{trial.policy} on {trial.labelled} labelled traces", ("class", "precision", "recall"), rows)
        if trial.missing:
            named = ", ".join(trial.missing_examples)
            echo(f"{trial.missing} labels are of traces that are not here, for example: {named}", err=True)
        for each in trial.differences[:SHOWN]:
            echo(f"  {each.trace_id}: people say {each.label}, the policy {each.verdict}: {each.reason}")


def _shown(share: Proportion) -> str:
    # Without a hit or a label of the class there is no share to show.
    if share.value is None or share.low is None or share.high is None:
        return "nothing to measure"
    return f"{share.value:.3f} ({share.low:.3f} … {share.high:.3f}; {share.hits} of {share.of})"
