"""`make bench`: the engine and its floor side by side, a table and tests/benchmarks/results.json."""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from engine.store.migrate import migrate
from engine.store.pool import open_pool
from tests.benchmarks.load import Load, Measured
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
        server.make_template(_migrate)
        rows = [
            _compare(server, system, chats, options.parts, options.interval_ms)
            for chats in options.chats
            for system in SYSTEMS
        ]
    finally:
        server.close()
    RESULTS.write_text(json.dumps(rows, indent=1) + "\n")
    _print(rows)


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
        with model_under_load(parts, interval_ms) as model_url:
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


@contextmanager
def model_under_load(parts: int, interval_ms: float) -> Iterator[str]:
    """A model server in a process of its own; its address."""
    command = [sys.executable, "-m", "tests.fakes.model_server"]
    command += ["--parts", str(parts), "--interval-ms", str(interval_ms)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()


def _migrate(url: str) -> None:
    from bots.event_loop import run

    async def apply() -> None:
        pool = await open_pool(url)
        await migrate(pool)
        await pool.close()

    run(apply())


def _print(rows: list[dict[str, object]]) -> None:
    columns = list(rows[0])
    cells = [columns] + [[_cell(row[name]) for name in columns] for row in rows]
    widths = [max(len(line[index]) for line in cells) for index in range(len(columns))]
    for line in cells:
        padded = (text.ljust(width) for text, width in zip(line, widths, strict=True))
        sys.stdout.write(" | ".join(padded).rstrip() + "\n")


def _cell(value: object) -> str:
    return f"{value:.1f}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
