"""Coding agents, tried with the official client: over stdio and over HTTP, with tokens and roles."""

import asyncio
import json
import os
import re
import sys
import tomllib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

import evergold
from evergold.mcp import LONG, SHORT, TOOLS, make_server, read_skill
from evergold.store.case.writes import Author
from tests.api.serving import calling, served
from tests.builders import a_case
from tests.cli.running import evergold as run_command
from tests.patience import PATIENCE

GOOD = [{"name": "helpful", "value": 1.0, "source": source} for source in ("system", "user")]
BAD = [{"name": "helpful", "value": 0.0, "source": "user", "comment": "wrong"}]
OWNER = "owner-token-1"


class Agent:
    """Calls tools and reads the JSON of their answers."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def __call__(self, tool: str, **given: Any) -> Any:
        return json.loads(await self.text(tool, **given))

    async def text(self, tool: str, **given: Any) -> str:
        answer = await self._client.call_tool(tool, given)
        text: str = answer.content[0].text  # type: ignore[union-attr]
        assert not answer.is_error, text
        return text

    async def refusal(self, tool: str, **given: Any) -> str:
        answer = await self._client.call_tool(tool, given)
        assert answer.is_error
        text: str = answer.content[0].text  # type: ignore[union-attr]
        return text


def some_traces() -> list[dict[str, Any]]:
    return [
        {
            "id": f"t{n}",
            "input": f"May I return item {n}?",
            "output": f"{n} days.",
            "scores": BAD if n % 4 == 0 else GOOD,
        }
        for n in range(24)
    ]


async def wait_for_run(call: Agent, run: str) -> dict[str, Any]:
    while True:
        state: dict[str, Any] = await call("get_run", run_id=run, worst=2)
        if state["status"] not in ("queued", "running"):
            return state
        await asyncio.sleep(0.05)


async def work_as_an_agent(call: Agent) -> str:
    """What the skill says: why answers fail, a proposal, a run, a comparison. Returns who the proposal is of."""
    seen = await call("overview")
    assert seen["traces"] == 24
    counted = await call("count_traces", search="return", score="helpful<0.5")
    assert counted["total"] == 6
    failing = await call("search_traces", score="helpful<0.5", limit=4)
    assert (len(failing["traces"]), bool(failing["next"])) == (4, True)
    rest = await call("search_traces", score="helpful<0.5", limit=4, cursor=failing["next"])
    assert (len(rest["traces"]), rest["next"]) == (2, None)
    why = await call("explain_trace", trace_id="t4")
    assert why[0]["tier"] == "failure" and why[0]["decided_by"] == ["helpful = 0 (user): wrong"]
    made = await call("propose_case", trace_id="t4", question="", why="users call it wrong", expected="Thirty days.")
    assert (made["dataset"], made["review"], made["expected"]) == ("proposed", "unvalidated", "Thirty days.")
    assert "already" in await call.refusal("propose_case", trace_id="t4", question="", why="again")
    own = await call("propose_case", question="And by post?", why="nobody asks", tags=["returns"])
    assert "already" in await call.refusal("propose_case", question="And by post?", why="again")
    shown = await call("get_case", dataset="proposed", case_id=own["id"])
    assert shown["tags"] == ["returns"] and "proposed" in shown["history"][0]
    assert "token_f1" in (await call("list_metrics"))["metrics"]
    runs = [(await call("start_run", dataset="live", model="recorded", metrics=["token_f1"]))["run_id"] for _ in "ab"]
    for run in runs:
        state = await wait_for_run(call, run)
        assert state["status"] == "completed" and len(state["worst"]) == 2
    compared = await call("compare_runs", baseline=runs[0], candidate=runs[1])
    assert compared["metrics"][0]["difference"] == 0 and compared["sentence"]
    assert {one["id"] for one in await call("list_runs")} == set(runs)
    assert "only taken from the command line" in await call.refusal(
        "start_run", dataset="live", model="command:ls", metrics=["length"]
    )
    assert "no trace 'nope'" in await call.refusal("get_trace", trace_id="nope")
    assert "status" in await call.refusal("search_traces", status="odd")
    who: str = made["proposed_by"]
    return who


def test_an_agent_works_over_stdio(tmp_path: Path) -> None:
    with evergold.open(tmp_path) as ws:
        ws.ingest(some_traces())
        ws.curate()
    code = "from evergold.cli import main; main()"
    home = str(tmp_path / ".evergold")
    env = {"PYTHONPATH": os.environ.get("PYTHONPATH", ""), "EVERGOLD_CHECKS_BUILTIN": "false"}
    params = StdioServerParameters(
        command=sys.executable, args=["-c", code, "--home", home, "mcp"], env=env, cwd=tmp_path
    )

    async def work() -> str:
        async with Client(params, read_timeout_seconds=PATIENCE) as client:
            return await work_as_an_agent(Agent(client))

    assert asyncio.run(work()).startswith("agent ")
    with evergold.open(tmp_path) as ws:
        assert {case.metadata["proposed_by"].partition(" ")[0] for case in ws.cases("proposed")} == {"agent"}
        assert {case.review.value for case in ws.cases("proposed")} == {"unvalidated"}


def over_http(url: str, token: str, work: Callable[[Agent], Awaitable[Any]]) -> Any:
    async def connect() -> Any:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE) as http:
            transport = streamable_http_client(f"{url}/mcp", http_client=http)
            async with Client(transport, read_timeout_seconds=PATIENCE) as client:
                return await work(Agent(client))

    return asyncio.run(connect())


@pytest.mark.slow
def test_an_agent_works_over_http_as_far_as_its_role_goes(tmp_path: Path) -> None:
    with served(tmp_path, EVERGOLD_SERVER_TOKEN=OWNER) as url:
        ws = evergold.open(url=url, token=OWNER)
        ws.ingest(some_traces())
        ws.curate()
        tokens = {}
        with calling(url, headers={"Authorization": f"Bearer {OWNER}"}) as owner:
            for role in ("editor", "reviewer", "reader", "ingest"):
                made = owner.post("/api/v1/tokens", json={"name": f"bot-{role}", "role": role}).json()
                tokens[role] = made["token"]
        assert over_http(url, tokens["editor"], work_as_an_agent) == "agent bot-editor"

        async def read_only(call: Agent) -> None:
            assert (await call("overview"))["traces"] == 24
            for tool, given in (
                ("propose_case", {"question": "Why?", "why": "x"}),
                ("start_run", {"dataset": "live", "model": "recorded", "metrics": ["token_f1"]}),
            ):
                assert "needs one of the roles owner, editor" in await call.refusal(tool, **given)

        over_http(url, tokens["reader"], read_only)
        over_http(url, tokens["reviewer"], read_only)
        with calling(url) as stranger:
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
            assert stranger.post("/mcp", json=body).status_code == 401
            page = {"Origin": "https://evil.example", "Authorization": f"Bearer {OWNER}"}
            assert stranger.post("/mcp", json=body, headers=page).status_code == 403
            sender = {"Authorization": f"Bearer {tokens['ingest']}"}
            assert stranger.post("/mcp", json=body, headers=sender).status_code == 403


def test_answers_fit_an_agents_context(tmp_path: Path) -> None:
    long = "word " * 20_000
    with evergold.open(tmp_path) as ws:
        ws.ingest([{"id": f"t{n}", "input": long, "output": long} for n in range(60)])
        server = make_server(ws.workspace, works_here=True)

        async def read() -> None:
            async with Client(server) as client:
                call = Agent(client)
                assert len((await client.list_tools()).tools) == len(TOOLS) <= 15
                assert len(await call.text("search_traces", limit=500)) < 50 * (2 * SHORT + 400)
                assert len(await call.text("get_trace", trace_id="t1")) < 2 * LONG + 1000
                solved = [{"name": "reward", "value": 1.0}]
                ws.ingest({"id": "c", "input": "When does it open?", "output": "At nine.", "scores": solved})
                ws.curate()
                ws.workspace.cases.put([a_case("silent", evidence="silence")], Author())
                listed = await call("search_cases")
                assert [one["evidence"] for one in listed["cases"]] == ["outcome"]
                assert listed["candidates_left_out"] == 1
                assert len((await call("search_cases", candidates="only"))["cases"]) == 1
                assert '"evidence":"outcome"' in await call.text("explain_trace", trace_id="c")

        asyncio.run(read())


def test_settings_for_agents_and_the_skill_are_printed(tmp_path: Path) -> None:
    ran = {name: run_command("mcp", "--print-config", name, cwd=tmp_path) for name in ("claude", "codex", "cursor")}
    printed = {name: one.out for name, one in ran.items()}
    files = {"claude": ".mcp.json", "codex": "~/.codex/config.toml", "cursor": ".cursor/mcp.json"}
    assert all(f"into {files[name]}" in one.err and "--print-skill" in one.err for name, one in ran.items())
    entries = [json.loads(printed[name])["mcpServers"]["evergold"] for name in ("claude", "cursor")]
    entries.append(tomllib.loads(printed["codex"])["mcp_servers"]["evergold"])
    for entry in entries:
        assert entry["args"] == ["--home", str(tmp_path / ".evergold"), "mcp"]
        assert Path(entry["command"]).name == "evergold"
    remote = run_command("mcp", "--print-config", "claude", "--url", "https://evals.example.org/", cwd=tmp_path).out
    assert json.loads(remote)["mcpServers"]["evergold"]["url"] == "https://evals.example.org/mcp"
    assert run_command("mcp", "--print-skill", cwd=tmp_path).out == read_skill()
    assert list(tmp_path.iterdir()) == []


def test_the_skill_names_tools_that_there_are() -> None:
    named = set(re.findall(r"`([a-z]+_[a-z]+)", read_skill())) - {"breakdown_of"}
    assert named <= TOOLS.keys()
    assert {"explain_trace", "propose_case", "start_run", "compare_runs"} <= named
