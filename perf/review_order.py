"""What 50 reviews find in the order of `review next`, at random and newest first, over labelled intents.

`python -m perf.review_order FOLDER [--cases 2000] [--tries 10]` reads the sets of `perf.topics`. Cases are questions of the set;
which of them are wrong is made by a rule: in one intent of ten an answer is wrong with .8, elsewhere with .03. A review says
what is true.
"""

import argparse
from pathlib import Path

import numpy as np

from evergold.model.case import Case, TierEvidence
from evergold.model.review import CaseKey, Decision, ReviewVerdict
from evergold.store.case.writes import Author, put_cases
from perf.measuring import print_figure
from perf.topics import START, Row, open_workspace, read_sets, send

REVIEWS, STEP = 50, 1


def measure_order(rows: list[Row], cases: int, random: np.random.Generator) -> tuple[int, float, int]:
    """Count the wrong cases among 50 reviews: in our order, at random (expected), and of the newest."""
    intents = sorted({intent for _, intent in rows})
    broken = set(random.choice(intents, size=len(intents) // 10, replace=False).tolist())
    drawn = [rows[i] for i in random.permutation(len(rows))[:cases]]
    wrong = {
        f"c{n}": bool(random.random() < (0.8 if intent in broken else 0.03)) for n, (_, intent) in enumerate(drawn)
    }
    with open_workspace() as workspace:
        listed = [
            Case(id=f"c{n}", dataset="d", input=text, output="An answer.", evidence=TierEvidence.SILENCE)
            for n, (text, _) in enumerate(drawn)
        ]
        send(workspace, "t", drawn, START)
        workspace.store.write(put_cases, listed, Author())
        ours = 0
        for _ in range(REVIEWS // STEP):
            for one in workspace.review_order.list_next(STEP, seconds=600):
                ours += wrong[one.id]
                verdict = ReviewVerdict.DISMISS if wrong[one.id] else ReviewVerdict.APPROVE
                workspace.review.decide(CaseKey(dataset="d", id=one.id), Decision(version=1, verdict=verdict), "perf")
    newest = sum(wrong[f"c{n}"] for n in range(cases - REVIEWS, cases))
    return ours, REVIEWS * float(np.mean(list(wrong.values()))), newest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--tries", type=int, default=10)
    given = parser.parse_args()
    random = np.random.default_rng(0)
    for name, rows in read_sets(given.folder).items():
        figures = np.array([measure_order(rows, given.cases, random) for _ in range(given.tries)], dtype=float)
        ours, chance, newest = figures.mean(axis=0)
        error = figures.std(axis=0, ddof=1) / given.tries**0.5
        print(
            f"{name}, {given.tries} tries: wrong cases among {REVIEWS} reviews: {ours:.1f} ±{error[0]:.1f} in our order, "
            f"{chance:.1f} at random, {newest:.1f} newest; more than the newest in {(figures[:, 0] > figures[:, 2]).sum()} tries"
        )
        print_figure("times as many as at random", ours / chance, "", 2.0, at_least=True)


if __name__ == "__main__":
    main()
