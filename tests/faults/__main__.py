"""`python -m tests.faults CAMPAIGN`: one seeded campaign of kill, fuzz, soak, outage … (`--help`); exit 1 when it failed."""

import argparse
import sys
import tempfile
from contextlib import ExitStack
from math import inf
from pathlib import Path

from tests.faults import beside, fuzz, kill, outage, soak
from tests.faults.postgres import own_database
from tests.faults.server import Summary

OWN = "own"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--seed", type=int, default=1)
    shared.add_argument("--db", default="", help=f"PostgreSQL URL; {OWN}: one started for it; empty: SQLite")
    commands = parser.add_subparsers(dest="campaign", required=True)
    killing = commands.add_parser("kill", parents=[shared])
    killing.add_argument("--times", type=int, default=20)
    killing.add_argument(
        "--only", nargs="*", choices=kill.SCENES, default=(), help="what is killed; default: each in turn"
    )
    fuzzing = commands.add_parser("fuzz", parents=[shared])
    fuzzing.add_argument("--requests", type=int, default=2000)
    for bounded in (killing, fuzzing):
        bounded.add_argument("--minutes", type=float, default=inf, help="stop after so long, whatever is left")
    soaking = commands.add_parser("soak", parents=[shared])
    soaking.add_argument("--minutes", type=float, default=1.0)
    soaking.add_argument("--load", type=float, default=0.7)
    failing = commands.add_parser("outage")
    failing.add_argument("--seed", type=int, default=1)
    failing.add_argument("--rounds", type=int, default=1)
    failing.add_argument("--database", nargs="*", choices=("sqlite", "postgresql"), default=(), help="default: both")
    failing.add_argument("--only", nargs="*", choices=outage.FAULTS, default=(), help="which faults; default: all")
    waiting = commands.add_parser("beside")
    waiting.add_argument("--seed", type=int, default=1)
    waiting.add_argument("--traces", type=int, default=4000, help="of the history that the verbs work on")
    waiting.add_argument("--rate", type=float, default=0.0, help="spans a second; 0: as many as the server takes")
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="evergold-faults-") as folder, ExitStack() as stack:
        if getattr(chosen, "db", "") == OWN:
            place = stack.enter_context(tempfile.TemporaryDirectory(prefix="evergold-pg-", ignore_cleanup_errors=True))
            chosen.db = stack.enter_context(own_database(Path(place)))
        summary = _run(chosen, Path(folder))
    summary.show(chosen.campaign)
    return 0 if summary.good() else 1


def _run(chosen: argparse.Namespace, home: Path) -> Summary:
    if chosen.campaign == "kill":
        return kill.run(home, kill.Plan(chosen.times, chosen.seed, chosen.only, chosen.minutes), chosen.db)
    if chosen.campaign == "fuzz":
        return fuzz.run(home, chosen.requests, chosen.seed, chosen.db, chosen.minutes)
    if chosen.campaign == "soak":
        return soak.run(home, chosen.minutes, chosen.load, chosen.seed, chosen.db)
    if chosen.campaign == "beside":
        return beside.run(home, chosen.traces, chosen.rate, chosen.seed)
    return outage.run(home, chosen.rounds, chosen.seed, chosen.database, chosen.only)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
