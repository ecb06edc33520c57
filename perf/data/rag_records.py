"""Synthetic offline RAG records for the measurements: about 11 KB each, the same bytes for the same seed.

The text has what papers have: line breaks, quotation marks, backslashes, here and there an accent, a Greek letter or a CJK word,
date-like strings and numbers that a careless decoder would rewrite. Around it stands what a retriever and a generator log.
"""

import argparse
import json
import random
from collections.abc import Iterator
from pathlib import Path

COMMON = """model context retrieval answer question paper method results assume parameter gradient dataset figure
    table the of and in to is that for with as by on we this are which from an be it at not or these has can all"""
RARE = 'naïve Schrödinger α≤β 東京 "quoted C:\\temp 2025-11-04 10.50 1e5'
WORDS = COMMON.split() * 8 + RARE.split()
TASK_TYPES = ("qa",) * 6 + ("summaries",) * 3 + ("citations",)


def records(count: int, seed: int = 7) -> Iterator[dict[str, object]]:
    rng = random.Random(seed)
    paragraphs = [_paragraph(rng) for _ in range(400)]
    for number in range(count):
        yield _record(rng, paragraphs, number)


def _paragraph(rng: random.Random) -> str:
    lines = (" ".join(rng.choices(WORDS, k=14)) for _ in range(13))
    return "\n".join(lines)


def _quote(paragraph: str) -> str:
    return "\n".join(paragraph.splitlines()[:4])


def _record(rng: random.Random, paragraphs: list[str], number: int) -> dict[str, object]:
    contexts = rng.choices(paragraphs, k=6)
    # The answer quotes what it cites, so that `check` finds it supported.
    answer = "\n".join(f"{_quote(text)} [{place}]." for place, text in enumerate(contexts[:2], 1))
    if number % 2:
        contexts = [f"[{place}] {text}" for place, text in enumerate(contexts, 1)]
    sources = [f"data/processed/run-14/{number}.txt#page={place}" for place in range(6)]
    return {
        "task_id": f"{rng.getrandbits(32):08x}-{number:012d}",
        "task_type": TASK_TYPES[number % len(TASK_TYPES)],
        "instruction": f"What does document {number} assume about {rng.choice(WORDS)}?",
        "expected_response": answer,
        "rag": {
            "prompt": "You are a research paper assistant. Answer with citations.\n" + rng.choice(paragraphs)[:500],
            "contexts": contexts,
            "sources": sources,
            "retrieved": [_retrieved(rng, source, rank) for rank, source in enumerate(sources, 1)],
            "citations": [_citation(rng, source, marker) for marker, source in enumerate(sources[:3], 1)],
        },
        "metadata": {
            "document": f"{number}.txt",
            "run_id": "2025-11-04",
            "generator": {"model": "large-instruct", "temperature": 0.10, "top_p": 0.95, "seed": number},
            "tags": ["physics", "assumptions"],
            "tokens": {"prompt": rng.randrange(4000), "completion": rng.randrange(600)},
        },
    }


def _retrieved(rng: random.Random, source: str, rank: int) -> dict[str, object]:
    start = rng.randrange(90_000)
    return {
        "chunk_id": f"{rng.getrandbits(64):016x}",
        "chunk_index": rng.randrange(900),
        "rank": rank,
        "score": rng.random(),
        "rerank_score": rng.uniform(-5, 5),
        "source": source,
        "span": [start, start + 1000],
        "page": rank + 3,
    }


def _citation(rng: random.Random, source: str, marker: int) -> dict[str, object]:
    start = rng.randrange(600)
    return {"marker": marker, "source": source, "start": start, "end": start + 40, "score": rng.random()}


def write(path: Path, megabytes: int) -> int:
    """Writes about that many megabytes; returns the number of records."""
    written = count = 0
    with path.open("w", encoding="utf-8") as out:
        for record in records(megabytes * 200):
            if written >= megabytes * 1_000_000:
                break
            written += out.write(json.dumps(record, ensure_ascii=False) + "\n")
            count += 1
    return count


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--megabytes", type=int, default=200)
    arguments = parser.parse_args()
    print(write(arguments.path, arguments.megabytes), "records")
