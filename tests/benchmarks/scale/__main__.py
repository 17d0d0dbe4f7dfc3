"""`python -m tests.benchmarks.scale`: many chats of many turns on 1, 4 and 8 processes, and the floor.

Every row names what it bounds: CPU of the replicas, of Postgres, of Redis and of the fake model, a
turn. "saturated" rows go as fast as they can, so their latencies are those of a queue; "paced" rows
offer about half of that and show what people would feel.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from tests.benchmarks.load import percentile
from tests.benchmarks.model_process import model_under_load
from tests.benchmarks.scale.load import ScaleLoad, ScaleMeasured, tree_cpu_seconds
from tests.benchmarks.table import print_table, template
from tests.fakes.postgres import PostgresServer
from tests.fakes.redis import RedisServer

SETTINGS = {
    "shared_buffers": "1GB",
    "autovacuum": "on",
    "max_wal_size": "2GB",
    "max_connections": "300",
}
"""As a server that is meant for it; commits do not wait for a disk."""
RESULTS = Path(__file__).parents[1] / "results-scale.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One row of the table."""

    system: str
    processes: int
    chats: int
    turns: int
    pause: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """What every run uses."""

    server: PostgresServer
    redis: RedisServer
    options: argparse.Namespace


def main() -> None:
    """Measure the floor and the engine with every number of processes and chats."""
    options = _options()
    server, redis = PostgresServer(**SETTINGS), RedisServer()
    try:
        server.start()
        server.make_template(template)
        rows = list(_rows(House(server=server, redis=redis, options=options)))
    finally:
        redis.stop()
        server.close()
    RESULTS.write_text(json.dumps(rows, indent=1) + "\n")
    print_table(rows)


def _rows(house: House) -> Iterator[dict[str, object]]:
    options = house.options
    for chats in options.chats:
        yield _measure(house, Run(system="floor", processes=1, chats=chats, turns=options.turns))
        for processes in options.processes:
            run = Run(system="engine", processes=processes, chats=chats, turns=options.turns)
            row = _measure(house, run)
            yield row
            if options.paced:
                pause = 2 * chats / float(str(row["turns_per_s"]))
                yield _measure(house, replace(run, turns=options.paced_turns, pause=pause))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.scale")
    parser.add_argument("--chats", type=int, nargs="*", default=[100, 1000, 5000])
    parser.add_argument("--processes", type=int, nargs="*", default=[1, 4, 8])
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--paced-turns", type=int, default=3)
    parser.add_argument("--parts", type=int, default=40)
    parser.add_argument("--interval-ms", type=float, default=10.0)
    parser.add_argument("--probes", type=int, default=5, help="followed chats a process")
    parser.add_argument("--paced", action=argparse.BooleanOptionalAction, default=True)
    return parser.parse_args()


def _measure(house: House, run: Run) -> dict[str, object]:
    options = house.options
    sys.stderr.write(f"{run} ...\n")
    name = house.server.create_database()
    house.redis.flush()
    with model_under_load(options.parts, options.interval_ms) as (model_url, model_pid):

        def load(index: int) -> ScaleLoad:
            return ScaleLoad(
                system=run.system,
                index=index,
                processes=run.processes,
                chats=run.chats,
                turns=run.turns,
                pause_seconds=run.pause,
                probes=options.probes,
                database_url=house.server.url(name),
                redis_url=house.redis.url,
                model_url=model_url,
            )

        with _cpu_of(postgres=house.server.pid, redis=house.redis.pid, model=model_pid) as others:
            measured = _run(load, run.processes)
    house.server.drop_database(name)
    return _row(run, measured, others)


def _run(load: Callable[[int], ScaleLoad], processes: int) -> list[ScaleMeasured]:
    children = [
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tests.benchmarks.scale.child",
                msgspec.json.encode(load(index)),
            ],
            stdout=subprocess.PIPE,
        )
        for index in range(processes)
    ]
    outputs = [child.communicate(timeout=3600)[0] for child in children]
    return [msgspec.json.decode(output, type=ScaleMeasured) for output in outputs]


@contextmanager
def _cpu_of(**pids: int) -> Iterator[dict[str, float]]:
    before = {name: tree_cpu_seconds(pid) for name, pid in pids.items()}
    spent: dict[str, float] = {}
    began = time.perf_counter()
    yield spent
    spent["wall"] = time.perf_counter() - began
    spent.update({name: tree_cpu_seconds(pid) - before[name] for name, pid in pids.items()})


def _row(run: Run, measured: list[ScaleMeasured], others: dict[str, float]) -> dict[str, object]:
    turns = sum(each.turns for each in measured)
    cpu = sum(each.cpu_seconds for each in measured)
    wall = max(each.wall_seconds for each in measured)
    asked = [value for each in measured for value in each.to_request_ms]
    followed = [value for each in measured for value in each.to_follower_ms]
    return {
        "system": run.system,
        "load": "paced" if run.pause else "saturated",
        "processes": run.processes,
        "chats": run.chats,
        "turns_per_s": turns / wall,
        "turns_per_s_core": turns / cpu,
        "cpu_ms_turn": 1000 * cpu / turns,
        "postgres_ms_turn": 1000 * others["postgres"] / turns,
        "redis_ms_turn": 1000 * others["redis"] / turns,
        "model_ms_turn": 1000 * others["model"] / turns,
        "statements_turn": sum(each.statements for each in measured) / turns,
        "heartbeats_s": sum(each.heartbeats for each in measured) / wall,
        "kib_chat": sum(each.memory_kib for each in measured) / run.chats,
        "request_p50_ms": percentile(asked, 0.5),
        "request_p99_ms": percentile(asked, 0.99),
        "follower_p50_ms": percentile(followed, 0.5),
        "follower_p99_ms": percentile(followed, 0.99),
    }


if __name__ == "__main__":
    main()
