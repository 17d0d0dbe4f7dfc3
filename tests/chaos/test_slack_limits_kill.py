"""Slack says wait, in one channel, while replicas die: the final text lands, and others never wait."""

from collections.abc import Sequence
from typing import Any

from engine.store.pool import Pool
from tests.chaos.serving import serving
from tests.chaos.slack_threads import texts, until_growing, until_said_once
from tests.fakes.model_server import FakeModel, Gate, Say, SeenRequest, Step
from tests.fakes.slack_server import FakeSlack
from tests.fakes.slack_state import Channel, Message

WAIT_SECONDS = 4
"""Longer than ten replies elsewhere take."""


async def until_shows(slack: FakeSlack, channel: Channel, root: Message, text: str) -> None:
    """Wait until the bot shows this one message."""
    await slack.wait_until(lambda: texts(slack, channel, root) == [text])


async def test_a_channel_that_must_wait_slows_no_other_and_gets_its_final_text_after_a_kill(
    slack: FakeSlack, model: FakeModel, database_url: str, redis_url: str, pool: Pool
) -> None:
    """D3, D4"""
    ada, bo = slack.user("Ada"), slack.user("Bo")
    harbour, lighthouse = slack.channel("harbour"), slack.channel("lighthouse")

    def in_harbour(arguments: dict[str, Any]) -> bool:
        return str(arguments["channel"]) == harbour.id

    def answer(seen: SeenRequest) -> Sequence[Step]:
        if not seen.last_text.endswith("count"):
            return [Say("All right.")]
        counted.append(seen)
        if len(counted) == 1:
            return [Say("One,"), Gate("waits"), Say(" two,"), Gate("never")]
        return [Say("One, two and three.")]

    async def converse_in_lighthouse() -> None:
        for _ in range(5):
            root = await bo.say(lighthouse, "<@BOT> hi")
            await until_shows(slack, lighthouse, root, "All right.")

    counted: list[SeenRequest] = []
    model.answer(answer)
    async with serving(slack, model, database_url, redis_url) as house:
        first = await house.start()
        root = await ada.say(harbour, "<@BOT> count")
        await until_growing(slack, harbour, root, "One,")
        await house.start()
        edits = slack.fail_next(
            "chat.update", times=2, status=429, retry_after=WAIT_SECONDS, when=in_harbour
        )
        slack.fail_next(
            "chat.postMessage", times=2, status=429, retry_after=WAIT_SECONDS, when=in_harbour
        )
        model.release("waits")
        await edits.reached.wait()
        waiting = await ada.say(harbour, "<@BOT> me too")
        await converse_in_lighthouse()
        await first.kill()
        await converse_in_lighthouse()
        assert texts(slack, harbour, waiting) == []
        await until_said_once(slack, pool, harbour, root, ["One, two and three."])
        await until_said_once(slack, pool, harbour, waiting, ["All right."])
