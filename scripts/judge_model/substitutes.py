"""Build the table of words that may stand for each other, from WordNet's files and the rows' own vocabulary.

    python -m scripts.judge_model.substitutes DICT ROWS.jsonl OUT.json.xz      DICT: data.* and index.* of WordNet 3.1

For each word: `same` (synonyms of its commonest sense), `other` (words under the same hypernym, which mean something
else) and `opposite`. Only forms that the rows use are kept. The table is not part of the repository.
"""

import json
import lzma
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

PARTS = ("noun", "verb", "adj")
FEWEST_USES, MOST = 6, 10
Table = dict[str, dict[str, list[str]]]


def read_synsets(folder: Path, part: str) -> dict[str, tuple[list[str], list[tuple[str, str]]]]:
    """Each synset's words and its pointers (symbol, offset) within the same part of speech."""
    found = {}
    for line in (folder / f"data.{part}").read_text().splitlines():
        if line.startswith("  "):
            continue
        fields = line.split(" | ")[0].split()
        count = int(fields[3], 16)
        words = [re.sub(r"\(.*\)", "", word).lower() for word in fields[4 : 4 + 2 * count : 2]]
        rest = fields[5 + 2 * count :]
        pointers = [(rest[i], rest[i + 1]) for i in range(0, 4 * int(fields[4 + 2 * count]), 4)]
        found[fields[0]] = (words, pointers)
    return found


def first_senses(folder: Path, part: str) -> dict[str, tuple[str, int]]:
    """Each word's commonest synset, and how many senses of it were met in text."""
    found = {}
    for line in (folder / f"index.{part}").read_text().splitlines():
        if line.startswith("  "):
            continue
        fields = line.split()
        pointers = int(fields[3])
        found[fields[0]] = (fields[6 + pointers], int(fields[5 + pointers]))
    return found


def build(folder: Path, uses: Counter[str]) -> Table:
    table: Table = {}
    strength: dict[str, int] = {}
    for part in PARTS:
        synsets, senses = read_synsets(folder, part), first_senses(folder, part)
        below: dict[str, list[str]] = defaultdict(list)
        for offset, (_, pointers) in synsets.items():
            for symbol, target in pointers:
                if symbol == "@":
                    below[target].append(offset)
        for word, (offset, met) in senses.items():
            if "_" in word or len(word) < 3 or strength.get(word, -1) >= met or not uses[word]:
                continue
            entry = _entry(word, offset, synsets, below, part)
            strength[word] = met
            for form, change in FORMS[part]:
                written = change(word)
                if uses[written] >= FEWEST_USES:
                    kept = {
                        kind: [change(one) for one in words if uses[change(one)] >= FEWEST_USES][:MOST]
                        for kind, words in entry.items()
                    }
                    if any(kept.values()):
                        table[written] = {kind: words for kind, words in kept.items() if words} | {"form": [form]}
    return table


def _entry(
    word: str,
    offset: str,
    synsets: dict[str, tuple[list[str], list[tuple[str, str]]]],
    below: dict[str, list[str]],
    part: str,
) -> dict[str, list[str]]:
    words, pointers = synsets[offset]
    same = [one for one in words if one != word and "_" not in one]
    opposite = [synsets[target][0][0] for symbol, target in pointers if symbol == "!" and target in synsets]
    parents = [target for symbol, target in pointers if symbol == "@"]
    near = [o for parent in parents for o in below[parent] if o != offset]
    if part == "adj":
        same += [one for symbol, target in pointers if symbol == "&" for one in synsets[target][0][:1]]
    other = [synsets[o][0][0] for o in near if "_" not in synsets[o][0][0] and synsets[o][0][0] not in words]
    return {"same": same, "other": other, "opposite": opposite}


def _plural(word: str) -> str:
    if re.search(r"(?:s|x|z|ch|sh)$", word):
        return f"{word}es"
    return f"{word[:-1]}ies" if re.search(r"[^aeiou]y$", word) else f"{word}s"


def _past(word: str) -> str:
    return f"{word}d" if word.endswith("e") else f"{word[:-1]}ied" if re.search(r"[^aeiou]y$", word) else f"{word}ed"


def _going(word: str) -> str:
    return f"{word[:-1]}ing" if re.search(r"[^e]e$", word) else f"{word}ing"


FORMS = {
    "noun": (("noun", str), ("nouns", _plural)),
    "verb": (("verb", str), ("verbs", _plural), ("past", _past), ("going", _going)),
    "adj": (("adj", str),),
}


def main() -> None:
    folder, rows, out = map(Path, sys.argv[1:4])
    uses: Counter[str] = Counter()
    for line in rows.open():
        row = json.loads(line)
        uses.update(re.findall(r"[a-z]{3,}", f"{row['premise']} {row['claim']}"))
    table = build(folder, uses)
    with lzma.open(out, "wt") as opened:
        json.dump(table, opened)
    print(len(table), "words")


if __name__ == "__main__":
    main()
