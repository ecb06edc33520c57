"""Put the training rows of all heads together, and the texts as the heads read them.

    python -m scripts.judge_model.rows DATA SUPPORT_ROWS.jsonl SUBSTITUTES.json.xz OUT.jsonl.xz

A row is a task (`support`, `correct`, `relevant`, `remark`), its texts, a label (-1: the teacher gives it) and a language.
The support pairs that are made by rule are made on the machine that trains (`made`).
"""

import json
import lzma
import random
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from evergold.judge.offline import is_outside
from scripts.judge_model import chats
from scripts.judge_model import question_rows as questions
from scripts.judge_model import remark_rows as remarks
from scripts.judge_model.sources import runs, tested
from scripts.remark_data import labels_read

SEED = 29


def main() -> None:
    data, support, table_path, out = (Path(argument) for argument in sys.argv[1:5])
    rng = random.Random(SEED)
    rows = [json.loads(line) for line in support.read_text().splitlines()]
    with lzma.open(table_path, "rt") as opened:
        table = json.load(opened)
    sentences = sorted(
        {
            part
            for row in rows
            if not row["held"] and row["source"] in ("fever", "mnli", "fm2", "wice", "symmetric", "conj")
            for part in re.split(r"(?<=[.!?])\s+(?=[A-Z])", row["premise"])
            if 5 <= len(part.split()) <= 30
        }
    )
    facts = questions.facts(data, SEED)
    read = [each for each in chats.messages(data) if not is_outside(each["m"])]
    accepted = {each["id"]: "acceptance" for each in read if chats.ACCEPTS.search(each["m"])}
    labels = accepted | labels_read()
    made: list[dict[str, Any]] = [
        *questions.of_trivia(data, rng),
        *questions.web_questions(data, rng),
        *questions.of_selection(data, rng),
        *questions.of_paragraphs(data, rng),
        *questions.of_everyday(rng),
        *questions.of_assistants(data, rng),
        *questions.of_edits(rows),
        *questions.of_roles(14_000, SEED),
        *questions.of_steps(14_000, SEED),
        *questions.of_sentences(sentences, table, 90_000, SEED),
        *remarks.of_facts([fact for fact in facts if fact[0] == "en"], 36_000, SEED),
        *remarks.of_facts([fact for fact in facts if fact[0] == "es"], 26_000, SEED + 1),
        *remarks.of_requests(22_000, SEED),
        *remarks.of_tasks(questions.assistants(data), 14_000, SEED),
        *remarks.of_lists(SEED, 16),
        *remarks.of_chats(data, SEED, 24_000),
        *remarks.of_wordings([("en", each["q"][:400], each["a"]) for each in read], 52_000, SEED),
        *remarks.of_wordings([("es", fact[1], fact[2]) for fact in facts if fact[0] == "es"], 34_000, SEED + 1),
        *remarks.of_read_chats(read, labels, 22, SEED),
    ]
    unwanted = tested(data)
    kept = [row for row in made if not any(runs(text) & unwanted for text in row["texts"])]
    rng.shuffle(kept)
    with lzma.open(out, "wt", preset=4) as written:
        for row in kept:
            written.write(json.dumps(row, ensure_ascii=False) + "\n")
    for key, count in sorted(Counter((row["task"], row["lang"], row["label"]) for row in kept).items()):
        print(*key, count)
    print(f"kept {len(kept)}, dropped {len(made) - len(kept)} that share a run of words with a measured set")


if __name__ == "__main__":
    main()
