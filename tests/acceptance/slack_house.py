"""Wren in a fake Slack: real engine, real Postgres, a fake model; one replica or several.

async with house(slack, model, database_url) as wren:
    question = await ada.say(harbour, "<@BOT> hi")
    await until_says(slack, harbour, question, "Hello!")
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any
from weakref import WeakSet

import pytest
from aiohttp import web

from adapters.contract import ChatDefaults
from adapters.slack.adapter import SlackAdapter
from config.delivery_settings import DeliverySettings
from config.secret import Secret
from config.settings import SlackSettings
from config.side_settings import NotificationsSettings
from config.slack_stream_settings import SlackStreaming
from config.slack_surface_settings import OFF
from engine.api import Engine
from engine.chat.ids import ChatId
from engine.tools.builtin import ASK_PEOPLE
from engine.tools.definition import ToolDefinition
from engine.tools.registry import LocalTool
from tests.fakes.model_server import FakeModel
from tests.fakes.replica import TestReplica
from tests.fakes.slack_server import FakeSlack
from tests.fakes.slack_shown import ShownMessage
from tests.fakes.slack_state import Channel, Message

PATIENCE_SECONDS = 15.0
FAST_DELIVERY = DeliverySettings(lease_seconds=2.0, heartbeat_seconds=0.3, poll_seconds=0.1)


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """One running replica with its Slack adapter. `url` where it listens over HTTP."""

    replica: TestReplica
    adapter: SlackAdapter
    url: str = ""

    @property
    def engine(self) -> Engine:
        return self.replica.engine


_STREAMED: WeakSet[FakeSlack] = WeakSet()
both_ways = pytest.mark.parametrize(
    "slack", [SlackStreaming.EDITS, SlackStreaming.AUTO], indirect=True
)
"""Runs a test with replies that grow by edits and with replies that are streamed."""


def grow_by(slack: FakeSlack, growth: SlackStreaming) -> None:
    """How replies grow in this Slack unless a house says otherwise; by edits where nobody says it."""
    if growth is SlackStreaming.AUTO:
        _STREAMED.add(slack)


def growth_of(slack: FakeSlack) -> SlackStreaming:
    """How replies grow in this Slack."""
    return SlackStreaming.AUTO if slack in _STREAMED else SlackStreaming.EDITS


def slack_settings(slack: FakeSlack, *, over_http: bool = False, **fields: Any) -> SlackSettings:
    """Settings for this Slack, with edits and all calls as fast as they may be."""
    settings = SlackSettings(
        bot_token=Secret(slack.bot.token),
        api_url=slack.base_url,
        edit_interval_ms_min=100,
        call_rate=50.0,
        sockets=1,
        feedback=False,
        streaming=growth_of(slack),
        stream_interval_ms=100,
        done_reaction=OFF,
        failed_reaction=OFF,
    )
    if over_http:
        settings = replace(settings, signing_secret=Secret(slack.signing_secret))
    else:
        settings = replace(settings, app_token=Secret(slack.app_token))
    return replace(settings, **fields)


@asynccontextmanager
async def house(
    slack: FakeSlack,
    model: FakeModel,
    database_url: str,
    *,
    over_http: bool = False,
    redis_url: str | None = None,
    works: bool = True,
    tools: Sequence[LocalTool] = (),
    dynamic_tools: Sequence[ToolDefinition] = (ASK_PEOPLE,),
    delivery: DeliverySettings = FAST_DELIVERY,
    makes_titles: bool = False,
    notify_after: float | None = None,
    suggested_prompts: tuple[str, ...] = (),
    bot_tools: Mapping[str, str] = MappingProxyType({}),
    **fields: Any,
) -> AsyncIterator[House]:
    """Run a replica until the block ends; then it is drained."""
    async with TestReplica.start(
        database_url,
        model.url,
        redis_url=redis_url,
        works=works,
        tools=tools,
        dynamic_tools=dynamic_tools,
        makes_titles=makes_titles,
        notify_after=notify_after,
    ) as replica:
        adapter = SlackAdapter(
            replica.engine,
            slack_settings(slack, over_http=over_http, **fields),
            delivery,
            notifications=NotificationsSettings(poll_seconds=0.1),
            budget=replica.replica.budget,
            defaults=ChatDefaults(suggested_prompts=suggested_prompts, tools=bot_tools),
        )
        async with _served(adapter) as url:
            if over_http:
                slack.use_http(f"{url}/slack/events")
            adapter.start()
            async with asyncio.timeout(PATIENCE_SECONDS):
                await adapter.wait_until_ready()
            try:
                yield House(replica=replica, adapter=adapter, url=url)
            finally:
                await adapter.drain()


@asynccontextmanager
async def _served(adapter: SlackAdapter) -> AsyncIterator[str]:
    """A web server with the adapter's routes, if it has any."""
    routes = adapter.routes()
    if not routes:
        yield ""
        return
    app = web.Application()
    app.add_routes(routes)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def _is_open(message: ShownMessage) -> bool:
    """Whether more of the message may come: it is streamed, or there is something to press."""
    return message.is_streaming or bool(message.buttons)


def answers(slack: FakeSlack, channel: Channel, root: Message | str) -> list[ShownMessage]:
    """What the bot shows in a thread, oldest first."""
    replies = slack.replies(channel, root)
    return [message for message in replies if message.author_id == slack.bot.user_id]


def texts(slack: FakeSlack, channel: Channel, root: Message | str) -> list[str]:
    """What the bot's messages in a thread say."""
    return [message.plain for message in answers(slack, channel, root)]


async def until_says(
    slack: FakeSlack, channel: Channel, root: Message | str, *wanted: str
) -> list[ShownMessage]:
    """Wait until the bot's messages in the thread say exactly this, with nothing to press."""

    def met() -> list[ShownMessage] | None:
        shown = answers(slack, channel, root)
        is_met = [m.plain for m in shown] == list(wanted) and not any(map(_is_open, shown))
        return shown if is_met else None

    found = await slack.wait_until(met, timeout=PATIENCE_SECONDS)
    assert found is not None
    return found


async def until_asks(
    slack: FakeSlack, channel: Channel, root: Message | str, question: str
) -> ShownMessage:
    """Wait until the bot asks this with controls to answer by, and return the question."""

    def met() -> ShownMessage | None:
        shown = answers(slack, channel, root)
        asked = [m for m in shown if question in m.plain and (m.buttons or m.menus)]
        return asked[0] if asked else None

    found = await slack.wait_until(met, timeout=PATIENCE_SECONDS)
    assert found is not None
    return found


async def until_growing(
    slack: FakeSlack, channel: Channel, root: Message | str, start: str
) -> ShownMessage:
    """Wait until the bot shows the beginning of an answer that may be stopped."""

    def met() -> ShownMessage | None:
        shown = answers(slack, channel, root)
        growing = [m for m in shown if m.plain.startswith(start) and _is_open(m)]
        return growing[-1] if growing else None

    found = await slack.wait_until(met, timeout=PATIENCE_SECONDS)
    assert found is not None
    return found


async def chat_of(wren: House, slack: FakeSlack, channel: Channel, root: Message) -> ChatId:
    """The chat that a thread belongs to."""
    binding = await wren.engine.bindings.find_binding("slack", slack.team.id, channel.id, root.ts)
    assert binding is not None
    return binding.chat_id


async def until_true(condition: Callable[[], object]) -> None:
    """Wait until something holds that nobody tells of."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.02)
