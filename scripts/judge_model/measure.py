"""Measure the offline judge and the remark detector on sets that nothing was trained on.

    python -m scripts.judge_model.measure ask DATA ROWS.jsonl OUT.jsonl.xz     what the encoder is asked where it is trained
    python -m scripts.judge_model.measure fit ANSWERS.npz NAME ASKED.jsonl.xz…       fit and write `calibration.json`
    python -m scripts.judge_model.measure figures ANSWERS.npz NAME ASKED.jsonl.xz…   print the table of the docs
    python -m scripts.judge_model.measure people DATA                          answers to NQ and TriviaQA that people graded
    python -m scripts.judge_model.measure probes                               measure correctness, shipped encoder
    python -m scripts.judge_model.measure remarks                              measure the lists of remarks, shipped encoder

The encoder's answers to many thousand rows are computed where it is trained (`train`: ANSWERS, by NAME of the weights),
rounded as it is shipped; `tests/judge` compares some of them with what the package answers.
"""

import json
import lzma
import random
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evergold.curate.remark_encoder import THRESHOLD, weigh_reply
from evergold.judge import offline
from evergold.judge.encoder import shipped_encoder
from evergold.judge.evidence import windows
from evergold.judge.offline import OfflineJudge, grade_pairs
from evergold.judge.rules import grade_by_rule
from evergold.text.words import Text, sentences
from scripts.judge_model.sets import SPANISH, SUPPORT, graded
from scripts.remark_data import LISTS, remarks, satisfaction_chats

PROBES = Path(__file__).parents[2] / "tests" / "judge" / "probes"
MOST, PEOPLE = 600, 300
Row = dict[str, Any]


def ask(data: Path, held: Path) -> Iterator[Row]:
    for name, read in {**SUPPORT, **SPANISH}.items():
        claims = list(read(data))
        random.Random(7).shuffle(claims)
        for number, claim in enumerate(claims[:MOST]):
            label = 0 if claim.supported else 2 if claim.refuted else 1
            evidence = OfflineJudge().evidence(claim.passages)
            for part, text in enumerate(sentences(claim.text) or (claim.text,)):
                for read in windows(Text(text), evidence) if Text(text).stems and evidence.sentences else ():
                    base = {"set": name, "item": number, "part": part, "task": "support", "label": label}
                    yield base | {"texts": [read, text]}
    for row in map(json.loads, held.read_text().splitlines()):
        if row["held"] and row["label"] >= 0:
            base = {"set": f"held:{row['source']}", "item": 0, "part": 0, "task": "support", "label": row["label"]}
            yield base | {"texts": [row["premise"], row["claim"]]}
    yield from ask_probes()
    yield from ask_lists()
    for path in sorted((data / "sunnweiwei+user-satisfaction-simulation/dataset").glob("*.txt")):
        if path.stem in ("SGD", "MWOZ", "CCPE", "ReDial"):
            chats = list(satisfaction_chats(path))
            random.Random(7).shuffle(chats)
            for number, each in enumerate(chats[:MOST]):
                texts = [each.question, each.answer, each.message, each.reply or ""]
                yield {"set": f"chats_{path.stem}", "item": number, "task": "remark", "texts": texts, "label": each.id}


def ask_lists() -> Iterator[Row]:
    for language in ("en", "es"):
        for number, each in enumerate(remarks(LISTS / f"measured_{language}.txt")):
            texts = [each.question, each.answer, each.message, ""]
            yield {"set": f"remarks_{language}", "item": number, "task": "remark", "texts": texts, "label": each.kind}


def ask_probes() -> Iterator[Row]:
    for path in sorted(PROBES.glob("*.jsonl")):
        for number, probe in enumerate(map(json.loads, path.read_text("utf-8").splitlines())):
            base = {"set": path.stem, "item": number, "class": probe.get("class", "")}
            if "right" in probe:
                for verdict in ("right", "wrong"):
                    label = {"label": int(verdict == "right")}
                    yield from ask_grade(base | label, probe["question"], probe["expected"], probe[verdict])
            elif "distractor" in probe:
                for key in ("relevant", "distractor"):
                    texts = [probe["question"], probe[key]]
                    yield base | {"task": "relevant", "texts": texts, "label": int(key == "relevant")}
            elif "statement" in probe:
                texts = [probe["question"], probe["statement"]]
                yield base | {"task": "relevant", "texts": texts, "label": int(probe["verdict"] == "relevant")}
            else:
                label = {"label": int(probe["verdict"] == "right")}
                yield from ask_grade(base | label, probe["question"], probe["expected"], probe["answer"])


