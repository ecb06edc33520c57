"""Make training rows from items that were written for training: answers, statements, claims and remarks with their labels.

    python -m scripts.judge_model.written FOLDER DATA OUT.jsonl.xz ASKED.jsonl.xz

FOLDER holds `*.jsonl`; the keys of an item say what it is: `ref`, `right`, `wrong`; `answers`, `off`, `partial`; `passage`,
`supported`, `unknown`, `refuted`; or `m`, `next`, `label`. A tenth of the items is held out, with all rows made of them; ASKED
gets what the encoder is asked of them (`measure fit`). Items that share a run of words with a measured set or with our own
probes and lists are dropped.
"""

import json
import lzma
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evergold.judge.offline import refuses
from evergold.text.words import sentences
from scripts.judge_model.measure import ask_grade
from scripts.judge_model.question_rows import EMPTY, WRAPS, _pick, row
from scripts.judge_model.remark_rows import KINDS, roughen
from scripts.judge_model.sources import runs, tested
from scripts.remark_data import LISTS

SUPPORTED, UNKNOWN, REFUTED, UNSUPPORTED = 0, 1, 2, 3
PROBES = LISTS.parents[1] / "judge" / "probes"
SHORT = 5
"""The most words of an answer that is put into other words by rule."""
SEED = 41
Row = dict[str, Any]


def of_answers(item: Row, others: list[Row], rng: random.Random) -> Iterator[Row]:
    """Right and wrong answers against the reference and against each other, both ways round, and what they say of other heads."""
    q, ref, lang = item["q"], item["ref"], item["lang"]
    right, wrong = item["right"], item["wrong"]
    for good in right:
        yield row("correct", [q, ref, good], 1.0, lang, "direct")
        yield row("correct", ["", ref, good], 1.0, lang, "written")
        if len(ref.split()) > 0.5 * len(good.split()):
            yield row("correct", [q, good, ref], 0.9, lang, "written")
            yield row("support", [ref, good], SUPPORTED, lang, "written")
            yield row("support", [f"{q} {ref}", f"{q} {good}"], SUPPORTED, lang, "written")
        yield row("support", [good, ref], SUPPORTED, lang, "written")
        yield row("relevant", [q, good], 1.0, lang, "written")
        for other in right:
            if other != good and len(good.split()) > 0.5 * len(other.split()):
                yield row("correct", [q, good, other], 0.9, lang, "written")
    for bad in wrong:
        yield row("correct", [q, ref, bad], 0.0, lang, "direct")
        yield row("correct", ["", ref, bad], 0.0, lang, "written")
        yield row("correct", [q, bad, ref], 0.0, lang, "written")
        yield row("support", [f"{q} {ref}", f"{q} {bad}"], UNSUPPORTED, lang, "written")
        yield row("support", [ref, bad], UNSUPPORTED, lang, "written")
        for good in right:
            yield row("correct", [q, good, bad], 0.0, lang, "written")
            yield row("correct", [q, bad, good], 0.0, lang, "written")
        if refuses(bad):
            yield row("relevant", [q, bad], 0.0, lang, "written")
        elif len(bad.split()) <= len(ref.split()) + 2:
            yield row("relevant", [q, bad], 0.9, lang, "written")
            # Whatever stands in the reference counts, not what is true.
            yield row("correct", [q, bad, roughen(bad, rng)], 1.0, lang, "written")
        if len(bad.split()) <= SHORT and not refuses(bad):
            yield row("correct", [q, bad, _pick(WRAPS[lang], rng).format(a=bad.strip(" ."))], 1.0, lang, "written")
            yield row("correct", [q, ref, _pick(WRAPS[lang], rng).format(a=bad.strip(" ."))], 0.0, lang, "written")
    if len(ref.split()) <= SHORT:
        yield row("correct", [q, ref, _pick(WRAPS[lang], rng).format(a=ref.strip(" ."))], 1.0, lang, "written")
    other = rng.choice(others)
    yield row("correct", [q, ref, rng.choice(other["right"])], 0.0, lang, "written")
    yield row("relevant", [q, rng.choice(other["right"])], 0.0, lang, "written")
    for empty in (_pick(EMPTY[lang], rng), q):
        yield row("correct", [q, ref, empty], 0.0, lang, "written")
        yield row("relevant", [q, empty], 0.0, lang, "written")


def of_statements(item: Row, others: list[Row], rng: random.Random) -> Iterator[Row]:
    q, lang = item["q"], item["lang"]
    for kind, label in (("answers", 1.0), ("partial", 1.0), ("off", 0.0)):
        for text in item.get(kind, ()):
            yield row("relevant", [q, text], label, lang, "written" if kind == "partial" else "direct")
            yield row("relevant", [roughen(q, rng), text], label, lang, "written")
    for other in rng.sample(others, min(3, len(others))):
        yield row("relevant", [q, rng.choice(other["answers"])], 0.0, lang, "written")
        yield row("relevant", [q, other["q"]], 0.0, lang, "written")
    if item["answers"] and item["off"]:
        yield row("correct", [q, rng.choice(item["answers"]), rng.choice(item["off"])], 0.0, lang, "written")


