"""Measure what the encoder of the offline judge costs: seconds to load, CPU time a claim, memory. One core.

python -m perf.judge_speed
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import resource
import time

from evergold.judge.encoder import shipped_encoder
from evergold.judge.offline import OfflineJudge

EVIDENCE_TOKENS, CLAIMS = 128, 12
SENTENCE = "The committee met on Tuesday and agreed to raise the budget for public parks by twelve percent next year. "
CLAIM = "The budget for parks will rise by twelve percent in the next year, the committee said."
TOPICS = ["lamps", "benches", "paths", "trees", "bridges", "fountains", "markets", "schools", "libraries", "trams"]
DOCUMENT = [
    f"Report {number} on {topic}: the work went on as planned, and {number + 3} people of the town took part in it."
    for number, topic in enumerate(TOPICS * 4)
]
DOCUMENT.insert(20, SENTENCE.strip())
OTHER_CLAIM = "The libraries lost a third of their people in the year when the trams and the markets were closed."


def main() -> None:
    before = _megabytes()
    started = time.process_time()
    model = shipped_encoder()
    print(f"load: {time.process_time() - started:.2f} s of CPU time")
    words = (SENTENCE * 20).split()
    evidence = " ".join(words[:EVIDENCE_TOKENS])  # every word here is one token; a full stop is one more
    while len(model._pieces.ids(evidence, 10_000)) > EVIDENCE_TOKENS:
        evidence = evidence.rsplit(" ", 1)[0]
    pairs = [(evidence, CLAIM)] * CLAIMS
    model.logits("support", pairs[:4])
    spent = []
    for _ in range(3):
        started = time.process_time()
        model.logits("support", pairs)
        spent.append((time.process_time() - started) / CLAIMS * 1000)
    print(f"a claim with {EVIDENCE_TOKENS} tokens of evidence: {min(spent):.0f} ms of CPU time (best of 3)")
    for name, claim in (("supported", CLAIM), ("not supported", OTHER_CLAIM)):
        print(f"a claim on a document of {len(DOCUMENT)} sentences, {name}: {_on_a_document(claim):.0f} ms")
    started = time.process_time()
    for _ in range(50):
        model.embed([CLAIM])
    print(f"embed a sentence of 17 words: {(time.process_time() - started) * 20:.2f} ms")
    print(f"memory: {_megabytes() - before:.0f} MB more at the peak")


def _on_a_document(claim: str) -> float:
    """Milliseconds of CPU time for one claim at a time, the choice of evidence included; the best of three."""
    judge = OfflineJudge()
    evidence = judge.evidence(DOCUMENT)
    spent = []
    for _ in range(3):
        started = time.process_time()
        judge.supports([claim], evidence)
        spent.append((time.process_time() - started) * 1000)
    return min(spent)


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
