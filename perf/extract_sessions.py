"""Extraction from many large session logs: CPU seconds, and whether every session found its commit.

    python -m perf.extract_sessions                              # 500 sessions of 2 MB: a gigabyte of logs
    python -m perf.extract_sessions --sessions 50

Each session of Claude Code reads a dozen files whole, edits one, and says nothing of a commit; its work is squashed later
with a number in the subject, by twos, after hundreds of other commits to the same files. So every session is bound by
its lines. The goal is 60 CPU seconds for 500 sessions.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from perf.measuring import print_figure

FILES, LINES = 40, 3000


def text_of(number: int) -> list[str]:
    return [f"value_{number}_{line} = compute({line}, {number}) + offset_{line % 97}" for line in range(LINES)]


def make(folder: Path, sessions: int, size: int) -> tuple[Path, Path]:
    """A repository, and the logs of the sessions that worked in it."""
    repo, logs = folder / "repo", folder / "logs"
    logs.mkdir()
    files = {f"src/m{number}.py": text_of(number) for number in range(FILES)}
    stream = ["reset refs/heads/main"]
    time = 1_760_000_000
    marks = 0

    def commit(message: str, changed: list[str]) -> None:
        nonlocal time, marks
        time, marks = time + 60, marks + 1
        blobs = [(name, "\n".join(files[name]) + "\n") for name in changed]
        stream.append(f"commit refs/heads/main\nmark :{marks}\ncommitter Ada <a@b.c> {time} +0000")
        stream.append(f"data {len(message.encode())}\n{message}")
        stream.extend([f"from :{marks - 1}"] if marks > 1 else [])
        stream.extend(f"M 100644 inline {name}\ndata {len(text.encode())}\n{text}" for name, text in blobs)

    commit("Start of it all", list(files))
    for number in range(sessions):
        name = f"src/m{number % FILES}.py"
        write_log(logs / f"s-{number}.jsonl", number, name, files, size, time)
        at = (number * 13) % LINES
        files[name][at] = new_line(number)
        if number % 2:
            other = f"src/m{(number - 1) % FILES}.py"
            commit(f"Better names (#{number})", sorted({name, other}))
        commit("Go on elsewhere", ["src/m39.py"])
        files["src/m39.py"][number % LINES] += " "
    subprocess.run(["git", "init", "-q", "-b", "main", str(repo)], check=True)
    data = "\n".join([*stream, "done", ""]).encode()
    subprocess.run(["git", "-C", str(repo), "fast-import", "--quiet", "--done"], input=data, check=True)
    return repo, logs


def new_line(number: int) -> str:
    return f"better_name_{number} = compute_again({number})"


def write_log(path: Path, number: int, name: str, files: dict[str, list[str]], size: int, time: int) -> None:
    events: list[str] = []

    def add(type: str, content: object) -> None:
        stamp = datetime.fromtimestamp(time + len(events), UTC).isoformat()
        more = {
            "uuid": f"{number}-{len(events)}",
            "cwd": "/work/repo",
            "gitBranch": f"side-{number}",
            "timestamp": stamp,
        }
        events.append(
            json.dumps(
                {"type": type, "sessionId": f"s-{number}", "message": {"role": type, "content": content}, **more}
            )
        )

    def call(tool: str, result: str, **given: object) -> None:
        id = f"toolu_{len(events)}"
        add("assistant", [{"type": "tool_use", "id": id, "name": tool, "input": given}])
        add("user", [{"type": "tool_result", "tool_use_id": id, "content": result}])

    add("user", f"Please give value {number} a better name")
    read, at = 0, number
    while read < size:
        shown = f"src/m{at % FILES}.py"
        text = "\n".join(f"{line:>6}→{content}" for line, content in enumerate(files[shown], 1))
        call("Read", text, file_path=f"/work/repo/{shown}")
        read, at = read + len(text) + 200, at + 1
    old = files[name][(number * 13) % LINES]
    call("Edit", "updated", file_path=f"/work/repo/{name}", old_string=old, new_string=new_line(number))
    add("user", "ok")
    path.write_text("\n".join(events) + "\n")


def extract_once(repo: Path, logs: Path, out: Path) -> None:
    """In a process of its own: extract, then print cases, CPU seconds and peak memory."""
    from evergold.extract.run import Extraction, extract_sessions
    from evergold.sources.agents.claude_code import ClaudeCodeSource

    summary = extract_sessions(ClaudeCodeSource(logs), Extraction(out), repo)
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    seconds = sum(one.ru_utime + one.ru_stime for one in spent)
    print(json.dumps([summary.counts["new"], dict(summary.skipped), seconds, spent[0].ru_maxrss / 1024]))


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=500)
    parser.add_argument("--mb", type=float, default=2)
    parser.add_argument("--once", nargs=3, type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.once:
        extract_once(*given.once)
        return
    with tempfile.TemporaryDirectory() as folder:
        repo, logs = make(Path(folder), given.sessions, int(given.mb * 1e6))
        command = [sys.executable, "-m", "perf.extract_sessions", "--once", str(repo), str(logs), f"{folder}/out"]
        cases, skipped, seconds, peak = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    print(f"{given.sessions} sessions of {given.mb:g} MB: {cases} cases, {skipped}, peak {peak:.0f} MB")
    if not print_figure("sessions, CPU", seconds, "s", 60 * given.sessions / 500):
        raise SystemExit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
