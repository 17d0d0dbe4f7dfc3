"""The fake Slack's streams, called by the real slack_sdk client: states, life, sizes, refusals."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from tests.fakes.slack_clock import SlackClock
from tests.fakes.slack_server import FakeSlack
from tests.fakes.slack_state import Message
from tests.fakes.slack_stream_state import STREAM_BYTES_MAX, STREAM_SECONDS_MAX

Json = dict[str, Any]


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack.start(clock=SlackClock(frozen=True)) as running:
        yield running


@pytest.fixture
async def client(slack: FakeSlack) -> AsyncIterator[AsyncWebClient]:
    async with aiohttp.ClientSession() as session:
        yield AsyncWebClient(
            token=slack.bot.token, base_url=slack.base_url, session=session, retry_handlers=[]
        )


async def refusal(call: Any) -> str:
    with pytest.raises(SlackApiError) as caught:
        await call
    return str(caught.value.response["error"])


def said(text: str) -> list[Json]:
    return [{"type": "markdown_text", "text": text}]


def task(status: str, **fields: str) -> Json:
    return {"type": "task_update", "id": "t1", "title": "Search", "status": status, **fields}


async def begin(
    slack: FakeSlack, client: AsyncWebClient, chunks: list[Json] | None = None
) -> tuple[Message, Json]:
    """Ask something and start to stream into its thread; the place is what later calls name."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    asked = await ada.say(harbour, "hm?")
    started = await client.chat_startStream(
        channel=harbour.id,
        thread_ts=asked.ts,
        recipient_user_id=ada.id,
        recipient_team_id="T1",
        chunks=chunks,
    )
    return asked, {"channel": harbour.id, "ts": started["ts"]}


