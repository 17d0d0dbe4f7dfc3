"""One workspace with Slack's real limits: `python -m tests.benchmarks.slack_tiers_run`.

So many threads are answered at once, a few in a channel, while the fake Slack refuses what Slack would
refuse: 50 edits a minute, a post a second in a channel, 300 a minute, and so on. What people would see is
looked at ten times a second; every part of a reply says when the model sent it. A table, and
results-slack-tiers.json beside this file.
"""

import argparse
import asyncio
import json
import re
import sys
import time
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

from tests.benchmarks.load import percentile
from tests.benchmarks.model_process import model_under_load
from tests.benchmarks.table import print_table
from tests.chaos.serving import serving
from tests.fakes.model_server import FakeModel
from tests.fakes.postgres import PostgresServer
from tests.fakes.redis import RedisServer
from tests.fakes.slack_server import FakeSlack
from tests.fakes.slack_state import Channel, Message

RESULTS = Path(__file__).parent / "results-slack-tiers.json"
LOOK_SECONDS = 0.1
PATIENCE_SECONDS = 1500.0
STAMP = re.compile(r"\b\d{19}\b")
"""A part of the model's: when it was sent, in nanoseconds since the epoch."""
GROWING = ("chat.update", "chat.appendStream")


@dataclass(slots=True, kw_only=True, eq=False)
class Thread:
    """One thread as people see it. Seconds since the epoch; `gaps`: how long it stood still."""

    channel: Channel
    root: Message
    seen: int = 0
    changed_at: float = 0.0
    gaps: list[float] = field(default_factory=list)
    first_after: float = 0.0
    final_after: float | None = None

    def look(self, slack: FakeSlack, parts: int) -> None:
        """Take in what the thread shows now."""
        now = time.time()
        shown = slack.thread(self.channel, self.root)[1:]
        stamps = [stamp for page in shown for stamp in STAMP.findall(page.plain)]
        if len(stamps) <= self.seen:
            return
        if self.seen:
            self.gaps.append(now - self.changed_at)
        else:
            self.first_after = now - int(stamps[0]) / 1e9
        self.seen, self.changed_at = len(stamps), now
        if self.seen >= parts:
            self.final_after = now - int(stamps[-1]) / 1e9


async def measure(options: argparse.Namespace, threads: int, streaming: str) -> dict[str, object]:
    """Answer so many threads at once; what people saw, and what Slack refused."""
    with model_under_load(options.parts, options.interval_ms) as (model_url, _):
        async with AsyncExitStack() as stack:
            server, redis = PostgresServer(), RedisServer()
            stack.callback(server.close)
            stack.callback(redis.stop)
            server.start()
            slack = await stack.enter_async_context(FakeSlack.start())
            unused = await stack.enter_async_context(FakeModel.start())
            settings = {
                "OPENAI_BASE_URL": model_url,
                "THREADWRIGHT_SLACK_EDIT_INTERVAL_MS_MIN": "3000",
                "THREADWRIGHT_SLACK_CALL_RATE": "1",
                "THREADWRIGHT_SLACK_STREAMING": streaming,
                "THREADWRIGHT_WORKER_LEASE_SECONDS": "30",
                "THREADWRIGHT_DELIVERY_LEASE_SECONDS": "30",
            }
            house = await stack.enter_async_context(
                serving(slack, unused, server.url(), redis.url, over_http=False, **settings)
            )
            for _ in range(options.replicas):
                await house.start()
            slack.rate_limits.enable_tiers()
            seen = await _answered(slack, options, threads)
            return _row(slack, options, seen, streaming)


async def _answered(slack: FakeSlack, options: argparse.Namespace, threads: int) -> list[Thread]:
    ada = slack.user("Ada")
    seen = []
    for number in range(threads):
        name = f"harbour{number // options.per_channel}"
        channel = slack.channel(name, members=[ada, slack.bot])
        seen.append(Thread(channel=channel, root=await ada.say(channel, f"<@BOT> probe {number}")))
    async with asyncio.timeout(PATIENCE_SECONDS):
        while waiting := [thread for thread in seen if thread.final_after is None]:
            for thread in waiting:
                thread.look(slack, options.parts)
            await asyncio.sleep(LOOK_SECONDS)
    return seen


def _row(
    slack: FakeSlack, options: argparse.Namespace, seen: list[Thread], streaming: str
) -> dict[str, object]:
    calls = Counter[str]()
    for call in (call for method in GROWING for call in slack.calls(method) if call.error is None):
        calls[str(call.args["ts"])] += 1
    replies = [
        sum(calls[page.ts] for page in slack.replies(thread.channel, thread.root))
        for thread in seen
    ]
    firsts = [thread.first_after for thread in seen]
    finals = [thread.final_after or 0.0 for thread in seen]
    return {
        "streaming": streaming,
        "replicas": options.replicas,
        "threads": len(seen),
        "edits_per_reply": sum(replies) / len(replies),
        "edits_min": min(replies),
        "edits_max": max(replies),
        "first_p50_s": percentile(firsts, 0.5),
        "first_p99_s": percentile(firsts, 0.99),
        "final_p50_s": percentile(finals, 0.5),
        "final_p99_s": percentile(finals, 0.99),
        "still_max_s": max(gap for thread in seen for gap in (*thread.gaps, 0.0)),
        "refused": slack.rate_limits.rejected,
        "refused_by_method": dict(slack.rate_limits.rejected_methods),
    }


def main() -> None:
    """Measure every number of threads; print a table and write the rows."""
    parser = argparse.ArgumentParser(prog="slack_tiers_run")
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 50, 200])
    parser.add_argument("--streaming", nargs="*", default=["edits", "auto"])
    parser.add_argument("--replicas", type=int, default=2)
    parser.add_argument("--per-channel", type=int, default=5)
    parser.add_argument("--parts", type=int, default=150)
    parser.add_argument("--interval-ms", type=float, default=150.0)
    options = parser.parse_args()
    rows = []
    for streaming in options.streaming:
        for threads in options.threads:
            sys.stderr.write(f"{streaming} x {threads} ...\n")
            rows.append(asyncio.run(measure(options, threads, streaming)))
            RESULTS.write_text(json.dumps(rows, indent=1) + "\n")
    print_table(rows)


if __name__ == "__main__":
    main()