def of_passage(item: Row, others: list[Row], rng: random.Random) -> Iterator[Row]:
    """Claims against their passage, alone, in twos and among other sentences, and against another passage."""
    passage, lang = item["passage"], item["lang"]
    by_kind = {SUPPORTED: item["supported"], UNKNOWN: item["unknown"], REFUTED: item["refuted"]}
    parts = list(sentences(passage))
    for label, claims in by_kind.items():
        for claim in claims:
            yield row("support", [passage, claim], label, lang, "direct")
            strange = rng.sample(list(sentences(rng.choice(others)["passage"])), 1)
            mixed = [*strange, passage] if rng.random() < 0.5 else [passage, *strange]
            yield row("support", [" ".join(mixed), claim], label, lang, "written")
            if rng.random() < 0.3:
                yield row("support", [rng.choice(others)["passage"], claim], UNKNOWN, lang, "written")
            if by_kind[SUPPORTED] and rng.random() < 0.4:
                kept = rng.choice(by_kind[SUPPORTED])
                if kept != claim:
                    both = f"{kept} {claim}" if rng.random() < 0.5 else f"{claim} {kept}"
                    yield row("support", [passage, both], label, lang, "written")
    for part in rng.sample(parts, min(2, len(parts))):
        if len(part.split()) > 3:
            yield row("support", [passage, part], SUPPORTED, lang, "written")
            yield row("support", [rng.choice(others)["passage"], part], UNKNOWN, lang, "written")


def of_remark(item: Row, others: list[Row], rng: random.Random) -> Iterator[Row]:
    texts, label = [item["q"], item["a"], item["m"]], KINDS.index(item["label"])
    yield row("remark", [*texts, ""], label, item["lang"], "direct")
    yield row("remark", [*texts, item.get("next") or ""], label, item["lang"], "written")
    yield row("remark", [*texts[:2], roughen(item["m"], rng), ""], label, item["lang"], "written")


MAKERS = {"ref": of_answers, "answers": of_statements, "passage": of_passage, "m": of_remark}


def is_held(item: Row) -> bool:
    about = re.sub(r"\W+", " ", str(item.get("passage") or item["q"])).strip().lower()[:60]
    return random.Random(f"{SEED}:{about}").random() < 0.1


def asked_of(number: int, item: Row) -> Iterator[Row]:
    """What is asked of an item: its answers, statements, claims or message, with their labels."""
    base = {"item": number, "part": 0, "class": item["lang"]}
    if "ref" in item:
        for kind in ("right", "wrong"):
            for text in item[kind]:
                of_item = {**base, "set": "written", "label": int(kind == "right")}
                yield from ask_grade(of_item, item["q"], item["ref"], text)
    elif "answers" in item:
        for kind in ("answers", "off"):
            for text in item[kind]:
                label = {"label": int(kind == "answers")}
                yield base | {"set": "written_relevant", "task": "relevant", "texts": [item["q"], text]} | label
    elif "passage" in item:
        for label, kind in enumerate(("supported", "unknown", "refuted")):
            for claim in item[kind]:
                texts = {"texts": [item["passage"], claim]}
                yield base | {"set": "held:written", "task": "support", "label": label} | texts
    else:
        texts = {"texts": [item["q"], item["a"], item["m"], ""]}
        yield base | {"set": "written_remarks", "task": "remark", "label": item["label"]} | texts


def rows_of(items: list[Row]) -> Iterator[Row]:
    """The rows of all items; what is held out is decided by the question or passage alone."""
    rng = random.Random(SEED)
    kinds: dict[tuple[str, str, bool], list[Row]] = {}
    for item in items:
        key = next(key for key in MAKERS if key in item)
        kinds.setdefault((key, item["lang"], is_held(item)), []).append(item)
    for (key, _, held), group in kinds.items():
        for item in group:
            others = [one for one in group if one is not item] or [item]
            yield from (made | {"held": held} for made in MAKERS[key](item, others, rng))


def texts_of(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from texts_of(part)


def measured_here() -> set[str]:
    """Runs of words of the probes and lists of this repository that measure."""
    paths = [path for path in PROBES.glob("*.jsonl") if "shaping" not in path.name]
    texts = [
        text for path in paths for line in path.read_text("utf-8").splitlines() for text in texts_of(json.loads(line))
    ]
    texts += [line for path in LISTS.glob("measured_*.txt") for line in path.read_text("utf-8").splitlines()]
    return {run for text in texts for run in runs(text)}


def main() -> None:
    folder, data, out, asked = (Path(argument) for argument in sys.argv[1:5])
    items = [
        json.loads(line) for path in sorted(folder.glob("*.jsonl")) for line in path.read_text("utf-8").splitlines()
    ]
    for item in items:
        item["lang"] = item["lang"] if item["lang"] in WRAPS else "en"  # some mix both
    unwanted = tested(data) | measured_here()
    kept = [item for item in items if not any(runs(text) & unwanted for text in texts_of(item))]
    made = list(rows_of(kept))
    with lzma.open(out, "wt", preset=6) as written:
        written.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in made)
    with lzma.open(asked, "wt", preset=6) as written:
        for number, item in enumerate(kept):
            if is_held(item):
                written.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in asked_of(number, item))
    for key, count in sorted(Counter((one["task"], one["lang"], one["label"], one["held"]) for one in made).items()):
        print(*key, count)
    print(
        f"{len(kept)} items of {len(items)}, {len(made)} rows; dropped items share a run of words with a measured set"
    )


if __name__ == "__main__":
    main()
