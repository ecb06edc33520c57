"""How often verdicts and intervals are right, by simulation beside scipy's t-test: false alarms, power, coverage, gates.

`python -m perf.statistics [--repeats 1000]` calls what every command and page calls (`evergold.compare_scores`,
`mean_score`, `agreement`) on made-up scores whose truth is known: pass and fail, grades, grades that are mostly the best
one; each case by itself or in groups of unequal size.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import stats as scipy_stats

from evergold import agreement, compare_scores, mean_score
from perf.measuring import print_figure

Floats = NDArray[np.float64]
Kind = Callable[[np.random.Generator, float, Floats], Floats]  # a true mean and a difficulty per case → scores

CASES = (6, 8, 10, 20, 50)
CLUSTERS = (6, 10, 20)
MEANS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
LABELS = (20, 50, 100)
GATE_CASES = (20, 50, 100, 200)
FLIPPING = (0.0, 0.05, 0.1)


def pass_or_fail(_: np.random.Generator, mean: float, hard: Floats) -> Floats:
    return (hard < mean).astype(float)


def grades(random: np.random.Generator, mean: float, hard: Floats) -> Floats:
    """Grades from 0 to 10, spread around the mean."""
    spread = scipy_stats.beta.ppf(hard, mean * 4, (1 - mean) * 4)
    return np.asarray(random.binomial(10, np.clip(spread, 0, 1)) / 10, dtype=np.float64)


def mostly_ten(random: np.random.Generator, mean: float, hard: Floats) -> Floats:
    """Grades that are 10 or seldom lower; mirrored for low means."""
    if mean < 0.5:
        return np.asarray(1 - mostly_ten(random, 1 - mean, hard))
    top = (mean - 0.45) / 0.55
    return np.where(hard < top, 1.0, random.integers(0, 10, hard.size) / 10)


KINDS: dict[str, Kind] = {"pass or fail": pass_or_fail, "grades": grades, "mostly 10": mostly_ten}


def pairs(
    random: np.random.Generator, kind: Kind, mean: float, difference: float, groups: NDArray[np.intp]
) -> tuple[Floats, Floats]:
    """Draw two models on the same cases: half of a case's difficulty is the case's own, and groups share some of it."""
    shared = _difficulty(random, groups)
    second = np.where(random.random(groups.size) < 0.5, shared, _difficulty(random, groups))
    return kind(random, mean, shared), kind(random, mean + difference, second)


def _difficulty(random: np.random.Generator, groups: NDArray[np.intp]) -> Floats:
    """Uniform numbers, of which groups larger than one share a third."""
    own, of_group = random.random(groups.size), random.random(int(groups.max()) + 1)
    if groups.size == of_group.size:
        return own
    return np.where(random.random(groups.size) < 1 / 3, of_group[groups], own)


def groups_of(random: np.random.Generator, count: int) -> NDArray[np.intp]:
    """Groups of one to five cases."""
    return np.repeat(np.arange(count), random.integers(1, 6, count))


def alarms_and_power(repeats: int) -> Iterator[tuple[str, int, float, float, float, float]]:
    """Kind, cases, true difference → how often decided, by us and by a t-test, and how often our interval holds it."""
    for name, kind in KINDS.items():
        for count in CASES:
            for mean, difference in ((0.5, 0.0), (0.85, 0.0), (0.5, 0.1), (0.7, 0.2), (0.4, 0.4)):
                random = np.random.default_rng([count, int(mean * 100), int(difference * 100)])
                ours = theirs = inside = 0
                for _ in range(repeats):
                    before, after = pairs(random, kind, mean, difference, np.arange(count))
                    result = compare_scores(before.tolist(), after.tolist(), margin=0)
                    ours += result.verdict.value in ("better", "worse")
                    inside += result.low - 1e-9 <= difference <= result.high + 1e-9
                    change = after - before
                    theirs += bool(np.ptp(change) > 0 and scipy_stats.ttest_1samp(change, 0).pvalue < 0.05)
                yield name, count, difference, ours / repeats, theirs / repeats, inside / repeats


def alarms_in_groups(repeats: int) -> Iterator[tuple[str, int, float]]:
    """Kind, groups → how often two equal models are told apart."""
    for name, kind in KINDS.items():
        for count in CLUSTERS:
            random, alarms = np.random.default_rng(count), 0
            for _ in range(repeats):
                groups = groups_of(random, count)
                before, after = pairs(random, kind, 0.6, 0, groups)
                result = compare_scores(before.tolist(), after.tolist(), groups=groups.tolist(), margin=0)
                alarms += result.verdict.value in ("better", "worse")
            yield name, count, alarms / repeats


def coverage_of_means(repeats: int, in_groups: bool) -> Iterator[tuple[str, int, float, float]]:
    """Kind, cases or groups → how often the interval of a mean holds the truth: on average over true means, and least."""
    for name, kind in KINDS.items():
        for count in CLUSTERS if in_groups else CASES:
            shares = []
            for mean in MEANS:
                random, inside = np.random.default_rng([count, int(mean * 100)]), 0
                for _ in range(max(1, repeats // 4)):
                    groups = groups_of(random, count) if in_groups else np.arange(count)
                    values = kind(random, mean, _difficulty(random, groups))
                    found = mean_score(values.tolist(), groups=groups.tolist() if in_groups else None)
                    assert found.low is not None and found.high is not None
                    inside += found.low - 1e-9 <= mean <= found.high + 1e-9
                shares.append(inside / max(1, repeats // 4))
            yield name, count, float(np.mean(shares)), min(shares)


def coverage_of_kappa(repeats: int) -> Iterator[tuple[int, float, float]]:
    """Labels → how often the interval of kappa holds the truth, on average over judges and shares, and least."""
    for count in LABELS:
        shares = []
        for passing in (0.3, 0.5, 0.7, 0.8):
            for kappa in (0.0, 0.3, 0.6, 0.8, 0.9):
                random, inside = np.random.default_rng([count, int(passing * 10), int(kappa * 10)]), 0
                rounds = max(1, repeats // 4)
                for _ in range(rounds):
                    labels = random.random(count) < passing
                    # With probability kappa the judge repeats the label, else it guesses at the same rate.
                    guesses = random.random(count) < passing
                    judged = np.where(random.random(count) < kappa, labels, guesses)
                    found = agreement([*map(float, judged)], [*map(float, labels)])
                    inside += found.low is None or found.high is None or found.low - 1e-9 <= kappa <= found.high + 1e-9
                shares.append(inside / rounds)
        yield count, float(np.mean(shares)), min(shares)


def green_gates(repeats: int) -> Iterator[tuple[int, float, float, float]]:
    """Cases, share of cases that flip either way at random → how often gates of an unchanged model are green.

    The first is `--gate`, the second `--gate cases`, which fails where a case that passed fails now and in two retries.
    """
    for count in GATE_CASES:
        for flipping in FLIPPING:
            random, green, by_case = np.random.default_rng([count, int(flipping * 100)]), 0, 0
            for _ in range(repeats):
                before = random.random(count) < 0.8
                flips = random.random(count) < flipping
                after, again, at_last = (np.where(flips, random.random(count) < 0.8, before) for _ in range(3))
                result = compare_scores([*map(float, before)], [*map(float, after)])
                green += result.verdict.value != "worse" and result.lower >= -0.05
                by_case += not bool(np.any(before & ~after & ~again & ~at_last))
            yield count, flipping, green / repeats, by_case / repeats


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=1000)
    repeats = parser.parse_args().repeats
    print("| scores | cases | true difference | decided | t-test | interval holds it |\n|---|---|---|---|---|---|")
    rows = list(alarms_and_power(repeats))
    for name, count, difference, ours, theirs, inside in rows:
        print(f"| {name} | {count} | {difference} | {ours:.3f} | {theirs:.3f} | {inside:.3f} |")
    print("\n| scores | groups | false alarms |\n|---|---|---|")
    grouped = list(alarms_in_groups(repeats))
    for name, count, share in grouped:
        print(f"| {name} | {count} | {share:.3f} |")
    means = [(unit, *row) for unit in ("cases", "groups") for row in coverage_of_means(repeats, unit == "groups")]
    print("\n| scores | over | interval of the mean holds it | least |\n|---|---|---|---|")
    for unit, name, count, average, least in means:
        print(f"| {name} | {count} {unit} | {average:.3f} | {least:.3f} |")
    kappas = list(coverage_of_kappa(repeats))
    print("\n| labels | interval of kappa holds it | least |\n|---|---|---|")
    for count, average, least in kappas:
        print(f"| {count} | {average:.3f} | {least:.3f} |")
    print("\n| cases | flipping | `--gate` is green | `--gate cases` is green |\n|---|---|---|---|")
    for count, flipping, share, by_case in green_gates(repeats):
        print(f"| {count} | {flipping:.0%} | {share:.3f} | {by_case:.3f} |")
    print()
    alarms = max([ours for _, _, difference, ours, _, _ in rows if difference == 0] + [share for *_, share in grouped])
    lost = max(theirs - ours for _, _, difference, ours, theirs, _ in rows if difference >= 0.1)
    met = [
        print_figure("most false alarms", alarms, "of decisions", 0.06),
        print_figure("most power lost to a t-test", lost, "of decisions", 0.05),
        print_figure("mean held, 8 groups and more", _least(means, 8, 99), "", 0.93, at_least=True),
        print_figure("mean held, 6 groups", _least(means, 6, 6), "", 0.92, at_least=True),
        print_figure("kappa held", min(average for _, average, _ in kappas), "", 0.93, at_least=True),
    ]
    return 0 if all(met) else 1


def _least(means: Sequence[tuple[str, str, int, float, float]], fewest: int, most: int) -> float:
    return min(average for _, _, count, average, _ in means if fewest <= count <= most)


if __name__ == "__main__":
    raise SystemExit(main())
