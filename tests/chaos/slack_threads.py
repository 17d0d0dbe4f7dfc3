"""What must hold of a thread after a disaster: it shows the complete reply, once, and nothing else.

Looked at three ways: what the channel shows, what was ever posted, and that nobody has anything left
to do that could change it.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from engine.store.pool import Pool
from tests.chaos.serving import PATIENCE_SECONDS, until_true
from tests.fakes.slack_server import FakeSlack
from tests.fakes.slack_shown import ShownMessage
from tests.fakes.slack_state import Channel, Message

_UNFINISHED = """
SELECT (SELECT count(*) FROM deliveries WHERE is_due OR owner IS NOT NULL)
     + (SELECT count(*) FROM inbox WHERE state IN ('pending', 'processing'))
     + (SELECT count(*) FROM chats WHERE status IN ('running', 'interrupting'))
"""


def answers(slack: FakeSlack, channel: Channel, root: Message) -> list[ShownMessage]:
    """What the bot shows in a thread, oldest first."""
    replies = slack.replies(channel, root)
    return [message for message in replies if message.author_id == slack.bot.user_id]


def texts(slack: FakeSlack, channel: Channel, root: Message) -> list[str]:
    """What the bot's messages in a thread say."""
    return [message.plain for message in answers(slack, channel, root)]


async def until_growing(
    slack: FakeSlack, channel: Channel, root: Message, start: str
) -> ShownMessage:
    """Wait until the beginning of a reply is shown, with the button that stops it."""

    def met() -> ShownMessage | None:
        shown = answers(slack, channel, root)
        growing = [m for m in shown if m.plain.startswith(start) and m.buttons]
        return growing[-1] if growing else None

    found = await slack.wait_until(met, timeout=PATIENCE_SECONDS)
    assert found is not None
    return found


async def until_asks(
    slack: FakeSlack, channel: Channel, root: Message, question: str
) -> ShownMessage:
    """Wait until the bot asks this, with buttons to answer by."""

    def met() -> ShownMessage | None:
        shown = answers(slack, channel, root)
        asking = [m for m in shown if question in m.plain and m.buttons]
        return asking[0] if asking else None

    found = await slack.wait_until(met, timeout=PATIENCE_SECONDS)
    assert found is not None
    return found


async def until_said_once(
    slack: FakeSlack, pool: Pool, channel: Channel, root: Message, wanted: Sequence[str]
) -> list[ShownMessage]:
    """Wait until the thread shows exactly these, one message each, and will show nothing else."""

    def met() -> bool:
        shown = answers(slack, channel, root)
        return [m.plain for m in shown] == list(wanted) and not any(m.buttons for m in shown)

    await slack.wait_until(met, timeout=PATIENCE_SECONDS)
    await until_quiet(pool)
    assert met(), slack.screen()
    assert_nothing_twice(slack)
    return answers(slack, channel, root)


async def until_quiet(pool: Pool) -> None:
    """Wait until no event, no chat and no reply is left to work on by any replica."""

    async def is_quiet() -> bool:
        async with pool.session() as connection:
            return bool(await connection.fetchval(_UNFINISHED) == 0)

    await until_true(is_quiet)


def posts(slack: FakeSlack) -> list[dict[str, Any]]:
    """The arguments of every post that took effect, whether or not its answer arrived."""
    made = slack.calls("chat.postMessage")
    return [call.args for call in made if call.response is not None and call.response["ok"]]


def assert_nothing_twice(slack: FakeSlack) -> None:
    """No page was ever posted twice, not even one that was taken back again."""
    nonces = Counter(post["metadata"]["event_payload"]["nonce"] for post in posts(slack))
    assert max(nonces.values(), default=0) <= 1, slack.screen()
