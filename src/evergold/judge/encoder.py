"""The small encoder behind the offline judge and the remark detector: texts → the answer of one of its heads. numpy alone.

A transformer of MiniLM's size, distilled from a larger teacher in English and Spanish; its weights are int8 rows with a scale
each (`encoder.npz`). The first token says which head is asked. Of long evidence for a claim only the half is kept, in
the second layer, that the claim attends to most; answers are read from the first token, so the last layer is computed for that
token alone. `scripts/judge_model` trains it; `docs/measurements/offline-judge.md` has its data and figures.
"""

import hashlib
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from importlib.resources import files
from io import BytesIO
from itertools import pairwise
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from evergold.machine import one_blas_thread

LONGEST_WORD = 100


class WordPieces:
    """A vocabulary and the rules that cut text into its pieces: the uncased WordPiece rules of BERT, in plain Python."""

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self._vocabulary = vocabulary
        self._unknown, self.between = vocabulary["[UNK]"], vocabulary["[SEP]"]
        self.first = {task: vocabulary[f"[unused{number}]"] for number, task in enumerate(TASKS)}
        # A bound on memory: texts of strangers may hold any number of different words.
        self._pieces = lru_cache(100_000)(self._cut)

    def ids(self, text: str, limit: int) -> list[int]:
        """The ids of a text's pieces, at most `limit` of them; text that cannot matter any more is not looked at."""
        ids: list[int] = []
        # Lower-case words without accents. A piece has seldom more than a few letters; forty characters are more than enough.
        for word in unicodedata.normalize("NFD", text[: limit * 40].lower()).translate(_PLAIN).split():
            ids += self._pieces(word)
            if len(ids) >= limit:
                break
        return ids[:limit]

    def _cut(self, word: str) -> list[int]:
        if len(word) > LONGEST_WORD:
            return [self._unknown]
        pieces: list[int] = []
        start = 0
        while start < len(word):
            for end in range(len(word), start, -1):
                number = self._vocabulary.get(("##" if start else "") + word[start:end])
                if number is not None:
                    break
            else:
                return [self._unknown]
            pieces.append(number)
            start = end
        return pieces


