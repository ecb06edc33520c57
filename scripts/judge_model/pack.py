"""Put the weights that `train` gives into the package: a variant, the mean of several, or a mean with the shipped ones.

    python -m scripts.judge_model.pack FOLDER NAME[,NAME…] SHARE      SHARE: how much the new weights count; 1 for them alone

A NAME of `train_remarks` changes what only the remark head uses; before its own layers are there, they are the common ones.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evergold.judge import encoder

SHIPPED = Path(encoder.__file__).with_name("encoder.npz")
Arrays = dict[str, NDArray[Any]]


def to_rows(state: Mapping[str, NDArray[Any]]) -> Arrays:
    """Weights as they are stored: matrices as int8 rows with a scale each."""
    stored: Arrays = {}
    for name, value in state.items():
        if value.ndim == 2 and value.shape[0] > 6 and not name.startswith("types"):
            scale = np.abs(value).max(axis=1) / 127 + 1e-12
            stored[name] = np.round(value / scale[:, None]).astype(np.int8)
            stored[f"{name}.scale"] = scale.astype(np.float32)
        else:
            stored[name] = value.astype(np.float32)
    return stored


def from_rows(stored: Mapping[str, NDArray[Any]]) -> Arrays:
    """Stored weights as numbers."""
    plain = [name for name in stored if name != "vocabulary" and not name.endswith(".scale")]
    return {
        name: (stored[name] * stored[f"{name}.scale"][:, None] if f"{name}.scale" in stored else stored[name]).astype(
            np.float32
        )
        for name in plain
    }


def read_stored(*paths: Path) -> Arrays:
    found: Arrays = {}
    for path in paths:
        with np.load(path) as opened:
            found |= {name: opened[name] for name in opened.files}
    return found


def mean(states: Sequence[Arrays], shares: Sequence[float]) -> Arrays:
    return {name: sum(share * state[name] for state, share in zip(states, shares, strict=True)) for name in states[0]}


def put_own(shipped: Arrays, own: Arrays, share: float) -> Arrays:
    """The shipped weights with those of one head, and the vector of its first token, in their place."""
    at, first = int(own.pop("first.at")), own.pop("first").astype(np.float32) * own.pop("first.scale")
    before, new = from_rows(shipped), from_rows(own)
    before |= {name: before.get(name, before[name.removeprefix("remark.")]) for name in new}
    mixed = to_rows(mean([new, {name: before[name] for name in new}], (share, 1 - share)))
    row = to_rows({"row": (share * first + (1 - share) * before["words.weight"][at])[None].repeat(8, axis=0)})
    stored = {name: value.copy() for name, value in (shipped | mixed).items()}
    stored["words.weight"][at], stored["words.weight.scale"][at] = row["row"][0], row["row.scale"][0]
    return stored


def main() -> None:
    folder, names, share = Path(sys.argv[1]), sys.argv[2].split(","), float(sys.argv[3])
    shipped = read_stored(SHIPPED)
    if (path := folder / f"{names[0]}.npz").exists():
        np.savez(SHIPPED, **put_own(shipped, read_stored(path), share))
        return
    states = [from_rows(read_stored(folder / f"{name}-words.npz", folder / f"{name}-layers.npz")) for name in names]
    mixed = mean([*states, from_rows(shipped)], [*[share / len(names)] * len(names), 1 - share])
    kept = {name: shipped[name] for name in ("vocabulary", "embed", "embed.scale")}
    np.savez(SHIPPED, **kept, **to_rows(mixed))


if __name__ == "__main__":
    main()
