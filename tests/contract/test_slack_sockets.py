"""Our connections to Slack, made with the real SDK: renewed without a gap, and never given up."""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import pytest
from slack_bolt.async_app import AsyncApp

from adapters.slack.client import web_client
from adapters.slack.sockets import SocketMode
from tests.fakes.slack_deliveries import DeliveryState
from tests.fakes.slack_server import FakeSlack

PATIENCE_SECONDS = 15.0


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack.start() as running:
        running.sockets.retry_delays_seconds = (0.2, 0.2, 0.2)
        yield running


@dataclass(slots=True)
class Ears:
    """A running SocketMode, and the texts that came by it. `gate`: acknowledgements wait for it."""

    mode: SocketMode
    heard: list[str] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)


@asynccontextmanager
async def listening(
    slack: FakeSlack, *, sockets: int = 2, age_seconds_max: float = 3600.0, waits: bool = True
) -> AsyncIterator[Ears]:
    """Listen until the block ends; `waits`: the block begins with all connections open."""
    async with aiohttp.ClientSession() as session:
        sdk = web_client(slack.bot.token, api_url=slack.base_url, session=session)
        bolt = AsyncApp(client=sdk, process_before_response=True)
        mode = SocketMode(
            bolt, slack.app_token, sdk, sockets=sockets, age_seconds_max=age_seconds_max
        )
        ears = Ears(mode)
        ears.gate.set()

        @bolt.event(re.compile(".*"))
        async def hear(body: dict[str, Any]) -> None:
            ears.heard.append(body["event"].get("text", ""))
            slack.touch()
            await ears.gate.wait()

        running = asyncio.create_task(mode.run())
        try:
            if waits:
                await until(slack, lambda: slack.sockets.count == sockets)
                await until_true(lambda: mode.open_count == sockets)
            yield ears
        finally:
            ears.gate.set()
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running


async def until(slack: FakeSlack, condition: Any) -> None:
    await slack.wait_until(condition, timeout=PATIENCE_SECONDS)


def ids(slack: FakeSlack) -> set[str]:
    """The connections that are open."""
    return {connection.id for connection in slack.sockets.connections}


async def test_two_connections_listen_and_end_with_it(slack: FakeSlack) -> None:
    async with listening(slack) as ears:
        assert slack.sockets.count == 2
        assert ears.mode.is_connected
    await until(slack, lambda: slack.sockets.count == 0)
    assert not ears.mode.is_connected


async def test_a_warned_connection_is_replaced_before_it_closes(slack: FakeSlack) -> None:
    """facts/slack.md 3.11: the SDK's own renewal leaves a gap; ours does not."""
    async with listening(slack) as ears:
        before, fewest = ids(slack), [2]

        def renewed() -> bool:
            fewest.append(slack.sockets.count)
            assert ears.mode.is_connected
            return not (ids(slack) & before) and slack.sockets.count == 2

        await slack.sockets.disconnect("warning")
        await until(slack, renewed)
        assert min(fewest) == 2


async def test_what_a_replaced_connection_has_begun_is_acknowledged_by_itself(
    slack: FakeSlack,
) -> None:
    """D1: one delivery, one acknowledgement, by the way that it came."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with listening(slack, sockets=1) as ears:
        ears.gate.clear()
        await ada.say(harbour, "<@BOT> hello")
        await until(slack, lambda: ears.heard)
        (old,), first = slack.sockets.connections, ears.mode.current(0)
        await slack.sockets.disconnect("warning")
        await until_true(lambda: ears.mode.current(0) is not first)
        old.is_leaving = True
        await ada.say(harbour, "<@BOT> and?")
        await until(slack, lambda: len(ears.heard) > 2)
        assert slack.sockets.count == 2
        assert old.unacked
        ears.gate.set()
        await until(slack, lambda: slack.sockets.count == 1)
        await slack.wait_until_settled()
        assert not old.unacked
        assert {delivery.state for delivery in slack.deliveries} == {DeliveryState.ACKED}
        assert all(len(delivery.attempts) == 1 for delivery in slack.deliveries)


@pytest.mark.parametrize("reason", ["refresh_requested", "unheard_of"])
async def test_a_connection_that_slack_closes_is_replaced(slack: FakeSlack, reason: str) -> None:
    async with listening(slack):
        before = ids(slack)
        await slack.sockets.disconnect(reason)
        await until(slack, lambda: slack.sockets.count == 2 and not ids(slack) & before)


async def test_a_broken_network_is_noticed_and_nothing_is_lost(slack: FakeSlack) -> None:
    """facts/slack.md 7.24: a connection that breaks without a word does not stay deaf."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with listening(slack) as ears:
        before = ids(slack)
        slack.sockets.drop()
        await ada.say(harbour, "<@BOT> still there?")
        await until(slack, lambda: slack.sockets.count == 2 and not ids(slack) & before)
        await until(slack, lambda: ears.heard)
        await slack.wait_until_settled()
    assert ears.heard[0].endswith("still there?")


async def test_a_link_that_is_switched_off_is_tried_until_it_is_on_again(
    slack: FakeSlack, caplog: pytest.LogCaptureFixture
) -> None:
    """facts/slack.md 3.11: link_disabled sends the SDK round and round."""
    async with listening(slack, sockets=1) as ears:
        await slack.sockets.disconnect("link_disabled")
        await until(slack, lambda: slack.sockets.count == 0)
        await until_logged(caplog, "link_disabled")
        await until_true(lambda: not ears.mode.is_connected)
        slack.sockets.enable_link()
        await until_true(lambda: ears.mode.is_connected)


async def test_with_too_many_connections_one_is_enough(
    slack: FakeSlack, caplog: pytest.LogCaptureFixture
) -> None:
    """Slack takes ten of an app: a replica listens with those that it is given."""
    caplog.set_level(logging.INFO)
    async with (
        listening(slack, sockets=9),
        listening(slack, sockets=2, waits=False) as ears,
    ):
        await until(slack, lambda: slack.sockets.count == 10)
        await ears.mode.first_connected.wait()
        await until_logged(caplog, "too_many_websockets")
        assert ears.mode.is_connected


async def test_an_old_connection_is_replaced_before_slack_does_it(slack: FakeSlack) -> None:
    """facts/slack.md 7.24: whatever is wrong with a connection lasts no longer than its age."""
    async with listening(slack, age_seconds_max=0.3):
        before = ids(slack)
        await until(slack, lambda: slack.sockets.count >= 2 and not ids(slack) & before)


async def test_a_wrong_token_is_said_and_tried_again(
    slack: FakeSlack, caplog: pytest.LogCaptureFixture
) -> None:
    slack.app_token = "xapp-other"
    async with listening(slack, waits=False) as ears:
        await until_logged(caplog, "invalid_auth")
        assert not ears.mode.is_connected
        assert "xapp-other" not in caplog.text


async def until_logged(caplog: pytest.LogCaptureFixture, code: str) -> None:
    """Wait until a connection could not be opened for this reason."""
    await until_true(lambda: code in {getattr(r, "code", "") for r in caplog.records})


async def until_true(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.02)
