"""`make bench`: the engine and its floor side by side, a table and tests/benchmarks/results.json."""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import msgspec

from tests.benchmarks.load import Load, Measured
from tests.benchmarks.model_process import model_under_load
from tests.benchmarks.table import print_table, template
from tests.fakes.postgres import PostgresServer

RESULTS = Path(__file__).parent / "results.json"
SYSTEMS = ("floor", "engine", "engine+readers")
SHORT_PARTS = 2


def main() -> None:
    """Measure every system at every number of chats."""
    parser = argparse.ArgumentParser(prog="benchmarks")
    parser.add_argument("--chats", type=int, nargs="*", default=[1, 100, 1000])
    parser.add_argument("--parts", type=int, default=200)
    parser.add_argument("--interval-ms", type=float, default=50.0)
    options = parser.parse_args()
    server = PostgresServer()
    try:
        server.start()
        server.make_template(template)
        rows = [
            _compare(server, system, chats, options.parts, options.interval_ms)
            for chats in options.chats
            for system in SYSTEMS
        ]
    finally:
        server.close()
    RESULTS.write_text(json.dumps(rows, indent=1) + "\n")
    print_table(rows)


def _compare(
    server: PostgresServer, system: str, chats: int, parts: int, interval_ms: float
) -> dict[str, object]:
    """One row: a long run, and a short one to tell the cost of a turn from that of its parts."""
    sys.stderr.write(f"{system} x {chats} ...\n")
    long = _run(server, system, chats, parts, interval_ms)
    short = _run(server, system, chats, SHORT_PARTS, interval_ms)
    slope = (long.cpu_seconds - short.cpu_seconds) / max(long.parts - short.parts, 1)
    turn = max(short.cpu_seconds / max(short.turns, 1) - SHORT_PARTS * slope, 0.0)
    return {
        "system": system,
        "chats": chats,
        "turns": long.turns,
        "cpu_us_per_part": slope * 1e6,
        "cpu_ms_per_turn": turn * 1e3,
        "statements_per_turn": long.statements_per_turn,
        "memory_kib_per_chat": long.memory_kib_per_chat,
        "to_request_p50_ms": long.to_request_p50_ms,
        "to_request_p99_ms": long.to_request_p99_ms,
        "late_p50_ms": long.late_p50_ms,
        "late_p99_ms": long.late_p99_ms,
    }


def _run(
    server: PostgresServer, system: str, chats: int, parts: int, interval_ms: float
) -> Measured:
    name = server.create_database()
    try:
        with model_under_load(parts, interval_ms) as (model_url, _):
            load = Load(
                system=system,
                chats=chats,
                parts=parts,
                interval_ms=interval_ms,
                database_url=server.url(name),
                model_url=model_url,
            )
            child = subprocess.run(
                [sys.executable, "-m", "tests.benchmarks.child", msgspec.json.encode(load)],
                stdout=subprocess.PIPE,
                check=True,
                timeout=600,
            )
        return msgspec.json.decode(child.stdout, type=Measured)
    finally:
        server.drop_database(name)


if __name__ == "__main__":
    main()
