"""Measure how often reviewers kept what policies decided, by rule and by check."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from evergold.curate.trial import proportion
from evergold.model.policy_trial import Proportion, ReviewAgreement, RuleAgreement
from evergold.store.review_agreement import Decided

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
        rules=_listed(rules),
        checks=_listed(checks),
    )


def _share(classes: Mapping[str, Count], name: str) -> Proportion:
    return proportion(*classes.get(name, [0, 0]))


def _listed(counts: Mapping[tuple[str, str], Count]) -> list[RuleAgreement]:
    rows = [
        RuleAgreement(name=name, verdict=verdict, agreed=proportion(agreed, of))
        for (name, verdict), (agreed, of) in counts.items()
    ]
    # Most disagreements first, then the most frequent: where a rule should be looked at.
    return sorted(rows, key=lambda each: (each.agreed.hits - each.agreed.of, -each.agreed.of, each.name, each.verdict))
