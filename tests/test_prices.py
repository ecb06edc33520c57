"""What traces cost: as they report, else by the price list, else unknown; through REST, the terminal and the Overview."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from evergold.cli import invoke as evergold
from evergold.prices import add_costs, cost
from tests.api.serving import calling, served
from tests.rows import each_row

AT, NOW = "2026-01-05T10:00:00Z", datetime.now(UTC).isoformat()
CALL = {"model": "gpt-4o", "provider": "openai", "input_tokens": 1_000_000, "output_tokens": 1_000_000}
PRICE = cost("openai", "gpt-4o", 1_000_000, 1_000_000, AT)


@each_row(
    ("stated", "calls", "expected"),
    [
        ({"cost": 0.5} | CALL, [("llm", CALL)], (0.5, False)),
        ({}, [("llm", {"cost": 0.25}), ("llm", {"cost": 0.5})], (0.75, False)),
        ({}, [("llm", CALL)], (PRICE, True)),
        ({}, [("llm", {"cost": 1.0}), ("llm", CALL)], (1.0 + (PRICE or 0), True)),
        ({}, [("llm", CALL), ("llm", CALL | {"model": "my-own-model"})], (None, False)),
        ({}, [("llm", CALL), ("llm", {"model": "gpt-4o"})], (PRICE, True)),
        ({}, [("llm", {"model": "gpt-4o", "total_tokens": 10})], (None, False)),
        ({}, [("llm", {"model": "gpt-4o", "input_tokens": 10})], (None, False)),
        (CALL, [], (PRICE, True)),
        ({"cost": "dear"}, [], (None, False)),
        ({}, [], (None, False)),
    ],
)
def test_what_a_trace_cost(stated: dict[str, Any], calls: list[Any], expected: tuple[Any, bool]) -> None:
    assert tuple(add_costs(stated, calls, AT)) == expected


@each_row(
    ("provider", "model", "known"),
    [
        ("openai", "gpt-4o", True),
        ("OpenAI", "gpt-4o-2024-08-06", True),
        ("azure.ai.openai", "gpt-4o", True),
        ("Langchain", "claude-3-5-sonnet-20241022", True),
        ("", "anthropic/claude-3-5-sonnet-20241022", True),
        ("", "gemini-2.0-flash", True),
        ("x_ai", "grok-3", True),
        ("ollama", "deepseek-chat", False),
        ("ollama", "llama3", False),
        ("vllm", "openai/gpt-oss-120b", False),
        ("openai", "no-such-model", False),
        ("", "", False),
    ],
)
def test_whose_prices_are_known(provider: str, model: str, known: bool) -> None:
    call = {"provider": provider, "model": model, "input_tokens": 10, "output_tokens": 10}
    assert (add_costs({}, [("llm", call)], AT).amount is not None) is known


def test_an_embedding_costs_what_it_read() -> None:
    call = {"provider": "openai", "model": "text-embedding-3-small", "input_tokens": 1_000_000}
    amount, priced = add_costs({}, [("embedding", call)], AT)
    assert amount == pytest.approx(0.02) and priced


def test_a_long_prompt_has_the_price_of_long_prompts() -> None:
    short, long = (cost("google", "gemini-2.5-pro", tokens, 0, AT) or 0 for tokens in (100_000, 1_000_000))
    assert long > 10 * short > 0


def test_a_price_is_that_of_its_day() -> None:
    before, after = (cost("openai", "o3", 1_000_000, 0, day) for day in ("2025-05-01T10", "2025-07-01T10"))
    assert before is not None and after is not None and before > after


@pytest.fixture
def client(tmp_path: Path) -> Iterator[httpx.Client]:
    with served(tmp_path) as url, calling(url) as client:
        yield client


def a_call(ident: str, **metadata: Any) -> dict[str, Any]:
    return {"id": ident, "input": "q", "output": "a", "metadata": metadata, "started_at": NOW}


def test_a_cost_is_null_where_nobody_knows_it_and_sums_say_what_they_know(client: httpx.Client) -> None:
    sent = [
        a_call("reported", model="gpt-4o", input_tokens=10, output_tokens=10, cost=0.5),
        a_call("priced", model="gpt-4o", input_tokens=1_000_000, output_tokens=1_000_000),
        a_call("unknown", model="my-own-model", input_tokens=10, output_tokens=10),
        a_call("silent"),
        a_call("whole") | {"cost": 0.25},
    ]
    assert client.post("/api/v1/traces", json=sent).status_code == 201
    listed = {one["id"]: (one["cost"], one["cost_source"]) for one in client.get("/api/v1/traces").json()["traces"]}
    assert listed.pop("priced") == (pytest.approx(PRICE), "priced")
    none = (None, None)
    assert listed == {"reported": (0.5, "reported"), "whole": (0.25, "reported"), "unknown": none, "silent": none}
    assert client.get("/api/v1/traces/unknown").json()["cost"] is None
    dearest = client.get("/api/v1/traces", params={"order": "dearest"}).json()["traces"]
    assert [one["id"] for one in dearest[:3]] == ["priced", "reported", "whole"]
    seen = client.get("/api/v1/stats/traffic", params={"period": "24h"}).json()
    figures = {group["value"]: group["figures"] for group in seen["groups"]}
    assert (figures["my-own-model"]["cost"], figures["my-own-model"]["cost_known"]) == (None, 0.0)
    assert seen["total"]["figures"]["cost"] == pytest.approx(0.75 + (PRICE or 0))
    assert seen["total"]["figures"]["cost_known"] == pytest.approx(3 / 5)
    assert 0 <= seen["age"] < 60 and 0 <= client.get("/api/v1/stats/overview").json()["age"] < 60


def test_what_was_priced_here_is_priced_anew_where_it_goes(client: httpx.Client, tmp_path: Path) -> None:
    client.post("/api/v1/traces", json=a_call("t", model="gpt-4o", input_tokens=10, output_tokens=10))
    exported = client.get("/api/v1/traces/t").json()
    assert exported["cost_source"] == "priced" and "cost" not in exported["metadata"]
    assert client.post("/api/v1/traces", json=exported).json()["duplicates"] == 1
    (tmp_path / "other").mkdir()
    with served(tmp_path / "other") as url, calling(url) as there:
        there.post("/api/v1/traces", json=exported)
        assert there.get("/api/v1/traces/t").json()["cost_source"] == "priced"


def test_the_terminal_says_where_a_cost_comes_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("EVERGOLD_HOME", str(tmp_path / "home"))
    (tmp_path / "traces.jsonl").write_text(
        "\n".join(
            json.dumps(one)
            for one in (
                a_call("priced", model="gpt-4o", input_tokens=1000, output_tokens=0),
                a_call("unknown", model="my-own-model", input_tokens=10, output_tokens=10),
            )
        )
    )
    assert evergold(["ingest", str(tmp_path / "traces.jsonl")]) == 0
    capsys.readouterr()
    for ident, words in (("priced", "cost:    $0.002500 (priced)"), ("unknown", "cost:    unknown")):
        assert evergold(["traces", "show", ident]) == 0
        assert words in capsys.readouterr().out
    assert evergold(["traces", "list", "--json"]) == 0
    listed = {one["id"]: one["cost"] for one in json.loads(capsys.readouterr().out)["traces"]}
    assert listed == {"priced": pytest.approx(0.0025), "unknown": None}
