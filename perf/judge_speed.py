"""Measure what the claim model of the offline judge costs: seconds to load, CPU time a claim, memory. One core.

python -m perf.judge_speed
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import resource
import time

from evergold.judge.claim_model import shipped_model

EVIDENCE_TOKENS, CLAIMS = 128, 12
SENTENCE = "The committee met on Tuesday and agreed to raise the budget for public parks by twelve percent next year. "
CLAIM = "The budget for parks will rise by twelve percent in the next year, the committee said."


def main() -> None:
    before = _megabytes()
    started = time.process_time()
    model = shipped_model()
    print(f"load: {time.process_time() - started:.2f} s of CPU time")
    words = (SENTENCE * 20).split()
    evidence = " ".join(words[:EVIDENCE_TOKENS])  # every word here is one token; a full stop is one more
    while len(model._pieces.ids(evidence, 10_000)) > EVIDENCE_TOKENS:
        evidence = evidence.rsplit(" ", 1)[0]
    pairs = [(evidence, CLAIM)] * CLAIMS
    model.probabilities(pairs[:4])
    spent = []
    for _ in range(3):
        started = time.process_time()
        model.probabilities(pairs)
        spent.append((time.process_time() - started) / CLAIMS * 1000)
    print(f"a claim with {EVIDENCE_TOKENS} tokens of evidence: {min(spent):.0f} ms of CPU time (best of 3)")
    print(f"memory: {_megabytes() - before:.0f} MB more at the peak")


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