class _PlainTokens(dict[int, str]):
    """What each character becomes, filled as characters come; punctuation and Chinese characters stand alone."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        kind = unicodedata.category(char)
        if char in "\t\n\r" or kind == "Zs":
            return self.setdefault(code, " ")
        if kind == "Mn" or kind[0] == "C" or char == "\ufffd":
            return self.setdefault(code, "")
        alone = kind[0] == "P" or (char.isascii() and not char.isalnum()) or _CHINESE.match(char)
        return self.setdefault(code, f" {char} " if alone else char)


_PLAIN = _PlainTokens()
_CHINESE = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")


Array = NDArray[np.float32]
TASKS = ("support", "correct", "relevant", "remark")
"""The questions: evidence and claim; question, reference and answer; question and statement; a turn, a message and its reply."""
LIMITS = {"support": (160, 64), "correct": (40, 90, 100), "relevant": (48, 80), "remark": (40, 80, 64, 32)}
"""The most pieces of each text that are read."""
FOCUS = {"support": 1, "correct": 2, "relevant": 1, "remark": 2}
"""Which text is judged."""
BEGINNING, END = 120, 220
"""Letters of a long answer that a remark is held against: what it begins with, and more of what stands before the remark."""
HEADS = 12
# Tokens of one batch, enough for fast matrix products, and of one block, small enough for the processor's cache.
BATCH_TOKENS, BLOCK = 1024, 64
PRUNED_AFTER, KEPT, FEW = 2, 0.5, 32
"""The layer after which evidence is dropped, the share of it that is kept, and how many of its tokens are kept in any case."""
SUPPORTED, UNKNOWN, REFUTED = 0, 1, 2
# sqrt(2 / pi), of the tanh form of GELU that the model was trained with.
GELU = np.float32(0.7978845608)
HIGHEST = np.float32(80)  # score whose exponential a float holds


def shorten_texts(task: str, texts: Sequence[str]) -> list[str]:
    """Cut the middle out of a long answer before a remark; the other texts are cut at their end, by pieces."""
    if task != "remark" or len(texts[1]) <= BEGINNING + END:
        return list(texts)
    question, answer, *rest = texts
    return [question, f"{answer[:BEGINNING]} … {answer[-END:]}", *rest]


class ModelDamaged(Exception):
    """The weights or the vocabulary are missing, cut off, or of another version."""


class Encoder:
    """Answers rows of texts in batches of like length; holds about 60 MB."""

    def __init__(self, raw: bytes, vocabulary: bytes) -> None:
        try:
            with np.load(BytesIO(raw)) as opened:
                stored = {name: opened[name] for name in opened.files}
            if bytes(stored["vocabulary"]).decode() != hash_text(vocabulary):
                raise ModelDamaged("the vocabulary is of another version than the weights")
            self._words, self._word_scale = stored["words.weight"], stored["words.weight.scale"]
            self._table, self._table_scale = stored["embed"], stored["embed.scale"]
            self._weights = {name: _as_float(stored, name) for name in stored if not name.startswith(NOT_PLAIN)}
            self._layers = sum(name.startswith("layers.") and name.endswith(".up.weight") for name in self._weights)
            # Lay the three projections of attention side by side, and put constant factors into the weights.
            for name in [key.removesuffix("up.weight") for key in self._weights if key.endswith(".up.weight")]:
                parts = [(self._weights.pop(f"{name}{p}.weight"), self._weights.pop(f"{name}{p}.bias")) for p in "qkv"]
                # Dividing by the root of the head's width is part of attention; done once here instead of in every call.
                scale = np.float32((parts[0][0].shape[1] / HEADS) ** -0.5)
                parts[0] = (parts[0][0] * scale, parts[0][1] * scale)
                self._weights[f"{name}qkv.weight"] = np.concatenate([weight for weight, _ in parts], axis=1)
                self._weights[f"{name}qkv.bias"] = np.concatenate([bias for _, bias in parts])
                self._weights[f"{name}down.weight"] *= np.float32(0.5)  # of `_double_gelu`
        except (ValueError, KeyError, OSError, EOFError, NotImplementedError, BadZipFile) as error:
            raise ModelDamaged(f"the weights cannot be read: {type(error).__name__}") from error
        words = vocabulary.decode().splitlines()
        self._pieces = WordPieces({word: number for number, word in enumerate(words)})
        self.digest = hash_text(raw)

    def logits(self, task: str, rows: Sequence[Sequence[str]]) -> Array:
        """The head's numbers for each row of texts."""
        encoded = [self._encode(task, texts) for texts in rows]
        out: Array = np.zeros((len(rows), self._weights[f"out.{task}.bias"].shape[0]), dtype=np.float32)
        with one_blas_thread():
            lengths = [len(ids) for ids, _, _ in encoded]
            groups: list[list[int]] = []
            left = 0
            for index, length in enumerate(lengths):
                left -= length
                if left < 0:
                    groups.append([])
                    left = BATCH_TOKENS - length
                groups[-1].append(index)
            for group in groups:
                out[group] = self._forward(task, [encoded[i] for i in group])
        return out

    def embed(self, texts: Sequence[str]) -> Array:
        """A unit vector of each text for clustering: the sum of its pieces' vectors. Both languages share the space."""
        made = np.zeros((len(texts), self._table.shape[1]), dtype=np.float32)
        for number, text in enumerate(texts):
            ids = self._pieces.ids(text, LONGEST_EMBEDDED)
            made[number] = self._table_scale[ids] @ self._table[ids] if ids else 0
        lengths = np.linalg.norm(made, axis=1, keepdims=True)
        unit: Array = made / np.maximum(lengths, np.float32(1e-9))
        return unit

    def _encode(self, task: str, texts: Sequence[str]) -> tuple[list[int], int, int]:
        """Token ids of a row, and where the judged text begins and ends."""
        ids = [self._pieces.first[task]]
        begin = end = 0
        for number, (text, limit) in enumerate(zip(shorten_texts(task, texts), LIMITS[task], strict=True)):
            begin = len(ids) if number == FOCUS[task] else begin
            ids += [*self._pieces.ids(text, limit), self._pieces.between]
            end = len(ids) if number == FOCUS[task] else end
        return ids, begin, end

    def _forward(self, task: str, rows: list[tuple[list[int], int, int]]) -> Array:
        """The numbers of one batch: its rows stand one behind the other, so that nothing is padding."""
        ids = np.concatenate([row for row, _, _ in rows])
        spans = _spans([len(row) for row, _, _ in rows])
        asking = np.zeros(len(ids), dtype=np.bool_)
        for span, (_, begin, end) in zip(spans, rows, strict=True):
            asking[span][begin:end] = True
        x = self._words[ids] * self._word_scale[ids][:, None]
        x += self._weights["places.weight"][np.concatenate([np.arange(len(row)) for row, _, _ in rows])]
        x += self._weights["types.weight"][asking.astype(np.int64)]
        x = self._normalise("norm", x)
        firsts = [span.start for span in spans]
        # The first token carries the answer, so what it attends to counts like the claim.
        asking[firsts] = True
        for index in range(self._layers):
            name, last = f"layers.{index}.", index == self._layers - 1
            # A head may have its own copy of a layer.
            name = f"{task}.{name}" if f"{task}.{name}up.weight" in self._weights else name
            prunes = index + 1 == PRUNED_AFTER and task == "support"
            mixed, left = self._attend(f"{name}qkv", x, spans, asking if prunes else None, first_only=last)
            if left:
                x, spans = x[np.concatenate(left)], _spans([len(row) for row in left])
            x = self._normalise(f"{name}norm1", self._linear(f"{name}o", mixed) + x)
            x = self._normalise(
                f"{name}norm2", self._linear(f"{name}down", _double_gelu(self._linear(f"{name}up", x))) + x
            )
        return self._linear(f"out.{task}", np.tanh(self._linear(f"dense.{task}", x)))

    def _attend(
        self, name: str, x: Array, spans: list[slice], asking: NDArray[np.bool_] | None, *, first_only: bool
    ) -> tuple[Array, list[NDArray[np.int64]]]:
        """What each token takes from the others of its row, and which tokens are kept where some are dropped.

        Kept is what `asking` attends to most, where it is given. Of the last layer only the first token of each row is read.
        """
        parts = self._linear(name, x).reshape(len(x), 3, HEADS, -1).transpose(1, 2, 0, 3)
        mixed, left = [], []
        for span in spans:
            # The small products below are much faster on numbers that lie side by side.
            q, k, v = np.ascontiguousarray(parts[:, :, span])
            kept = np.array([0]) if first_only else None
            if asking is not None:
                kept = _choose_kept(_compare(q[:, asking[span]], k), asking[span])
            if kept is not None:
                q = q[:, kept]
                left.append(span.start + kept)
            shares = _compare(q, k)
            taken = shares @ v
            # A product adds numbers up faster than `sum`.
            taken /= shares @ np.ones((k.shape[1], 1), dtype=np.float32)
            mixed.append(taken.transpose(1, 0, 2).reshape(-1, x.shape[1]))
        return np.concatenate(mixed), left

    def _linear(self, name: str, x: Array) -> Array:
        result: Array = x @ self._weights[f"{name}.weight"]
        result += self._weights[f"{name}.bias"]
        return result

    def _normalise(self, name: str, x: Array) -> Array:
        """Normalise each row in place."""
        x -= x.mean(axis=1, keepdims=True)
        x *= (1 / np.sqrt(np.einsum("ij,ij->i", x, x) / np.float32(x.shape[1]) + np.float32(1e-12)))[:, None]
        x *= self._weights[f"{name}.weight"]
        x += self._weights[f"{name}.bias"]
        return x


