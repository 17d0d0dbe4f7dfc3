"""What a streamed part costs our model client, beside the openai SDK on the same bytes.

`python -m tests.benchmarks.sdk_run` runs each in a process of its own against the same fake model.
The cost of a part is the slope between long and short answers, so that connecting does not count.
"""

import argparse
import asyncio
import json
import subprocess
import sys

from bots.event_loop import run
from engine.chat.content import NewMessage, Role, plain
from engine.models.client import HttpModel, model_session
from engine.models.model import ModelPrompt
from engine.models.provider import ProviderConfig
from tests.benchmarks.load import cpu_seconds
from tests.benchmarks.model_process import model_under_load
from tests.benchmarks.table import print_table

CLIENTS = ("threadwright", "openai SDK")
SHORT_PARTS, LONG_PARTS = 2, 200


def main() -> None:
    """Compare the two, or be one of them for a parent that measures."""
    parser = argparse.ArgumentParser(prog="benchmarks.sdk_run")
    parser.add_argument("--streams", type=int, default=100)
    parser.add_argument("--interval-ms", type=float, default=20.0)
    parser.add_argument("--child", nargs=2, metavar=("CLIENT", "URL"))
    options = parser.parse_args()
    if options.child is None:
        print_table([_row(client, options) for client in CLIENTS])
        return
    client, url = options.child
    ask = _ask_ours if client == CLIENTS[0] else _ask_sdk
    sys.stdout.write(f"{run(ask(url, options.streams))}\n")


def _row(client: str, options: argparse.Namespace) -> dict[str, object]:
    short, long = (_seconds(client, parts, options) for parts in (SHORT_PARTS, LONG_PARTS))
    parts = options.streams * (LONG_PARTS - SHORT_PARTS)
    return {
        "client": client,
        "streams": options.streams,
        "cpu_us_per_part": (long - short) / parts * 1e6,
        "cpu_ms_per_request": short / options.streams * 1e3,
    }


def _seconds(client: str, parts: int, options: argparse.Namespace) -> float:
    with model_under_load(parts, options.interval_ms) as (url, _):
        command = [sys.executable, "-m", "tests.benchmarks.sdk_run"]
        command += ["--streams", str(options.streams), "--child", client, url]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=300)
    return float(json.loads(done.stdout))


async def _ask_ours(url: str, streams: int) -> float:
    async with model_session() as session:
        model = HttpModel(session, ProviderConfig(name="load", base_url=url))
        prompt = ModelPrompt(
            model="m", messages=(NewMessage(role=Role.USER, content=plain("Hello")),)
        )

        async def one() -> None:
            async with model.stream(prompt) as stream:
                async for _ in stream:
                    pass
            stream.result()

        await one()
        before = cpu_seconds()
        await asyncio.gather(*(one() for _ in range(streams)))
        return cpu_seconds() - before


async def _ask_sdk(url: str, streams: int) -> float:
    from openai import AsyncOpenAI

    async with AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client:

        async def one() -> str:
            texts = []
            answer = await client.chat.completions.create(
                model="m", messages=[{"role": "user", "content": "Hello"}], stream=True
            )
            async for chunk in answer:
                texts += [choice.delta.content or "" for choice in chunk.choices]
            return "".join(texts)

        await one()
        before = cpu_seconds()
        await asyncio.gather(*(one() for _ in range(streams)))
        return cpu_seconds() - before


if __name__ == "__main__":
    main()
