"""The fake Slack's uploads, as the real slack_sdk makes them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from tests.fakes.slack_server import FakeSlack
from tests.fakes.slack_state import Channel, Message


@dataclass(frozen=True, kw_only=True)
class Wren:
    slack: FakeSlack
    client: AsyncWebClient
    session: aiohttp.ClientSession
    channel: Channel
    root: Message

    async def begin(self, content: bytes, *, length: int | None = None) -> str:
        size = len(content) if length is None else length
        answer = await self.client.files_getUploadURLExternal(filename="tides.csv", length=size)
        async with self.session.post(answer["upload_url"], data=content) as sent:
            assert sent.status in (200, 400)
        return str(answer["file_id"])

    async def complete(self, file_id: str, **changed: Any) -> dict[str, Any]:
        arguments = {
            "files": [{"id": file_id, "title": "Tides"}],
            "channel_id": self.channel.id,
            "thread_ts": self.root.ts,
        }
        answer = await self.client.files_completeUploadExternal(**(arguments | changed))
        return dict(answer.data)  # type: ignore[arg-type]


@pytest.fixture
async def wren() -> AsyncIterator[Wren]:
    async with FakeSlack.start() as slack, aiohttp.ClientSession() as session:
        client = AsyncWebClient(
            token=slack.bot.token, base_url=slack.base_url, session=session, retry_handlers=[]
        )
        ada, channel = slack.user("Ada"), slack.channel("harbour")
        root = await ada.say(channel, "hi")
        yield Wren(slack=slack, client=client, session=session, channel=channel, root=root)


async def test_a_file_is_shown_in_the_thread_once_it_is_completed(wren: Wren) -> None:
    file_id = await wren.begin(b"a,b\n")
    assert wren.slack.replies(wren.channel, wren.root) == []
    answer = await wren.complete(file_id)
    (shown,) = wren.slack.replies(wren.channel, wren.root)
    assert shown.files == ("Tides",)
    assert shown.wire["subtype"] == "file_share"
    shares = answer["files"][0]["shares"]["public"][wren.channel.id]
    assert shares[0]["ts"] == shown.ts
    info = await wren.client.files_info(file=file_id)
    assert info["file"]["name"] == "tides.csv"
    assert info["file"]["size"] == 4


async def test_the_sdks_own_upload_works(wren: Wren) -> None:
    await wren.client.files_upload_v2(
        filename="log.txt", content="calm", channel=wren.channel.id, thread_ts=wren.root.ts
    )
    assert [m.files for m in wren.slack.replies(wren.channel, wren.root)] == [("log.txt",)]


async def test_arguments_come_in_the_query_string_with_an_empty_body(wren: Wren) -> None:
    """slack.md section 3: the wire form of these two methods."""
    await wren.complete(await wren.begin(b"x"))
    for method in ("files.getUploadURLExternal", "files.completeUploadExternal"):
        (call,) = wren.slack.calls(method)
        assert call.http_method == "POST"
        assert call.error is None


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"channel_id": "C0NONE"}, "channel_not_found"),
        ({"thread_ts": "1.000001"}, "thread_not_found"),
        ({"files": [{"id": "F0NONE"}]}, "file_not_found"),
    ],
)
async def test_what_cannot_be_shown_is_refused(
    wren: Wren, changed: dict[str, Any], code: str
) -> None:
    file_id = await wren.begin(b"x")
    with pytest.raises(SlackApiError) as caught:
        await wren.complete(file_id, **changed)
    assert caught.value.response["error"] == code
    assert wren.slack.replies(wren.channel, wren.root) == []


async def test_a_file_whose_bytes_did_not_come_is_refused(wren: Wren) -> None:
    file_id = await wren.begin(b"x", length=5)
    with pytest.raises(SlackApiError) as caught:
        await wren.complete(file_id)
    assert caught.value.response["error"] == "file_not_found"


async def test_a_completed_file_cannot_be_completed_again(wren: Wren) -> None:
    file_id = await wren.begin(b"x")
    await wren.complete(file_id)
    with pytest.raises(SlackApiError):
        await wren.complete(file_id)
    assert len(wren.slack.replies(wren.channel, wren.root)) == 1


async def test_uploads_need_their_scope(wren: Wren) -> None:
    wren.slack.bot.scopes = wren.slack.bot.scopes - {"files:write"}
    with pytest.raises(SlackApiError) as caught:
        await wren.begin(b"x")
    assert caught.value.response["error"] == "missing_scope"


async def test_files_may_be_shown_a_while_after_they_are_completed(wren: Wren) -> None:
    wren.slack.hold_shares()
    file_id = await wren.begin(b"x")
    answer = await wren.complete(file_id)
    assert "shares" not in answer["files"][0]
    assert wren.slack.replies(wren.channel, wren.root) == []
    wren.slack.release_shares()
    assert len(wren.slack.replies(wren.channel, wren.root)) == 1
    info = await wren.client.files_info(file=file_id)
    assert wren.channel.id in info["file"]["shares"]["public"]
