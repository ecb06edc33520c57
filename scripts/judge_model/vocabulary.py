"""Give the student's vocabulary Spanish words in place of pieces it does not need, each with a vector to begin from.

    python -m scripts.judge_model.vocabulary TEXTS MINILM_FOLDER OUT

TEXTS: Spanish text. Pieces in other alphabets and the unused ones make room for the commonest Spanish words; the vector of a
word is the mean of its English translation's pieces (Apertium). OUT gets `tokenizer.json` and `spanish.npz`.
"""

import json
import re
import subprocess
import sys
import unicodedata
from collections import Counter
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

KEPT_UNUSED = 10
"""The first unused pieces stay: four of them mark the question a row is asked."""


def plain(word: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFD", word.lower()) if unicodedata.category(c) != "Mn")


def removable(piece: str, number: int) -> bool:
    if piece.startswith("[unused"):
        return int(piece[7:-1]) >= KEPT_UNUSED
    return (
        not piece.startswith("[")
        and all(ord(c) > 0x24F for c in piece.removeprefix("##") if c.isalpha())
        and any(c.isalpha() for c in piece)
    )


def main() -> None:
    texts, folder, out = (Path(argument) for argument in sys.argv[1:4])
    out.mkdir(parents=True, exist_ok=True)
    stored = json.loads((folder / "tokenizer.json").read_text())
    vocabulary: dict[str, int] = stored["model"]["vocab"]
    free = [number for piece, number in vocabulary.items() if removable(piece, number)]
    spelled: dict[str, Counter[str]] = {}
    for word in re.findall(r"[^\W\d_]{2,}", texts.read_text("utf-8")):
        if word.islower():
            spelled.setdefault(plain(word), Counter())[word] += 1
    common = sorted(
        (word for word, forms in spelled.items() if word not in vocabulary and forms.total() >= 4),
        key=lambda word: -spelled[word].total() * max(1, len(word) - 2),
    )[: len(free)]
    asked = "\n".join(f"{spelled[word].most_common(1)[0][0]}." for word in common)
    given = subprocess.run(["apertium", "-u", "spa-eng"], input=asked, capture_output=True, text=True, check=True)
    english = [line.strip(" .") for line in given.stdout.split("\n")]
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    starts = [
        tokenizer.encode(text or word, add_special_tokens=False).ids
        for text, word in zip(english, common, strict=False)
    ]
    replaced = dict(zip(free, common, strict=False))
    stored["model"]["vocab"] = {replaced.get(number, piece): number for piece, number in vocabulary.items()}
    (out / "tokenizer.json").write_text(json.dumps(stored, ensure_ascii=False))
    longest = max(map(len, starts))
    padded = np.array([row + [-1] * (longest - len(row)) for row in starts], dtype=np.int32)
    np.savez_compressed(out / "spanish.npz", numbers=np.array(free[: len(padded)]), starts=padded)
    print(len(free), "places,", len(common), "words:", common[:20], english[:20])


if __name__ == "__main__":
    main()