def ask_grade(base: Row, question: str, expected: str, output: str) -> Iterator[Row]:
    """A row for the head of correctness, and behind it those for the head of support."""
    yield base | {"task": "correct", "texts": [question, expected, output]}
    for pair in grade_pairs(question, expected, output):
        yield base | {"task": "support", "texts": list(pair)}


Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
CALIBRATION, FIGURES = (Path(offline.__file__).with_name(f"{name}.json") for name in ("calibration", "figures"))
SHAPING = ("shaping", "second_shaping", "third_shaping")
WRITTEN = "written"
"""Held-out items that were written for training."""
BLIND = ("blind", "second_blind")
GRADED = (*BLIND, "measuring", "second_measuring", "fresh", *SHAPING)
CONTRADICTED = 0.85
"""Of as many supported, unknown and refuted claims, at least this share of those called contradicted has to be refuted."""
CHANCE, MOST_UNCERTAIN = 0.6, 0.2
"""Near a threshold, where fewer answers than this are right, one is uncertain; at most this share of all answers is."""


class Asked:
    """What was asked, and the encoder's answers: the rows of the regressions by set."""

    def __init__(self, rows: list[Row], logits: NDArray[Any]) -> None:
        self.rows, self.logits = rows, logits.astype(np.float32)
        if len(self.rows) != len(self.logits):
            raise SystemExit(f"{len(self.rows)} rows were asked and {len(self.logits)} are answered")

    def of(self, name: str) -> list[int]:
        return [number for number, row in enumerate(self.rows) if row["set"] == name]

    def support(self, name: str) -> tuple[list[list[list[dict[str, float]]]], Bools]:
        """The features of each window of each sentence of each item, and whether people found the item supported."""
        items: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        for number in self.of(name):
            items[self.rows[number]["item"]][self.rows[number]["part"]].append(number)
        features = [[[self._support(n) for n in read] for read in parts.values()] for parts in items.values()]
        good = [self.rows[next(iter(parts.values()))[0]]["label"] == 0 for parts in items.values()]
        return features, np.array(good)

    def _support(self, number: int) -> dict[str, float]:
        window, claim = self.rows[number]["texts"]
        return offline.support_features(Text(claim), window, self.logits[number, :3])

    def grades(self, name: str) -> list[tuple[Row, dict[str, float]]]:
        """The rows of a set of answers, and what the calibration of correctness weighs."""
        found = []
        for number in self.of(name):
            row = self.rows[number]
            if row["task"] == "correct":
                pairs = len(offline.grade_pairs(*row["texts"]))
                supports = self.logits[number + 1 : number + 1 + pairs, :3]
                right = float(self.logits[number, 0])
                found.append((row, offline.grade_features(*row["texts"], right, supports)))
        return found

    def alarms(self, chosen: list[int]) -> Bools:
        """Which messages are corrections or complaints, whatever the next answer says."""
        odds = np.exp(self.logits[chosen].astype(float))
        read = odds[:, 1:3].sum(1) / odds.sum(1)
        return np.array([weigh_reply(float(one), None, False) >= THRESHOLD for one in read])

    def relevance(self, name: str) -> tuple[list[dict[str, float]], Bools]:
        chosen = self.of(name)
        rows = [offline.relevance_features(*self.rows[n]["texts"], float(self.logits[n, 0])) for n in chosen]
        return rows, np.array([self.rows[n]["label"] == 1 for n in chosen])