async def test_a_stream_grows_and_is_closed_with_metadata(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    asked, place = await begin(slack, client, said("One "))
    await client.chat_appendStream(**place, chunks=said("two "))
    (growing,) = slack.replies(slack.channel("harbour"), asked)
    assert (growing.plain, growing.is_streaming) == ("One two", True)
    mark = {"event_type": "page", "event_payload": {"nonce": "n"}}
    await client.chat_stopStream(**place, chunks=said("three."), metadata=mark)
    (shown,) = slack.replies(slack.channel("harbour"), asked)
    assert (shown.plain, shown.is_streaming, shown.metadata) == ("One two three.", False, mark)


async def test_metadata_is_not_taken_at_the_start(slack: FakeSlack, client: AsyncWebClient) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    asked = await ada.say(harbour, "hm?")
    await client.chat_startStream(
        channel=harbour.id,
        thread_ts=asked.ts,
        recipient_user_id=ada.id,
        recipient_team_id="T1",
        metadata={"event_type": "page", "event_payload": {"nonce": "n"}},
    )
    assert slack.replies(harbour, asked)[0].metadata is None


async def test_a_live_stream_cannot_be_updated_and_a_closed_one_can(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    asked, place = await begin(slack, client, said("One"))
    assert await refusal(client.chat_update(**place, text="x")) == "streaming_state_conflict"
    await client.chat_stopStream(**place)
    assert (
        await refusal(client.chat_appendStream(**place, chunks=said("x")))
        == "message_not_in_streaming_state"
    )
    assert await refusal(client.chat_stopStream(**place)) == "message_not_in_streaming_state"
    await client.chat_update(**place, text="Two", blocks=[])
    assert slack.replies(slack.channel("harbour"), asked)[0].plain == "Two"


async def test_a_stream_dies_of_age_even_while_it_grows(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    """facts/slack.md section 7, no. 7."""
    asked, place = await begin(slack, client, said("One"))
    slack.clock.advance(STREAM_SECONDS_MAX - 1)
    await client.chat_appendStream(**place, chunks=said("."))
    slack.clock.advance(1)
    for call in (client.chat_appendStream, client.chat_stopStream):
        assert await refusal(call(**place, chunks=said("x"))) == "message_not_in_streaming_state"
    await client.chat_update(**place, text="whole")
    assert slack.team.workspace.extras(place["channel"], asked.ts).session_status == "active"


async def test_a_stream_that_was_too_long_once_takes_nothing_more(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    """facts/slack.md section 7, no. 9."""
    asked, place = await begin(slack, client, said("å" * (STREAM_BYTES_MAX // 2)))
    for text in ("x", "y"):
        assert await refusal(client.chat_appendStream(**place, chunks=said(text))) == "msg_too_long"
    await client.chat_stopStream(**place)
    assert not slack.replies(slack.channel("harbour"), asked)[0].is_streaming


async def test_a_call_takes_twelve_thousand_characters(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    _, place = await begin(slack, client)
    assert await refusal(client.chat_appendStream(**place, chunks=said("x" * 12_001))) == (
        "msg_too_long"
    )


async def test_a_stream_that_a_person_stopped_says_so(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    asked, place = await begin(slack, client, said("One"))
    await slack.user("Ada").press_stop(slack.channel("harbour"), asked.ts)
    assert await refusal(client.chat_appendStream(**place, chunks=said("x"))) == "stopped_by_user"
    await client.chat_update(**place, text="One, stopped")


async def test_recipients_are_asked_for_in_channels(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    """facts/slack.md section 7, no. 16."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    asked = await ada.say(harbour, "hm?")
    place: Json = {"channel": harbour.id, "thread_ts": asked.ts}
    assert await refusal(client.chat_startStream(**place)) == "missing_recipient_user_id"
    assert (
        await refusal(client.chat_startStream(**place, recipient_user_id=ada.id))
        == "missing_recipient_team_id"
    )
    named: Json = {"recipient_user_id": "U404", "recipient_team_id": "T1"}
    assert await refusal(client.chat_startStream(**place, **named)) == "user_not_found"
    direct = slack.dm(ada)
    hello = await ada.say(direct, "hm?")
    await client.chat_startStream(channel=direct.id, thread_ts=hello.ts)


@pytest.mark.parametrize(
    "chunk",
    [
        {"type": "markdown_text"},
        {"type": "markdown_text", "text": ""},
        {"type": "blocks", "blocks": []},
        {"type": "task_update", "id": "t1", "title": "Search", "status": "done"},
        {"type": "task_update", "id": "t1", "title": "x" * 257, "status": "pending"},
        {"type": "plan_update"},
    ],
)
async def test_chunks_of_no_known_shape_are_refused(
    slack: FakeSlack, client: AsyncWebClient, chunk: Json
) -> None:
    _, place = await begin(slack, client)
    assert await refusal(client.chat_appendStream(**place, chunks=[chunk])) == "invalid_chunks"


async def test_titles_and_states_of_tasks_replace_and_details_are_added(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    asked, place = await begin(slack, client, [task("pending", details="a")])
    await client.chat_appendStream(**place, chunks=[task("complete", details=" b")])
    (shown,) = slack.replies(slack.channel("harbour"), asked)
    assert shown.tasks == (("Search", "complete"),)
    stream = slack.channel("harbour").messages[shown.ts].stream
    assert stream is not None
    assert stream.tasks["t1"]["details"] == "ab"


async def test_sessions_follow_their_streams(slack: FakeSlack, client: AsyncWebClient) -> None:
    asked, place = await begin(slack, client)
    extras = slack.team.workspace.extras(place["channel"], asked.ts)
    assert extras.session_status == "processing"
    await client.chat_stopStream(**place, session_status="suspended")
    assert extras.session_status == "suspended"


async def test_others_messages_are_not_streamed_into(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    asked, place = await begin(slack, client)
    harbour = slack.channel("harbour")
    assert (
        await refusal(client.chat_appendStream(channel=harbour.id, ts=asked.ts, chunks=said("x")))
        == "message_not_owned_by_app"
    )
    assert (
        await refusal(client.chat_appendStream(channel=harbour.id, ts="1.1", chunks=said("x")))
        == "message_not_found"
    )
    posted = await client.chat_postMessage(channel=harbour.id, text="hi")
    assert (
        await refusal(
            client.chat_appendStream(channel=harbour.id, ts=posted["ts"], chunks=said("x"))
        )
        == "message_not_in_streaming_state"
    )
    del place


async def test_starting_is_a_matter_of_tier_two_and_appending_of_tier_four(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    slack.rate_limits.enable_tiers()
    for _ in range(20):
        _, place = await begin(slack, client)
    with pytest.raises(SlackApiError) as caught:
        await begin(slack, client)
    assert caught.value.response.status_code == 429
    for _ in range(40):
        await client.chat_appendStream(**place, chunks=said("x"))


async def test_the_helper_of_the_sdk_is_understood(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    """facts/slack.md section 1: it starts empty where the whole text fits its buffer."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    asked = await ada.say(harbour, "hm?")
    stream = await client.chat_stream(
        channel=harbour.id,
        thread_ts=asked.ts,
        recipient_team_id="T1",
        recipient_user_id=ada.id,
    )
    await stream.append(markdown_text="short")
    await stream.stop()
    assert [m.plain for m in slack.replies(harbour, asked)] == ["short"]
    assert len(slack.calls("chat.startStream")) == 1
