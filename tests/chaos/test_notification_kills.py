"""A replica dies while it tells an owner something; another one sees to it that it is told once."""

from typing import Any

import pytest

from engine.store.pool import Pool
from tests.chaos.serving import PATIENCE_SECONDS, serving, until_true
from tests.fakes.model_server import FakeModel
from tests.fakes.slack_people import Person
from tests.fakes.slack_server import FakeSlack
from tests.fakes.slack_shown import ShownMessage

_STATES = "SELECT state FROM notifications"


def told(slack: FakeSlack, person: Person) -> list[ShownMessage]:
    """What the bot has told somebody in their direct messages."""
    return [m for m in slack.timeline(slack.dm(person)) if m.author_id == slack.bot.user_id]


def is_notice(arguments: dict[str, Any]) -> bool:
    return "threadwright_notice" in str(arguments.get("metadata"))


@pytest.mark.parametrize("is_made", [True, False], ids=["made", "not made"])
async def test_a_killed_sender_leaves_one_notification(
    slack: FakeSlack,
    model: FakeModel,
    database_url: str,
    redis_url: str,
    pool: Pool,
    *,
    is_made: bool,
) -> None:
    """E36: killed between the post and its note, with another replica standing by."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.say("The light is repaired.")
    model.aside("The light shines.")
    fault = slack.fail_next(
        "chat.postMessage", hang=not is_made, hang_after_handling=is_made, when=is_notice
    )
    after = {"THREADWRIGHT_NOTIFICATIONS_AFTER_SECONDS": "0"}
    async with serving(slack, model, database_url, redis_url, **after) as house:
        first = await house.start()
        await ada.say(harbour, "<@BOT> why is it dark?")
        await slack.wait_until(fault.reached.is_set, timeout=PATIENCE_SECONDS)
        await house.start()
        await first.kill()

        async def is_sent() -> bool:
            async with pool.session() as connection:
                states = [row["state"] for row in await connection.fetch(_STATES)]
            return states == ["sent"]

        await until_true(is_sent)
        (message,) = told(slack, ada)
        assert message.plain.endswith("The light shines.")
        assert len(slack.calls("conversations.history")) == 1
    assert len(model.asides) == 1