NOT_PLAIN = ("words.", "embed", "vocabulary")
LONGEST_EMBEDDED = 256


def hash_text(raw: bytes) -> str:
    return f"sha256:{hashlib.sha256(raw).hexdigest()}"


def _as_float(stored: dict[str, Any], name: str) -> Array:
    """A stored array as float32; matrices of layers are turned so that `x @ weight` is one product of rows."""
    value = stored[name]
    if value.dtype == np.int8:
        value = value * stored[f"{name}.scale"][:, None]
    turned = value.T if value.ndim == 2 and not name.startswith(("places", "types")) else value
    return np.ascontiguousarray(turned, dtype=np.float32)


def softmax(logits: Array) -> Array:
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares: Array = odds / odds.sum(axis=1, keepdims=True)
    return shares


def _spans(lengths: Sequence[int]) -> list[slice]:
    """Where each of the rows stands."""
    ends = np.cumsum([0, *lengths]).tolist()
    return [slice(begin, end) for begin, end in pairwise(ends)]


def _compare(q: Array, k: Array) -> Array:
    """How much each query looks at each key, by heads; divided by their sum these are shares."""
    scores: Array = q @ k.transpose(0, 2, 1)
    # Without the usual subtraction of the maximum: the bound keeps exp finite at lower cost.
    if scores.max() > HIGHEST:
        np.minimum(scores, HIGHEST, out=scores)
    return np.exp(scores, out=scores)


def _choose_kept(looks: Array, asking: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The claim's tokens and the `KEPT` of the evidence that they look at most; the first token stays first."""
    known = int((~asking).sum())
    count = len(asking) - known + max(math.ceil(KEPT * known), min(known, FEW))
    score = (looks / looks.sum(axis=-1, keepdims=True)).sum(axis=(0, 1))
    score[asking] = 1e6
    # Above every other score: the first token must stay in front, since the answer is read there.
    score[0] = 2e6
    return np.argsort(-score, kind="stable")[:count]


def _double_gelu(x: Array) -> Array:
    """Put twice the GELU in place of each number, a block at a time: a block stays in the processor's cache."""
    for begin in range(0, len(x), BLOCK):
        part = x[begin : begin + BLOCK]
        part *= 1 + np.tanh(GELU * part * (1 + np.float32(0.044715) * part * part))
    return x


@cache
def known_words() -> frozenset[str]:
    """The whole words of the vocabulary; none where the file is missing."""
    with suppress(OSError):
        return frozenset(
            files("evergold.judge").joinpath("vocabulary.txt").read_bytes().decode("utf-8", "replace").split()
        )
    return frozenset()


@cache
def shipped_encoder() -> Encoder:
    """The encoder of the package; raises `ModelDamaged` where its files are missing or damaged."""
    folder = files("evergold.judge")
    try:
        raw, vocabulary = (folder.joinpath(name).read_bytes() for name in ("encoder.npz", "vocabulary.txt"))
    except FileNotFoundError as error:
        raise ModelDamaged(f"{error.filename} is missing") from error
    return Encoder(raw, vocabulary)
