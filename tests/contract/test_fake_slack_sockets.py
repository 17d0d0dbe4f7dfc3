"""The fake Slack's Socket Mode, with bolt's own app and socket handler at the other end."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import pytest
from slack_bolt.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from tests.fakes.slack_announce import MentionOrder
from tests.fakes.slack_bolt_app import bolt_over_sockets
from tests.fakes.slack_deliveries import DeliveryState
from tests.fakes.slack_server import FakeSlack
from tests.fakes.slack_state import Message

Json = dict[str, Any]


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack.start() as running:
        yield running


@dataclass(slots=True)
class App:
    """A bolt app that keeps the bodies of the events it hears."""

    bolt: AsyncApp
    bodies: list[Json] = field(default_factory=list)

    @property
    def events(self) -> list[Json]:
        return [body["event"] for body in self.bodies]


@asynccontextmanager
async def connected_app(slack: FakeSlack, *, sockets: int = 1) -> AsyncIterator[App]:
    async with bolt_over_sockets(slack, sockets=sockets, ignores_itself=False) as bolt:
        app = App(bolt)

        @bolt.event(re.compile(".*"))
        async def hear(body: Json) -> None:
            app.bodies.append(body)
            slack.touch()

        yield app


@asynccontextmanager
async def raw_socket(slack: FakeSlack) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    """A socket whose acks the test writes itself."""
    async with aiohttp.ClientSession() as session:
        client = AsyncWebClient(base_url=slack.base_url, session=session)
        opened = await client.apps_connections_open(app_token=slack.app_token)
        async with session.ws_connect(opened["url"]) as ws:
            yield ws


async def acknowledge(ws: aiohttp.ClientWebSocketResponse, envelope: Json) -> None:
    await ws.send_json({"envelope_id": envelope["envelope_id"]})


async def test_a_mention_arrives_twice_under_two_event_ids(slack: FakeSlack) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with connected_app(slack) as app:
        said = await ada.say(harbour, "<@BOT> hi")
        await slack.wait_until(lambda: len(app.bodies) == 2)
        await slack.wait_until_settled()
    assert {e["type"] for e in app.events} == {"app_mention", "message"}
    assert {e["ts"] for e in app.events} == {said.ts}
    assert len({body["event_id"] for body in app.bodies}) == 2
    message = next(e for e in app.events if e["type"] == "message")
    mention = next(e for e in app.events if e["type"] == "app_mention")
    assert message["channel_type"] == "channel"
    assert "channel_type" not in mention
    assert message["text"] == f"<@{slack.bot.user_id}> hi"


@pytest.mark.parametrize("order", [MentionOrder.MENTION_FIRST, MentionOrder.MESSAGE_FIRST])
async def test_the_order_of_the_two_can_be_chosen(slack: FakeSlack, order: MentionOrder) -> None:
    slack.events.mention_order = order
    await slack.user("Ada").say(slack.channel("harbour"), "<@BOT> hi")
    types = [delivery.event["type"] for delivery in slack.deliveries]
    expected = ["app_mention", "message"]
    assert types == (expected if order is MentionOrder.MENTION_FIRST else expected[::-1])


async def test_only_channels_with_the_bot_are_heard_and_direct_messages_once(
    slack: FakeSlack,
) -> None:
    ada = slack.user("Ada")
    await ada.say(slack.channel("lighthouse", members=[ada]), "<@BOT> psst")
    assert slack.deliveries == []
    await ada.say(slack.dm(ada), "<@BOT> hi")
    (delivery,) = slack.deliveries
    assert delivery.event["type"] == "message"
    assert delivery.event["channel_type"] == "im"


async def test_the_bots_own_posts_and_edits_come_back_as_events(slack: FakeSlack) -> None:
    harbour = slack.channel("harbour")
    async with connected_app(slack) as app:
        client = app.bolt.client
        posted = await client.chat_postMessage(channel=harbour.id, text="draft")
        await client.chat_update(channel=harbour.id, ts=posted["ts"], text="final")
        await client.reactions_add(channel=harbour.id, timestamp=posted["ts"], name="eyes")
        await client.chat_delete(channel=harbour.id, ts=posted["ts"])
        await slack.wait_until(lambda: len(app.events) == 4)
    events = {e.get("subtype") or e["type"]: e for e in app.events}
    assert events["message"]["bot_id"] == slack.bot.bot_id
    assert events["message"]["app_id"] == slack.app_id
    changed = events["message_changed"]
    assert changed["message"]["text"] == "final"
    assert changed["previous_message"]["text"] == "draft"
    assert changed["ts"] != changed["message"]["ts"]
    assert changed["hidden"] is True
    assert events["reaction_added"]["item_user"] == slack.bot.user_id
    assert events["message_deleted"]["deleted_ts"] == posted["ts"]


async def test_people_and_the_platform_cause_the_events_they_cause(slack: FakeSlack) -> None:
    ada, harbour, crow = slack.user("Ada"), slack.channel("harbour"), slack.other_bot("Crow")
    root = await ada.say(harbour, "root")
    await ada.say(harbour, "reply", thread_ts=root.ts)
    await ada.say(harbour, "aloud", thread_ts=root.ts, broadcast=True)
    await ada.say(harbour, "", files=[slack.file("chart.txt", b"7 m")])
    await crow.say(harbour, "caw")
    await crow.say(harbour, "CAW", classic=True)
    await ada.edit(root, "root, better")
    await slack.team.unfurl(root)
    await ada.delete(root)
    await slack.team.join(harbour, slack.user("Bo"), inviter=ada)
    await ada.press_stop(harbour, root.ts)
    events = [d.event for d in slack.deliveries]
    assert [e.get("subtype") or e["type"] for e in events] == [
        "message",
        "message",
        "thread_broadcast",
        "file_share",
        "message",
        "bot_message",
        "message_changed",
        "message_changed",
        "message_changed",
        "member_joined_channel",
        "agent_session_stopped",
    ]
    assert events[1]["parent_user_id"] == ada.id
    assert events[2]["root"]["reply_count"] == 2
    assert "user" not in events[5]
    assert events[6]["message"]["edited"]["user"] == ada.id
    assert "attachments" in events[7]["message"]
    assert events[7]["message"]["edited"]["user"] == ada.id
    assert events[8]["message"]["subtype"] == "tombstone"
    assert events[8]["previous_message"]["text"] == "root, better"


async def test_each_envelope_goes_to_one_of_the_sockets(slack: FakeSlack) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with connected_app(slack, sockets=3) as app:
        for number in range(12):
            await ada.say(harbour, f"message {number}")
        await slack.wait_until(lambda: len(app.events) == 12)
        await slack.wait_until_settled()
        sent = [len(connection.sent) for connection in slack.sockets.connections]
    assert sum(sent) == 12
    assert all(count > 0 for count in sent)


async def test_hello_counts_connections_and_links_work_once(slack: FakeSlack) -> None:
    async with aiohttp.ClientSession() as session:
        client = AsyncWebClient(base_url=slack.base_url, session=session)
        url = (await client.apps_connections_open(app_token=slack.app_token))["url"]
        async with session.ws_connect(url) as ws:
            hello = await ws.receive_json()
            assert hello["type"] == "hello"
            assert hello["num_connections"] == 1
            assert hello["connection_info"] == {"app_id": slack.app_id}
            with pytest.raises(aiohttp.WSServerHandshakeError):
                await session.ws_connect(url)
        late = (await client.apps_connections_open(app_token=slack.app_token))["url"]
        slack.clock.advance(31)
        with pytest.raises(aiohttp.WSServerHandshakeError):
            await session.ws_connect(late)
        with pytest.raises(SlackApiError, match="not_allowed_token_type"):
            await client.apps_connections_open(app_token=slack.bot.token)


async def test_an_unacknowledged_event_is_repeated_three_times_then_lost(slack: FakeSlack) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with raw_socket(slack) as ws:
        await ws.receive_json()
        await ada.say(harbour, "hello?")
        seen = [await ws.receive_json()]
        for wait in (3, 63, 303):
            slack.clock.advance(wait)
            seen.append(await ws.receive_json(timeout=5))
        slack.clock.advance(3)
        (delivery,) = slack.deliveries
        await delivery.settled()
    assert delivery.state is DeliveryState.LOST
    assert [e["retry_attempt"] for e in seen] == [0, 1, 2, 3]
    assert [e["retry_reason"] for e in seen] == ["", "timeout", "timeout", "timeout"]
    assert len({e["envelope_id"] for e in seen}) == 4
    assert len({e["payload"]["event_id"] for e in seen}) == 1


async def test_what_a_dying_socket_had_not_acknowledged_goes_to_the_next(slack: FakeSlack) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with raw_socket(slack) as ws:
        await ws.receive_json()
        await ada.say(harbour, "kept")
        await acknowledge(ws, await ws.receive_json())
        await ada.say(harbour, "orphaned")
        await ws.receive_json()
        slack.sockets.drop()
        await slack.wait_until(lambda: slack.sockets.count == 0)
    async with connected_app(slack) as app:
        await slack.wait_until_settled()
        await slack.wait_until(lambda: len(app.events) == 1)
    assert [e["text"] for e in app.events] == ["orphaned"]
    assert [len(d.attempts) for d in slack.deliveries] == [1, 2]


async def test_events_wait_for_the_first_socket(slack: FakeSlack) -> None:
    await slack.user("Ada").say(slack.channel("harbour"), "early")
    async with connected_app(slack) as app:
        await slack.wait_until(lambda: len(app.events) == 1)
        await slack.wait_until_settled()
    assert slack.deliveries[0].attempts[0].retry_num == 0


async def test_held_events_come_when_released(slack: FakeSlack) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with connected_app(slack) as app:
        slack.sockets.hold()
        await ada.say(harbour, "later")
        assert not slack.deliveries[0].attempts
        slack.sockets.release()
        await slack.wait_until(lambda: len(app.events) == 1)


@pytest.mark.parametrize("reason", ["refresh_requested", "warning"])
async def test_bolt_reconnects_when_told_to_go(slack: FakeSlack, reason: str) -> None:
    async with connected_app(slack) as app:
        first = slack.sockets.connections[0]
        await slack.sockets.disconnect(reason)
        await slack.wait_until(
            lambda: slack.sockets.count == 1 and slack.sockets.connections[0] is not first
        )
        await slack.user("Ada").say(slack.channel("harbour"), "still there?")
        await slack.wait_until(lambda: len(app.events) == 1)
        await slack.wait_until_settled()


async def test_a_disabled_link_refuses_every_socket(slack: FakeSlack) -> None:
    async with raw_socket(slack) as ws:
        await ws.receive_json()
        await slack.sockets.disconnect("link_disabled")
        assert (await ws.receive_json())["reason"] == "link_disabled"
        assert (await ws.receive()).type is aiohttp.WSMsgType.CLOSE
    async with raw_socket(slack) as ws:
        assert json.loads((await ws.receive()).data)["reason"] == "link_disabled"
    slack.sockets.enable_link()
    async with raw_socket(slack) as ws:
        assert (await ws.receive_json())["type"] == "hello"


async def test_an_eleventh_socket_is_turned_away(slack: FakeSlack) -> None:
    async with aiohttp.ClientSession() as session:
        client = AsyncWebClient(base_url=slack.base_url, session=session)

        async def connect() -> aiohttp.ClientWebSocketResponse:
            opened = await client.apps_connections_open(app_token=slack.app_token)
            return await session.ws_connect(opened["url"])

        sockets = [await connect() for _ in range(10)]
        extra = await connect()
        assert (await extra.receive_json())["reason"] == "too_many_websockets"
        for ws in [*sockets, extra]:
            await ws.close()


async def test_a_replayed_event_keeps_or_changes_its_id(slack: FakeSlack) -> None:
    async with connected_app(slack) as app:
        await slack.user("Ada").say(slack.channel("harbour"), "once")
        (delivery,) = slack.deliveries
        await slack.replay(delivery)
        await slack.replay(delivery, with_new_event_id=True)
        await slack.wait_until(lambda: len(app.bodies) == 3)
    ids = {body["event_id"] for body in app.bodies}
    assert len(ids) == 2
    assert len({e["ts"] for e in app.events}) == 1


async def test_an_edit_that_adds_a_mention_may_mention_again(slack: FakeSlack) -> None:
    slack.events.mention_on_edit = True
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    said: Message = await ada.say(harbour, "hi")
    await ada.edit(said, "<@BOT> hi")
    types = [d.event.get("subtype") or d.event["type"] for d in slack.deliveries]
    assert types == ["message", "message_changed", "app_mention"]
