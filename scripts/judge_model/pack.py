"""Write the student that `train` gives into the package, with its vocabulary beside it.

    python -m scripts.judge_model.pack STUDENT_FOLDER VOCABULARY_FOLDER

A Spanish word that has a piece of its own gets, in the table for `embed`, the sum of its English translation's pieces.
"""

import json
import sys
from pathlib import Path

import numpy as np

from evergold.judge import encoder

PACKAGE = Path(encoder.__file__).parent


def main() -> None:
    folder, vocabulary = Path(sys.argv[1]), Path(sys.argv[2])
    pieces = json.loads((vocabulary / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    listed = "".join(f"{word}\n" for word, _ in sorted(pieces.items(), key=lambda item: item[1])).encode()
    stored = {"vocabulary": np.frombuffer(encoder.hash_text(listed).encode(), dtype=np.uint8)}
    for name in ("student-words.npz", "student-layers.npz"):
        with np.load(folder / name) as opened:
            stored |= {key: opened[key] for key in opened.files}
    table = stored["embed"] * stored["embed.scale"][:, None]
    with np.load(vocabulary / "spanish.npz") as opened:
        for number, starts in zip(opened["numbers"], opened["starts"], strict=True):
            if (starts >= 0).any():
                table[number] = table[starts[starts >= 0]].sum(axis=0)
    scale = (np.abs(table).max(axis=1) / 127 + 1e-12).astype(np.float32)
    stored["embed"], stored["embed.scale"] = np.round(table / scale[:, None]).astype(np.int8), scale
    np.savez(PACKAGE / "encoder.npz", **stored)
    (PACKAGE / "vocabulary.txt").write_bytes(listed)


if __name__ == "__main__":
    main()
