"""`make soak`: people talk at a steady rate while a replica is killed every minute.

At the end every question has exactly one whole answer, every chat waits, and what is left of memory
and connections is what there was. Exit code 1 with the reasons otherwise.
"""

import argparse
import asyncio
import sys
import time
from random import Random

from bots.event_loop import run
from tests.benchmarks.model_process import model_under_load
from tests.benchmarks.table import template
from tests.fakes.postgres import PostgresServer
from tests.fakes.redis import RedisServer
from tests.soak.house import House
from tests.soak.people import People
from tests.soak.verdict import Growth, verdict

POSTGRES = {"shared_buffers": "512MB", "autovacuum": "on", "max_wal_size": "1GB"}
PARTS, INTERVAL_MS = 40, 10.0
REPORT_SECONDS = 30.0
SETTLE_SECONDS = 180.0
"""After the last question: longer than a lease and its take-over."""


def main() -> None:
    """Run the soak and say how it went."""
    options = _options()
    server, redis = PostgresServer(**POSTGRES), RedisServer()
    try:
        server.start()
        server.make_template(template)
        url = server.url(server.create_database())
        with model_under_load(PARTS, INTERVAL_MS) as (model_url, _):
            problems = run(_soak(options, url, redis.url, model_url))
    finally:
        redis.stop()
        server.close()
    for problem in problems:
        sys.stdout.write(f"{problem}\n")
    sys.exit(1 if problems else 0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="soak")
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--rate", type=float, default=10.0, help="turns begun a second")
    parser.add_argument("--turns", type=int, default=5, help="turns of one chat")
    parser.add_argument("--replicas", type=int, default=3)
    parser.add_argument("--kill-seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


async def _soak(
    options: argparse.Namespace, database_url: str, redis_url: str, model_url: str
) -> list[str]:
    chance = Random(options.seed)  # noqa: S311 - the same every time
    house = House(database_url, redis_url, model_url)
    growth = Growth()
    async with People.open(database_url, redis_url) as people:
        try:
            for _ in range(options.replicas):
                await house.start()
            await people.warm_up(options.turns)
            talking = asyncio.create_task(
                people.talk(rate=options.rate, turns=options.turns, seconds=options.minutes * 60)
            )
            watching = asyncio.create_task(_watch(house, people, growth))
            killing = asyncio.create_task(_kill(house, chance, options.kill_seconds))
            await talking
            killing.cancel()
            stuck = await people.until_all_rest(SETTLE_SECONDS)
            await growth.note(house, people, is_last=True)
            watching.cancel()
            problems = await verdict(people, growth, stuck=stuck, expected=model_text())
        finally:
            await house.kill_all()
    sys.stdout.write(f"{people.asked} questions, {house.killed} replicas killed, {growth}\n")
    return [*problems, *house.errors()]


def model_text() -> str:
    """What the model for load answers, every time."""
    from tests.fakes.model_load import answer_text

    return answer_text(PARTS)


async def _kill(house: House, chance: Random, seconds: float) -> None:
    while True:
        await asyncio.sleep(seconds)
        await house.replace(chance)


async def _watch(house: House, people: People, growth: Growth) -> None:
    began = time.monotonic()
    while True:
        await asyncio.sleep(REPORT_SECONDS)
        await growth.note(house, people)
        minutes = (time.monotonic() - began) / 60
        sys.stderr.write(f"{minutes:.1f} min, {people.asked} asked, {people.open} open, {growth}\n")


if __name__ == "__main__":
    main()
