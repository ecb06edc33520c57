"""Record what a run depends on beside its spec and metrics: the questions, the judge and the code behind a number."""

import re
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from evergold.model.run import MetricSpec, RunSpec
from evergold.workspace.bench_splits import Frozen


def provenance_of(spec: RunSpec, frozen: Frozen, origin: str) -> dict[str, Any]:
    """Which questions, with which seed, by which code; `origin` is whose run it is, a server's or a command's."""
    dataset: dict[str, Any] = {
        "name": frozen.name,
        "version": frozen.version,
        "content_hash": frozen.content_hash,
    }
    if frozen.build:
        dataset["build"] = frozen.build
    return {
        "dataset": dataset,
        "seed": spec.seed,
        "code": f"evergold {version('evergold')}",
        "origin": origin,
    }


def judged_by(model: str, metrics: Sequence[MetricSpec]) -> dict[str, Any]:
    """Who judged, and whether the model under test is among them; a panel's members and an address stand in the name."""
    judges = list(dict.fromkeys(metric.judge for metric in metrics if metric.judge))
    # Names of judges may hold an address in brackets, or the members of a panel.
    named = {word for judge in judges for word in re.split(r"[(), ]+", judge)}
    return {"judge": ", ".join(judges) or None, "self_judged": model.strip() in named}
