"""Fit the weights of remark detection, and measure it.

    python -m scripts.fit_remarks DATA            fit, write remark_weights.json, measure
    python -m scripts.fit_remarks DATA --measure  measure the shipped weights only
    python -m scripts.fit_remarks DATA --read N   print the N most probable remarks of the chats of people, to be labelled

DATA is a folder with copies of public chats, none of which is part of this repository: `sgd/` (dev split of the Schema-Guided
Dialogue dataset), `eurtad/` (EURTAD, analysis/filtered_dialogs) and, for measuring alone, `uss/` (User Satisfaction
Simulation). docs/detection.md has their licences and counts, docs/measurements/detection.md the figures.
"""

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evergold.curate import remark_model as model
from evergold.curate.remark_features import feature_names, see
from scripts.remark_data import (
    KINDS,
    LISTS,
    UNCLEAR,
    Labelled,
    annotated_chats,
    guided_chats,
    remarks,
    satisfaction_chats,
)

WEIGHTS = Path(model.__file__).with_name("remark_weights.json")
RIDGE = 0.5
STEPS = 300
BACKGROUND = 5.0  # what the unread chats of people weigh, against the written list
SPOKEN = ("SelfFeeding", "Personachat", "WoW")  # the parts of EURTAD that share no chat with what is measured on
Floats = NDArray[np.float64]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--measure", action="store_true", help="measure the shipped weights, fit nothing")
    parser.add_argument("--read", type=int, default=0, help="print so many probable remarks of the chats of people")
    parser.add_argument("--unseen", action="store_true", help="with --read: of the chats that only measure")
    options = parser.parse_args()
    if options.read:
        chats = unseen(options.data) if options.unseen else background(options.data)
        show(chats, options.read)
        return
    if not options.measure:
        fitted = fit(list(remarks(LISTS / "shaping.txt")), background(options.data))
        WEIGHTS.write_text(json.dumps(fitted, indent=1) + "\n", "utf-8")
        model.shipped.cache_clear()
        report("shaping (fitted on)", list(remarks(LISTS / "shaping.txt")))
    for language in ("en", "es"):
        report(f"measured_{language}", list(remarks(LISTS / f"measured_{language}.txt")))


def background(data: Path) -> list[Labelled]:
    """The chats of people that shape the weights."""
    spoken = [each for part in SPOKEN for each in annotated_chats(data / "eurtad" / part)]
    return [each for each in [*guided_chats(data / "sgd"), *spoken] if each.kind != UNCLEAR]


def unseen(data: Path) -> list[Labelled]:
    """The chats of people that measure and never shape."""
    return [each for path in sorted((data / "uss").glob("*.txt")) for each in satisfaction_chats(path)]


def fit(written: Sequence[Labelled], chats: Sequence[Labelled]) -> dict[str, object]:
    """Fit a multinomial logistic regression with a ridge; the written list and the chats weigh as stated."""
    names = feature_names()
    rows = matrix([*written, *chats], names)
    kinds = np.array([KINDS.index(each.kind) for each in [*written, *chats]])
    unread = BACKGROUND * len(written) / max(len(chats), 1)
    weight = np.array([1.0] * len(written) + [1.0 if each.read else unread for each in chats])
    target = np.eye(len(KINDS))[kinds]
    beta = _descend(rows, target, weight)
    return {
        "kinds": KINDS,
        "features": {name: [round(float(value), 3) for value in beta[at]] for at, name in enumerate(("", *names))},
    }


def matrix(chats: Iterable[Labelled], names: Sequence[str]) -> Floats:
    place = {name: at + 1 for at, name in enumerate(names)}
    rows = []
    for each in chats:
        row = np.zeros(len(names) + 1)
        row[0] = 1.0
        for name, value in see(each.message, each.answer, each.question).values.items():
            row[place[name]] = value
        rows.append(row)
    return np.array(rows)


def _descend(rows: Floats, target: Floats, weight: Floats) -> Floats:
    """Minimise the weighted cross entropy by Adam; the intercepts carry no ridge."""
    beta = np.zeros((rows.shape[1], target.shape[1]))
    first, second = np.zeros_like(beta), np.zeros_like(beta)
    for step in range(1, STEPS + 1):
        scores = rows @ beta
        scores -= scores.max(axis=1, keepdims=True)
        share = np.exp(scores)
        share /= share.sum(axis=1, keepdims=True)
        slope = rows.T @ ((share - target) * weight[:, None])
        slope[1:] += RIDGE * beta[1:]
        first = 0.9 * first + 0.1 * slope
        second = 0.999 * second + 0.001 * slope**2
        rate = 0.05 * (0.1 ** (step / STEPS))
        beta -= rate * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-9)
    return beta


def report(name: str, labelled: Sequence[Labelled]) -> None:
    """Print how many alarms (corrections and complaints) are right, how many were found, and how many kinds agree."""
    found = right = there = agree = both = 0
    for each in labelled:
        kind = model.classify(each.message, each.answer, each.question, each.reply).kind.value
        alarm, real = kind in model.ALARMS, each.kind in model.ALARMS
        found, there, right = found + alarm, there + real, right + (alarm and real)
        both, agree = both + (alarm and real), agree + (alarm and real and kind == each.kind)
    print(
        f"{name:32} precision {right}/{found} = {right / max(found, 1):.3f}  recall {right}/{there} = "
        f"{right / max(there, 1):.3f}  kind right {agree}/{both}"
    )


def show(chats: Sequence[Labelled], most: int) -> None:
    judged = [(model.classify(each.message, each.answer, each.question, each.reply), each) for each in chats]
    judged.sort(key=lambda pair: -pair[0].alarm)
    for guess, each in judged[:most]:
        print(
            f"{guess.alarm:.2f} {guess.kind.value:10} {each.kind:10} {each.id}\n    Q {each.question[:150]}\n"
            f"    A {each.answer[-220:]}\n    M {each.message[:300]}"
        )


if __name__ == "__main__":
    main()
