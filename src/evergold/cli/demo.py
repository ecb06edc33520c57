"""`evergold demo`: the whole loop on sample data. Each step is a command a newcomer could type, and is typed here."""

import os
import shlex
import shutil
import subprocess
import sys
from contextlib import chdir
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import click

from evergold.cli import invoke
from evergold.errors import Unavailable
from evergold.machine import make_folder, mend_modes

FOLDER = Path(".evergold") / "demo"
SPLITS = "--split train=0.7,test=0.3 --group-by session --out live-v1"
RAG = "--qa-output rag/qa_pairs.jsonl --summary-output rag/summaries.jsonl --manifest-output rag/manifest.json"
GENERATED = "generated/offline_dataset.jsonl"
DATASET_B = "context/dataset_b_line_ranges.unvalidated.jsonl"
# Vectors are an extra.
RETRIEVERS = f"retriever:bm25|grep|{'embedding' if find_spec('wordllama') else 'paths'}"
METRIC = "--metric answer_relevancy"


# What each step shows, and the command that does it.
STEPS = {
    "Traces, scores and corrections of a support assistant come in": "ingest samples/traces.jsonl",
    "A policy turns them into cases: golden, failure, correction, and candidates that nobody has confirmed": "curate",
    "Why is one of them golden?": "curate --explain demo-001",
    "What the living dataset holds now": "stats",
    "It is frozen: hashed splits, no session in two of them": f"build --dataset live --version v1 {SPLITS}",
    "Documents become an offline RAG dataset, quoted where there is no model": (
        f"generate --documents samples/documents --out {GENERATED} --fresh"
    ),
    "RAG generations become evaluation splits": f"build --offline-dataset samples/offline_dataset.jsonl {RAG}",
    "and the splits are checked: schema, counts, hashes": "check rag/manifest.json",
    "Merged work in a repository becomes a retrieval benchmark": "extract git --repo shop --out-dir context",
    "whose every golden line is proved against the repository": f"check {DATASET_B} --repo shop",
    "and waits for a person in the review queue": f"import {DATASET_B}",
    "What retrievers without a model find in it": f"run context --model '{RETRIEVERS}' --repo shop",
    "The answers of production are measured, by the offline judge": f"run live --model recorded {METRIC}",
    "and so are those of the next release, on the same cases": f"run live --model python:next_release:answer {METRIC}",
    "Is it better? The first line is the decision": "compare BASELINE CANDIDATE",
    "The golden part as a file for offline tests": "export live --type golden --out golden.jsonl",
}


@click.command()
@click.option("--no-serve", is_flag=True, help="End after the report.")
@click.option("--keep", is_flag=True, help="Go on with the data of an earlier demo instead of starting anew.")
@click.option("--port", type=click.IntRange(0, 65535), default=8321, help="Port to listen on.")
def demo_command(no_serve: bool, keep: bool, port: int) -> int:
    """Run the whole loop on sample data, print what happened, then serve the dashboard.

    Everything is kept in .evergold/demo. No key, no server, no network.
    """
    if FOLDER.exists() and not keep:
        shutil.rmtree(FOLDER)
    make_folder(FOLDER, private=True)
    with chdir(FOLDER):
        # The environment, because each step is invoked as a command of its own.
        os.environ["EVERGOLD_HOME"] = "home"
        _lay_out_samples()
        for number, (title, words) in enumerate(STEPS.items(), 1):
            command = _name_runs(shlex.split(words))
            typed = shlex.join(("evergold", *command))
            click.echo(f"\n{click.style(f'{number}. {title}', bold=True)}\n{click.style(f'   $ {typed}', fg='yellow')}")
            # Steps print through several streams; the title must come first.
            sys.stdout.flush()
            code = invoke(command)
            # 1 means that something did not pass, which is part of the demonstration.
            if code not in (0, 1):
                return code
        click.echo(
            f"\nAll of it is in {FOLDER}; look around in it with `evergold --home {FOLDER / 'home'} traces list`."
            "\nStart over with your own data: evergold ingest FILE, then evergold curate."
        )
        return 0 if no_serve else invoke(["serve", "--port", str(port)])


def _name_runs(command: list[str]) -> list[str]:
    """Put the ids of the two newest runs where a command names them BASELINE and CANDIDATE."""
    if "BASELINE" not in command:
        return command
    from evergold.workspace import Workspace

    with Workspace.open() as workspace:
        (candidate, baseline), _ = workspace.bench.page(limit=2)
    known = {"BASELINE": baseline.id, "CANDIDATE": candidate.id}
    return [known.get(word, word) for word in command]


def _lay_out_samples() -> None:
    """The sample files, and the sample repository made from its stream."""
    from evergold.workspace.uploads import recent_samples

    samples = Path("samples")
    with_files = files("evergold") / "samples"
    samples.mkdir(exist_ok=True)
    for name in ("offline_dataset.jsonl", "shop.fastimport"):
        samples.joinpath(name).write_bytes(with_files.joinpath(name).read_bytes())
    Path("next_release.py").write_bytes(with_files.joinpath("next_release.py").read_bytes())
    samples.joinpath("documents").mkdir(exist_ok=True)
    for document in with_files.joinpath("documents").iterdir():
        samples.joinpath("documents", document.name).write_bytes(document.read_bytes())
    samples.joinpath("traces.jsonl").write_text(recent_samples(), encoding="utf-8")
    mend_modes(samples, shared=False)
    if Path("shop").exists():
        return
    if shutil.which("git") is None:
        raise Unavailable("the demo needs git: install it and run again")
    subprocess.run(["git", "init", "--quiet", "--initial-branch", "main", "shop"], check=True)
    with samples.joinpath("shop.fastimport").open("rb") as stream:
        subprocess.run(["git", "fast-import", "--quiet"], cwd="shop", stdin=stream, check=True)
    subprocess.run(["git", "checkout", "--quiet", "main"], cwd="shop", check=True)
