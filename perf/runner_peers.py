"""The same 1,000 instant samples through other harnesses, each in an environment of its own under `perf/.peers`.

    python -m perf.runner_peers      # installs what is missing (network), or leaves it out with one line

Every harness gets an async target that answers at once, an exact-match score and concurrency 20, and runs once on ten
samples first so that imports do not count. inspect-ai writes its log (its only way to keep results); deepeval is
measured with its cache file, which is its default, and without; pydantic-evals keeps nothing; ours is durable after
every attempt. deepeval is given the answers, because it calls no target.
"""

import json
import os
import subprocess
import tempfile
from pathlib import Path

from perf.peers import python_of

SAMPLES = 1_000

MEASURE = """
import json, resource, sys
def cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
def report(work, count):
    work(10)
    before = cpu()
    work(count)
    spent = cpu() - before
    mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print("RESULT " + json.dumps({"ms": 1000 * spent / count, "mb": mb}))
"""

INSPECT = (
    MEASURE
    + """
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import exact
from inspect_ai.solver import solver
@solver
def instant():
    async def solve(state, generate):
        state.output = ModelOutput.from_content("none", "answer " + state.input_text.split()[1])
        return state
    return solve
def work(count):
    samples = [Sample(id=i + 1, input=f"question {i}", target=f"answer {i}") for i in range(count)]
    eval(Task(dataset=samples, solver=instant(), scorer=exact()), model="mockllm/model", display="none",
         max_samples=20, log_dir="logs")
report(work, int(sys.argv[1]))
"""
)

PYDANTIC_EVALS = (
    MEASURE
    + """
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import EqualsExpected
async def instant(question):
    return "answer " + question.split()[1]
def work(count):
    cases = [Case(name=f"t{i}", inputs=f"question {i}", expected_output=f"answer {i}") for i in range(count)]
    Dataset(name="instant", cases=cases, evaluators=[EqualsExpected()]).evaluate_sync(
        instant, max_concurrency=20, progress=False)
report(work, int(sys.argv[1]))
"""
)

DEEPEVAL = (
    MEASURE
    + """
from deepeval import evaluate
from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig
from deepeval.metrics import ExactMatchMetric
from deepeval.test_case import LLMTestCase
def work(count):
    cases = [LLMTestCase(input=f"question {i}", actual_output=f"answer {i}", expected_output=f"answer {i}")
             for i in range(count)]
    evaluate(cases, [ExactMatchMetric()], async_config=AsyncConfig(max_concurrent=20),
             display_config=DisplayConfig(show_indicator=False, print_results=False, inspect_after_run=False),
             cache_config=CacheConfig(write_cache=sys.argv[2:] == ["cache"], use_cache=False))
report(work, int(sys.argv[1]))
"""
)

HARNESSES = {
    "inspect-ai": ("inspect-ai", INSPECT, []),
    "deepeval": ("deepeval", DEEPEVAL, []),
    "deepeval, cache": ("deepeval", DEEPEVAL, ["cache"]),
    "pydantic-evals": ("pydantic-evals", PYDANTIC_EVALS, []),
}
QUIET = {"DO_NOT_TRACK": "1", "LOGFIRE_SEND_TO_LOGFIRE": "false", "DEEPEVAL_TELEMETRY_OPT_OUT": "YES"}


def measured(name: str, python: Path) -> dict[str, float]:
    _, program, options = HARNESSES[name]
    with tempfile.TemporaryDirectory() as folder:
        command = [str(python), "-c", program, str(SAMPLES), *options]
        env = {**os.environ, **QUIET}
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=True)
    line = next(line for line in done.stdout.splitlines() if line.startswith("RESULT "))
    found: dict[str, float] = json.loads(line.removeprefix("RESULT "))
    return found


def main() -> None:
    for name, (package, _, _) in HARNESSES.items():
        python = python_of(package)
        if python is None:
            continue
        found = measured(name, python)
        print(f"{name:>15}: {found['ms']:.2f} ms CPU per sample at {SAMPLES:,}, {found['mb']:.0f} MB")


if __name__ == "__main__":
    main()
