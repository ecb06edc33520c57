"""`retriever:NAME`: a retriever looks for what each context case needs, in a repository at the case's base commit.

`retriever:oracle` answers with the gold itself: whatever scores it below 1 is wrong with the metric, not with a retriever.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Any

from evergold import plugins
from evergold.bench.retrieval import gold_of_case
from evergold.calls.caller import failed
from evergold.errors import BadInput, EvergoldError
from evergold.model.case import Case, LineRange
from evergold.model.run import Attempt
from evergold.seams import Retriever
from evergold.settings import Settings

ORACLE = "oracle"


class RetrieverTarget:
    def __init__(self, name: str, retriever: Retriever, repo: Path) -> None:
        self._name = name
        self._retriever = retriever
        self._repo = repo
        self._one_at_a_time = Lock()

    @property
    def identity(self) -> str:
        return f"retriever:{self._name}"

    async def attempt(self, case: Case, trial: int, seed: int | None) -> Attempt:
        if not case.base_commit or not case.input.strip():
            return failed(case, trial, "incomplete_case", "the case lacks its query or its base commit")
        try:
            result = await asyncio.to_thread(self._retrieve, case.input, case.base_commit)
        except EvergoldError as problem:
            return failed(case, trial, "retriever_failed", problem.message)
        return result.model_copy(update={"case_id": case.id, "trial": trial})

    def _retrieve(self, query: str, commit: str) -> Attempt:
        """Retrievers keep what they have read, and are not asked to share it between threads."""
        with self._one_at_a_time:
            return self._retriever.retrieve(query, self._repo, commit)


class OracleTarget:
    @property
    def identity(self) -> str:
        return f"retriever:{ORACLE}"

    async def attempt(self, case: Case, trial: int, seed: int | None) -> Attempt:
        gold = gold_of_case(case).edited
        ranges = tuple(
            LineRange(path=path, start=start, end=end) for path, spans in gold.lines.items() for start, end in spans
        )
        return Attempt(case_id=case.id, trial=trial, ranges=ranges, paths=gold.files)


def make_retriever(address: str, params: Mapping[str, Any], _settings: Settings) -> RetrieverTarget | OracleTarget:
    if address == ORACLE:
        return OracleTarget()
    repo = params.get("repo")
    if not isinstance(repo, str) or not repo:
        raise BadInput(f"retriever:{address} needs a repository; name it with --repo PATH")
    return RetrieverTarget(address, plugins.load("retrievers", address), Path(repo))