def regress(rows: Sequence[dict[str, float]], labels: Bools, weights: Floats, ridge: float = 1.0) -> dict[str, Any]:
    """Fit a logistic regression by Newton's method; both classes weigh the same."""
    names = list(rows[0])
    x = np.array([[row[name] for name in names] + [1.0] for row in rows])
    y = labels.astype(float)
    weights = weights * np.where(y == 1, 0.5 / (weights * y).sum(), 0.5 / (weights * (1 - y)).sum()) * len(y)
    beta = np.zeros(x.shape[1])
    penalty = ridge * np.eye(x.shape[1])
    penalty[-1, -1] = 1e-6
    for _ in range(30):
        share = 1 / (1 + np.exp(-np.clip(x @ beta, -30, 30)))
        slope = x.T @ (weights * (share - y)) + penalty @ beta
        curve = (x * (weights * share * (1 - share))[:, None]).T @ x + penalty
        beta -= np.linalg.solve(curve, slope)
    fitted = [round(float(one), 4) for one in beta]
    return {"weights": dict(zip(names, fitted, strict=False)), "bias": fitted[-1]}


def values_of(head: dict[str, Any], rows: Sequence[dict[str, float]]) -> Floats:
    regression = offline.Regression(**head)
    return np.array([regression.probability(row) for row in rows])


def fit(asked: Asked) -> dict[str, Any]:
    """Fit support on held-out rows of the training sources, correctness and relevance on the probes that shape."""
    held = [n for n, row in enumerate(asked.rows) if row["set"].startswith("held:")]
    features = [asked._support(number) for number in held]
    kinds = np.array([asked.rows[number]["label"] for number in held])
    sources = [asked.rows[number]["set"] for number in held]
    weights = np.array([1 / max(60, sources.count(source)) for source in sources])
    heads, borders, unsure = {}, {}, {}

    def add(
        head: str, border: str, rows: Sequence[dict[str, float]], labels: Bools, weight: Floats, ridge: float
    ) -> None:
        heads[head] = regress(rows, labels, weight, ridge)
        values = values_of(heads[head], rows)
        borders[border] = best_border(values, labels, weight)
        unsure[border] = uncertain_width(values, labels, borders[border])

    add("support", "supported", features, kinds == 0, weights, 1.0)
    words = [{name: row[name] for name in ("missing", "numbers", "names")} for row in features]
    heads["words"] = regress(words, kinds == 0, weights)
    told = kinds != 3
    add(
        "refuted",
        "refuted",
        [f for f, one in zip(features, told, strict=True) if one],
        (kinds == 2)[told],
        weights[told],
        1.0,
    )
    supported, refuted = (values_of(heads[head], features) for head in ("support", "refuted"))
    borders["refuted"] = sure_border(refuted, supported < borders["supported"], kinds, weights)
    rows, good, weights = weigh_halves(asked.relevance("relevancy_shaping"), asked.relevance(f"{WRITTEN}_relevant"))
    add("relevant", "relevant", rows, good, weights, 4.0)
    graded = [split_grades(asked, names) for names in (SHAPING, (WRITTEN,))]
    add("correct", "right", *weigh_halves(*graded), 1.0)
    return {"heads": heads, "thresholds": borders, "uncertain": unsure}


Labelled = tuple[list[dict[str, float]], Bools]


def weigh_halves(one: Labelled, other: Labelled) -> tuple[list[dict[str, float]], Bools, Floats]:
    """Two sets of rows as one in which each weighs half."""
    weights = np.concatenate([np.ones(len(one[0])), np.full(len(other[0]), len(one[0]) / max(1, len(other[0])))])
    return one[0] + other[0], np.concatenate([one[1], other[1]]), weights


def split_grades(asked: Asked, names: Sequence[str]) -> Labelled:
    """What the regression of correctness is fitted on: the answers that no rule grades."""
    graded = [pair for name in names for pair in asked.grades(name) if grade_by_rule(*pair[0]["texts"]) is None]
    return [features for _, features in graded], np.array([row["label"] == 1 for row, _ in graded], dtype=np.bool_)


