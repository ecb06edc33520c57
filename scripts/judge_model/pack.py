"""Write the student that `train` gives into the package, with its vocabulary beside it.

python -m scripts.judge_model.pack STUDENT_FOLDER VOCABULARY_FOLDER
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
    np.savez(PACKAGE / "encoder.npz", **stored)
    (PACKAGE / "vocabulary.txt").write_bytes(listed)


if __name__ == "__main__":
    main()
