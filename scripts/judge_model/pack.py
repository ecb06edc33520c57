"""Write the student as int8 rows into the package, with the vocabulary beside it.

python -m scripts.judge_model.pack STUDENT_FOLDER TOKENIZER.json
"""

import sys
from pathlib import Path

import numpy as np

from evergold.judge import small_model as claim_model
from evergold.model.values import hash_bytes
from scripts.judge_model.vocabulary import vocabulary

PACKAGE = Path(claim_model.__file__).parent


def main() -> None:
    folder, tokenizer = Path(sys.argv[1]), Path(sys.argv[2])
    words = sorted(vocabulary(tokenizer).items(), key=lambda item: item[1])
    listed = "".join(f"{word}\n" for word, _ in words).encode()
    parts = sorted(folder.glob("student-words-*.npz"))
    state = {"words": np.concatenate([np.load(part)["words"] for part in parts])}
    with np.load(folder / "student-layers.npz") as opened:
        state |= {name: opened[name] for name in opened.files}
    stored: dict[str, np.ndarray] = {"vocabulary": np.frombuffer(hash_bytes(listed).encode(), dtype=np.uint8)}
    for name, value in state.items():
        stored[name] = value.astype(np.float32)
        if value.ndim == 2 and value.shape[0] > 3 and not name.startswith("types"):
            scale = np.abs(stored[name]).max(axis=1) / 127 + 1e-12
            stored[name] = np.round(stored[name] / scale[:, None]).astype(np.int8)
            stored[f"{name}.scale"] = scale.astype(np.float32)
    np.savez(PACKAGE / "claim_model.npz", **stored)
    (PACKAGE / "vocabulary.txt").write_bytes(listed)


if __name__ == "__main__":
    main()
