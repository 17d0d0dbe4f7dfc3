"""Finished pages on the fake Slack, by our surface and the real SDK: blocks of Markdown, and what becomes of refusals."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import aiohttp
import pytest
import slackblocks
from slack_sdk.models.blocks import MarkdownBlock

from adapters.contract import MessageRef, Page, Place
from adapters.delivery.pagination import paginate
from adapters.errors import Denied, MessageTooLong, SurfaceError, Unavailable
from adapters.slack.client import SlackClient, web_client
from adapters.slack.identity import SlackIdentity
from adapters.slack.limits import MARKDOWN_TEXT_MAX, PAGE_LIMIT, UPDATE_TEXT_MAX
from adapters.slack.markup import MrkdwnRenderer
from adapters.slack.people import People
from adapters.slack.render import edit_arguments, post_arguments
from adapters.slack.surface import SlackSurface
from adapters.slack.workspaces import AllWorkspaces, OneWorkspace, Workspace
from tests.fakes.slack_server import FakeSlack
from tests.fakes.slack_shown import ShownMessage
from tests.fakes.slack_state import Channel, Message
from tests.unit.adapters.slack.markdown_cases import FILES, read

APP = "A0WREN"
NONCE = UUID(int=7)
REPLY = "## Tides\n\n| Port | High |\n|---|--:|\n| Harbour | 4 |\n\n- **one**\n  - two\n"


@dataclass(frozen=True, kw_only=True)
class Thread:
    slack: FakeSlack
    surface: SlackSurface
    place: Place
    channel: Channel
    question: Message

    @property
    def shown(self) -> ShownMessage:
        return self.slack.replies(self.channel, self.question)[-1]

    async def post(self, page: Page) -> MessageRef:
        message_id = await self.surface.post(self.place, page, NONCE)
        return MessageRef(place=self.place, message_id=message_id)


@pytest.fixture
async def thread() -> AsyncIterator[Thread]:
    async with FakeSlack.start() as slack, aiohttp.ClientSession() as session:
        client = SlackClient(web_client(slack.bot.token, api_url=slack.base_url, session=session))
        identity = SlackIdentity(
            app=APP,
            team_id=slack.team.id,
            bot_id=slack.bot.bot_id,
            bot_user_id=slack.bot.user_id,
        )
        people = People(client, clock=time.monotonic)
        workspaces = AllWorkspaces()
        workspaces.add(
            APP, OneWorkspace(Workspace(identity=identity, client=client, people=people))
        )
        ada, channel = slack.user("Ada"), slack.channel("harbour")
        yield Thread(
            slack=slack,
            surface=SlackSurface(workspaces, edit_interval_ms_min=0),
            place=Place(
                installation=identity.installation,
                channel=channel.id,
                thread=(question := await ada.say(channel, "When is high tide?")).ts,
            ),
            channel=channel,
            question=question,
        )


def page_of(markdown: str) -> Page:
    (page,) = paginate(markdown, render=MrkdwnRenderer(), limit=PAGE_LIMIT).pages
    return Page(text=page.text, markdown=page.markdown)


async def test_a_finished_page_is_one_block_of_markdown_with_the_same_as_text(
    thread: Thread,
) -> None:
    """D9: Slack shows tables and headings itself; notifications and search have the text."""
    await thread.post(page_of(REPLY))
    shown = thread.shown
    assert [block["type"] for block in shown.blocks] == ["markdown"]
    assert shown.plain == "Tides\n\nPort | High\nHarbour | 4\n\n• one\n• two"
    assert shown.text.startswith("*Tides*")


async def test_a_draft_is_text_and_becomes_a_block_and_text_again_without_old_blocks(
    thread: Thread,
) -> None:
    """Hermes PR#52746: an edit that leaves blocks out keeps those that are there."""
    ref = await thread.post(Page(text="Tides", can_stop=True))
    assert thread.shown.button_labels == ["Stop"]
    await thread.surface.edit(ref, page_of(REPLY))
    assert thread.shown.buttons == ()
    assert "Harbour | 4" in thread.shown.plain
    await thread.surface.edit(ref, Page(text="Low tide"))
    assert thread.shown.blocks == []
    assert thread.shown.plain == "Low tide"


@pytest.mark.parametrize(
    "code",
    ["invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_blocks_too_many"],
)
async def test_a_block_that_slack_refuses_is_said_as_text(thread: Thread, code: str) -> None:
    """slack.md section 7 no. 14 and 15: a refused block must not end in silence."""
    thread.slack.fail_next("chat.postMessage", error=code)
    ref = await thread.post(page_of(REPLY))
    assert thread.shown.blocks == []
    assert "Harbour" in thread.shown.plain
    thread.slack.fail_next("chat.update", error=code)
    await thread.surface.edit(ref, page_of("# Ebb"))
    assert thread.shown.blocks == []
    assert thread.shown.plain == "*Ebb*"
    assert len(thread.slack.replies(thread.channel, thread.question)) == 1


@pytest.mark.parametrize(
    ("fault", "meant"),
    [
        ({"error": "not_in_channel"}, Denied),
        ({"error": "msg_too_long"}, MessageTooLong),
        ({"drop_connection_after_handling": True}, Unavailable),
    ],
    ids=str,
)
async def test_any_other_failure_is_not_tried_again_as_text(
    thread: Thread, fault: dict[str, Any], meant: type[SurfaceError]
) -> None:
    thread.slack.fail_next("chat.postMessage", **fault)
    with pytest.raises(meant):
        await thread.post(page_of(REPLY))
    assert len(thread.slack.calls("chat.postMessage")) == 1


async def test_text_that_slack_refuses_is_not_tried_again(thread: Thread) -> None:
    thread.slack.fail_next("chat.postMessage", error="invalid_blocks")
    with pytest.raises(Denied):
        await thread.post(Page(text="Tides", can_stop=True))
    assert len(thread.slack.calls("chat.postMessage")) == 1


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_page_of_every_text_is_within_what_slackblocks_and_the_sdk_know(path: Path) -> None:
    """Second opinions on each finished page, posted and edited."""
    place = Place(installation="A:T", channel="C", thread="1.2")
    for page in paginate(read(path), render=MrkdwnRenderer(), limit=PAGE_LIMIT).pages:
        outgoing = Page(text=page.text, markdown=page.markdown)
        posted = post_arguments(place, outgoing, NONCE)
        edited = edit_arguments(MessageRef(place=place, message_id="1.3"), outgoing)
        for arguments in (posted, edited):
            (block,) = arguments["blocks"]
            assert len(arguments["text"]) <= UPDATE_TEXT_MAX
            assert len(block["text"]) <= MARKDOWN_TEXT_MAX
            assert slackblocks.MarkdownBlock(text=block["text"]).text == block["text"]
            MarkdownBlock(text=block["text"]).validate_json()