def sure_border(values: Floats, low: Bools, kinds: NDArray[Any], weights: Floats) -> float:
    """The least threshold of "contradicted" at which enough of the claims called so are refuted; each kind weighs the same."""
    mass = [weights[kinds == kind].sum() for kind in range(3)]
    even = np.array([weight / mass[kind] if kind < 3 else 0.0 for weight, kind in zip(weights, kinds, strict=True)])
    for border in np.linspace(0.5, 0.95, 46):
        called = even * (low & (values >= border))
        if called[kinds == 2].sum() >= CONTRADICTED * called.sum():
            break
    return round(float(border), 2)


def best_border(values: Floats, good: Bools, weights: Floats) -> float:
    """The threshold with the best balanced accuracy: the middle of those within a standard error of it."""
    grid = np.linspace(0.2, 0.8, 61)
    yes, no = (
        np.array([np.average(values[side] >= one, weights=weights[side]) for one in grid]) for side in (good, ~good)
    )
    found = (yes + 1 - no) / 2
    return round(float(np.median(grid[found >= found.max() - 0.5 / np.sqrt(len(values))])), 2)


def uncertain_width(values: Floats, good: Bools, border: float) -> float:
    """How near to a threshold answers are little better than chance."""
    widest = 0.02
    for width in np.linspace(0.02, 0.15, 14):
        near = np.abs(values - border) < width
        if near.mean() <= MOST_UNCERTAIN and near.any() and ((values >= border) == good)[near].mean() < CHANCE:
            widest = float(width)
    return round(widest, 2)


def balanced(values: Floats, good: Bools, border: float) -> float:
    return float(((values[good] >= border).mean() + (values[~good] < border).mean()) / 2)


def auroc(values: Floats, good: Bools) -> float:
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    return float((ranks[good].sum() - good.sum() * (good.sum() + 1) / 2) / (good.sum() * (~good).sum()))


class Report:
    """Figures with a 95 % interval over items, printed, and written into the package for `evergold judge calibrate offline`."""

    def __init__(self, begun: bool = False) -> None:
        self.figures: dict[str, Any] = json.loads(FIGURES.read_text())["figures"]["model"] if begun else {}

    def add(self, name: str, figure: Callable[..., float], *columns: NDArray[Any]) -> float:
        """Add a figure of columns of equal length, one row an item."""
        rng = np.random.default_rng(5)
        drawn = []
        for _ in range(300):
            chosen = rng.integers(0, len(columns[0]), len(columns[0]))
            # A draw without one of the classes has no such figure.
            if len(columns) < 2 or 0 < columns[1][chosen].sum() < len(chosen):
                drawn.append(figure(*(column[chosen] for column in columns)))
        low, high = (round(float(one), 4) for one in np.quantile(drawn, (0.025, 0.975)))
        value = round(float(figure(*columns)), 4)
        self.figures[name] = {"value": value, "low": low, "high": high, "n": len(columns[0])}
        print(f"{name}: {value:.3f} [{low:.3f}, {high:.3f}], n={len(columns[0])}", flush=True)
        return value

    def write(self) -> None:
        body = {
            "identity": OfflineJudge().identity,
            "measured": {"model": f"{date.today()}"},
            "figures": {"model": self.figures},
        }
        FIGURES.write_text(json.dumps(body, indent=1, ensure_ascii=False) + "\n")


def print_figures(asked: Asked) -> None:
    fitted = offline.shipped_calibration()
    report = Report()
    print_support(asked, fitted, report)
    print_grades(asked, report)
    for name in ("relevancy_measuring", "relevancy_blind"):
        rows, good = asked.relevance(name)
        values = np.array([fitted.heads["relevant"].probability(row) for row in rows])
        report.add(
            f"relevance, {name}: right at the threshold", np.mean, (values >= fitted.thresholds["relevant"]) == good
        )
        if name == "relevancy_blind":
            report.add("relevance, relevancy_blind: relevant above distractor", np.mean, values[::2] > values[1::2])
    print_lists(asked, report)
    for name in ("SGD", "MWOZ", "CCPE", "ReDial"):
        alarms = asked.alarms(asked.of(f"chats_{name}"))
        print(f"chats of {name}: {alarms.sum()} alarms in {len(alarms)} turns")
    report.write()


