"""Slack threads answered by the real program over HTTP: `python -m tests.benchmarks.slack_run`.

The conditions of the comparison in the design: 50 threads at once, each reply 200 parts 20 ms apart,
edits at most once a second, no platform limits. CPU is that of the serving process alone.
"""

import argparse
import asyncio
import json
import os
import sys
import time
from pathlib import Path

from tests.benchmarks.load import percentile
from tests.benchmarks.model_process import model_under_load
from tests.chaos.serving import serving
from tests.fakes.model_server import FakeModel
from tests.fakes.postgres import PostgresServer
from tests.fakes.slack_server import FakeSlack

TICKS = os.sysconf("SC_CLK_TCK")


async def measure(threads: int, parts: int, interval_ms: float) -> dict[str, object]:
    """Answer so many threads at once; what it cost and how long people waited."""
    server = PostgresServer()
    try:
        server.start()
        with model_under_load(parts, interval_ms) as (model_url, _):
            async with FakeSlack.start() as slack, FakeModel.start() as unused:
                settings = {
                    "OPENAI_BASE_URL": model_url,
                    "THREADWRIGHT_SLACK_EDIT_INTERVAL_MS_MIN": "1000",
                    "THREADWRIGHT_SLACK_STREAMING": "edits",
                    "THREADWRIGHT_SLACK_CALL_RATE": "100",
                    "THREADWRIGHT_WORKER_LEASE_SECONDS": "30",
                    "THREADWRIGHT_DELIVERY_LEASE_SECONDS": "30",
                }
                async with serving(
                    slack, unused, server.url(), over_http=True, **settings
                ) as house:
                    replica = await house.start()
                    slack.use_http(f"{replica.url}/slack/events")
                    await _answer(slack, 1, parts)
                    return await _measured(slack, replica.pid, threads, parts, interval_ms)
    finally:
        server.close()


async def _measured(
    slack: FakeSlack, pid: int, threads: int, parts: int, interval_ms: float
) -> dict[str, object]:
    before, rss = _cpu_seconds(pid), _rss_kib(pid)
    waits = await _answer(slack, threads, parts)
    cpu = _cpu_seconds(pid) - before
    streaming = parts * interval_ms / 1000
    return {
        "threads": threads,
        "cpu_ms_per_reply": cpu / threads * 1e3,
        "cpu_us_per_part": cpu / threads / parts * 1e6,
        "memory_kib_per_thread": (_rss_kib(pid) - rss) / threads,
        "first_text_p50_s": percentile([first for first, _ in waits], 0.5),
        "end_after_model_p50_s": percentile([end - streaming for _, end in waits], 0.5),
        "end_after_model_p99_s": percentile([end - streaming for _, end in waits], 0.99),
    }


async def _answer(slack: FakeSlack, threads: int, parts: int) -> list[tuple[float, float]]:
    ada = slack.user(f"Ada{threads}")
    channel = slack.channel(f"harbour{threads}", members=[ada, slack.bot])
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(_thread(slack, ada, channel, number, parts))
            for number in range(threads)
        ]
    return [task.result() for task in tasks]


async def _thread(
    slack: FakeSlack, ada: object, channel: object, number: int, parts: int
) -> tuple[float, float]:
    began = time.perf_counter()
    message = await ada.say(channel, f"<@BOT> question {number}")  # type: ignore[attr-defined]
    spaces = parts

    def words() -> int:
        shown = slack.thread(channel, message.ts)[1:]  # type: ignore[arg-type]
        return sum(len(page.plain.split()) for page in shown)

    await slack.wait_until(lambda: words() > 0, timeout=60)
    first = time.perf_counter() - began
    await slack.wait_until(lambda: words() >= spaces, timeout=120)
    return first, time.perf_counter() - began


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def _rss_kib(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1024


def main() -> None:
    """Measure and print one row of JSON."""
    parser = argparse.ArgumentParser(prog="slack_run")
    parser.add_argument("--threads", type=int, default=50)
    parser.add_argument("--parts", type=int, default=200)
    parser.add_argument("--interval-ms", type=float, default=20.0)
    options = parser.parse_args()
    row = asyncio.run(measure(options.threads, options.parts, options.interval_ms))
    sys.stdout.write(json.dumps(row, indent=1) + "\n")


if __name__ == "__main__":
    main()
