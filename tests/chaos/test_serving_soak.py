"""Twenty threads at once on two replicas that die again and again: every thread ends complete and single."""

import asyncio
from collections.abc import Sequence
from random import Random

from engine.store.pool import Pool
from tests.chaos.serving import PATIENCE_SECONDS, serving
from tests.chaos.slack_threads import texts, until_said_once
from tests.fakes.model_server import FakeModel, Pause, Say, SeenRequest, Step
from tests.fakes.slack_server import FakeSlack
from tests.fakes.slack_state import Channel, Message

THREADS = 20
KILLS = 3
SEED = 20
TURNS = 2


def reply_of(question: str) -> str:
    """What is answered to a question, the same every time."""
    return " ".join(f"{question} {number}," for number in range(30)) + " that is all."


def answer(seen: SeenRequest) -> Sequence[Step]:
    """The reply, over about a second."""
    words = reply_of(seen.last_text.removeprefix("Ada: "))
    third = len(words) // 3
    return [
        Say(words[:third]),
        Pause(0.4),
        Say(words[third : 2 * third]),
        Pause(0.4),
        Say(words[2 * third :]),
    ]


async def until_shown(
    slack: FakeSlack, roots: Sequence[tuple[Channel, Message]], messages: int
) -> None:
    """Wait until the threads together show so many messages of the bot."""
    await slack.wait_until(
        lambda: sum(len(texts(slack, *root)) for root in roots) >= messages,
        timeout=PATIENCE_SECONDS,
    )


async def test_threads_outlive_replicas(
    slack: FakeSlack, model: FakeModel, database_url: str, redis_url: str, pool: Pool
) -> None:
    """D2, D3, D12, E57"""
    chance = Random(SEED)  # noqa: S311 - the same every time
    ada = slack.user("Ada")
    channels = [slack.channel("harbour"), slack.channel("lighthouse")]
    model.answer(answer)
    async with serving(slack, model, database_url, redis_url) as house:
        alive = [await house.start(), await house.start()]
        roots = []
        for number in range(THREADS):
            channel = channels[number % 2]
            roots.append((channel, await ada.say(channel, f"<@BOT> t{number}q0")))
        # Slack promises no order between sockets: what is heard after this is later for everybody.
        await slack.wait_until_settled()
        for number, (channel, root) in enumerate(roots):
            for turn in range(1, TURNS):
                await ada.say(channel, f"t{number}q{turn}", thread_ts=root.ts)
        for kill in range(1, KILLS + 1):
            await until_shown(slack, roots, THREADS * TURNS * kill // (KILLS + 2))
            victim = alive.pop(chance.randrange(len(alive)))
            await victim.kill()
            alive.append(await house.start())
        async with asyncio.TaskGroup() as tasks:
            for number, (channel, root) in enumerate(roots):
                wanted = [reply_of(f"t{number}q{turn}") for turn in range(TURNS)]
                tasks.create_task(until_said_once(slack, pool, channel, root, wanted))