def ask_shipped(rows: list[Row]) -> Asked:
    """Have the shipped encoder answer rows, here and now: some hundred of them take a minute."""
    model = shipped_encoder()
    answers = [model.logits(row["task"], [row["texts"]])[0] for row in rows]
    return Asked(rows, np.array([np.pad(one, (0, 6 - len(one))) for one in answers]))


def print_grades(asked: Asked, report: Report) -> None:
    fitted = offline.shipped_calibration()
    for name in GRADED:
        graded = asked.grades(name)
        values = np.array([_grade(fitted, row, features) for row, features in graded])
        good = np.array([row["label"] == 1 for row, _ in graded])
        report.add(
            f"correctness, {name}: right at the threshold", np.mean, (values >= fitted.thresholds["right"]) == good
        )
        if name in BLIND:
            report.add(f"correctness, {name}: right above wrong", np.mean, values[::2] > values[1::2])


def print_lists(asked: Asked, report: Report) -> None:
    for name in ("remarks_en", "remarks_es"):
        chosen = asked.of(name)
        alarms = asked.alarms(chosen)
        good = np.array([asked.rows[number]["label"] in ("correction", "complaint") for number in chosen])
        report.add(f"{name}: precision of alarms", np.mean, good[alarms])
        report.add(f"{name}: recall of alarms", np.mean, alarms[good])


def print_people(data: Path) -> None:
    """Grade answers by each reference that people accept, at most five; the best one counts."""
    judge, report = OfflineJudge(), Report(begun=True)
    for name, title in (("NQ", "NQ"), ("TQ", "TriviaQA")):
        answers = list(graded(data, name))
        random.Random(7).shuffle(answers)
        answers = answers[:PEOPLE]
        values = np.array(
            [max(judge.grade(each.question, one, each.answer).value for one in each.references[:5]) for each in answers]
        )
        report.add(f"correctness, {title} answers: AUROC", auroc, values, np.array([each.right for each in answers]))
    report.write()


def _grade(fitted: offline.FittedHeads, row: Row, features: dict[str, float]) -> float:
    ruled = grade_by_rule(*row["texts"])
    return ruled.value if ruled else fitted.heads["correct"].probability(features)


def print_support(asked: Asked, fitted: offline.FittedHeads, report: Report) -> None:
    means = []
    border = fitted.thresholds["supported"]
    for name in (*SUPPORT, *SPANISH):
        features, good = asked.support(name)
        head = fitted.heads["support"]
        # Of two windows the larger support counts, of several sentences the smallest.
        values = np.array([min(max(map(head.probability, read)) for read in parts) for parts in features])
        at = report.add(f"support, {name}: balanced accuracy", partial(balanced, border=border), values, good)
        means += [at] if name in SUPPORT else []
        report.add(f"support, {name}: AUROC", auroc, values, good)
    print(f"support, mean balanced accuracy of the {len(means)} English sets: {np.mean(means):.3f}")


def main() -> None:
    verb, *rest = sys.argv[1:]
    if verb == "ask":
        with lzma.open(rest[2], "wt", preset=4) as opened:
            for row in ask(Path(rest[0]), Path(rest[1])):
                opened.write(json.dumps(row, ensure_ascii=False) + "\n")
        return
    if verb == "people":
        print_people(Path(rest[0]))
        return
    if verb == "probes":
        asked = ask_shipped([row for row in ask_probes() if row["task"] != "relevant"])
        report = Report(begun=True)
        print_grades(asked, report)
        report.write()
        return
    if verb == "remarks":
        report = Report(begun=True)
        print_lists(ask_shipped(list(ask_lists())), report)
        report.write()
        return
    rows: list[Row] = []
    for path in rest[2:]:
        with lzma.open(path, "rt") as opened:
            rows += map(json.loads, opened)
    asked = Asked(rows, np.load(rest[0])[rest[1]])
    if verb == "fit":
        CALIBRATION.write_text(json.dumps(fit(asked), indent=1) + "\n")
    else:
        print_figures(asked)


if __name__ == "__main__":
    main()
