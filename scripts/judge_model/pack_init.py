"""Write a public checkpoint as int8 rows in files of a limited size, to carry it to a machine with an accelerator.

python -m scripts.judge_model.pack_init CHECKPOINT.safetensors OUT NAME
"""

import json
import struct
import sys
from pathlib import Path

import numpy as np

PART_BYTES = 30_000_000


def read_safetensors(path: Path) -> dict[str, np.ndarray]:
    raw = path.read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8 : 8 + size])
    weights = {}
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] not in ("F32", "F16"):
            continue
        kind = np.float32 if entry["dtype"] == "F32" else np.float16
        start, end = entry["data_offsets"]
        weights[name] = (
            np.frombuffer(raw[8 + size + start : 8 + size + end], kind).reshape(entry["shape"]).astype(np.float32)
        )
    return weights


def main() -> None:
    source, out, name = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    part: dict[str, np.ndarray] = {}
    size = number = 0
    for key, value in read_safetensors(source).items():
        packed = {key: value.astype(np.float16)}
        if value.ndim == 2 and value.size > 100_000:
            scale = np.abs(value).max(axis=1) / 127 + 1e-12
            packed = {key: np.round(value / scale[:, None]).astype(np.int8), f"{key}.scale": scale.astype(np.float32)}
        added = sum(array.nbytes for array in packed.values())
        if part and size + added > PART_BYTES:
            np.savez_compressed(out / f"{name}-{number}.npz", **part)
            part, size, number = {}, 0, number + 1
        part |= packed
        size += added
    np.savez_compressed(out / f"{name}-{number}.npz", **part)


if __name__ == "__main__":
    main()
