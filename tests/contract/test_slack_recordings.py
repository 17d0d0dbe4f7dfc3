"""Real payloads through the receiver: none is a fault, and each is handled as its index says."""

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

import aiohttp
import pytest
from aiohttp import web

from adapters.contract import ChatDefaults
from adapters.delivery.call_times import CallTimes
from adapters.slack.answer_rights import AnswerRights
from adapters.slack.client import SlackClient, web_client
from adapters.slack.command_desk import CommandDesk
from adapters.slack.courtesy import Courtesy
from adapters.slack.desk import House
from adapters.slack.forms import FormDesk
from adapters.slack.identity import SlackIdentity
from adapters.slack.inbound_text import mentions_us
from adapters.slack.intake import EventKind
from adapters.slack.limits import RATES
from adapters.slack.people import People
from adapters.slack.receiver import HttpDoor, SlackReceiver
from adapters.slack.translate import Ignore, Intent, StartOrSend, translate
from adapters.slack.workspaces import OneWorkspace, Workspace
from config.settings import SlackSettings
from engine.api import ClaimedEvent, Engine
from engine.budgets.memory_budget import MemoryBudget
from engine.store.pool import Pool
from engine.stream.relay_memory import MemoryRelay
from tests.fakes.slack_http_events import sign

RECORDINGS = Path(__file__).parents[1] / "recordings" / "slack"
SECRET = "harbour-signing-secret"
_ROW = re.compile(r"^\| (\S+\.json) \| (.+?) \| (.+?) \|")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """One payload, and what its index says of it."""

    name: str
    kind: str
    handling: str
    body: Any

    @property
    def event(self) -> dict[str, Any]:
        event = self.body.get("event", {})
        assert isinstance(event, dict)
        return event


@cache
def recordings() -> tuple[Recording, ...]:
    rows = (_ROW.match(line) for line in (RECORDINGS / "index.md").read_text().splitlines())
    return tuple(
        Recording(
            name=row.group(1),
            kind=row.group(2),
            handling=row.group(3),
            body=json.loads((RECORDINGS / row.group(1)).read_text()),
        )
        for row in rows
        if row is not None
    )


def of(handling: str) -> tuple[Recording, ...]:
    return tuple(one for one in recordings() if one.handling.startswith(handling))


def each(*chosen: Recording) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("recording", chosen, ids=lambda one: one.name[:-5])


def identity_of(recording: Recording) -> SlackIdentity:
    """Wren as the recorded bot, which the set's notes name; elsewhere whom the text mentions."""
    meta = RECORDINGS / (recording.name.rpartition("__")[0] + "__META.json")
    if meta.exists():
        bot = json.loads(meta.read_text())["botUserId"]
    else:
        named = re.search(r"<@(\w+)", str(recording.body.get("event", {}).get("text", "")))
        bot = named.group(1) if named else "UWREN"
    return SlackIdentity(team_id="T1", bot_user_id=bot, bot_id="BWREN")


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """A receiver on a port, for whichever bot a recording is about."""

    engine: Engine
    session: aiohttp.ClientSession

    async def deliver(self, recording: Recording) -> tuple[int, str]:
        """Post it as Slack would have, and return the acknowledgement."""
        identity = identity_of(recording)
        sdk = web_client("xoxb-1", api_url="http://127.0.0.1:9/", session=self.session)
        client = SlackClient(sdk)
        people = People(client, clock=asyncio.get_running_loop().time)
        workspace = Workspace(identity=identity, client=client, people=people)

        def refuse(_: Courtesy) -> None:
            raise AssertionError("no recording opens a form of ours")

        house = House(
            engine=self.engine,
            settings=SlackSettings(),
            defaults=ChatDefaults(),
            rights=AnswerRights(self.engine, clock=time.monotonic),
            spawn=refuse,
            times=CallTimes(MemoryBudget(), platform="slack", rates=RATES),
        )
        receiver = SlackReceiver(
            self.engine,
            workspaces=OneWorkspace(workspace),
            forms=FormDesk(house),
            commands=CommandDesk(house),
            stop_reaction="octagonal_sign",
            spawn=refuse,
        )
        app = web.Application()
        app.add_routes(HttpDoor(SECRET, lambda: receiver).routes())
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        try:
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            return await self._post(runner.addresses[0][1], recording.body)
        finally:
            await runner.cleanup()

    async def _post(self, port: int, payload: dict[str, Any]) -> tuple[int, str]:
        kind = "application/json"
        raw = json.dumps(payload).encode()
        if "command" in payload:
            raw = urlencode(payload).encode()
            kind = "application/x-www-form-urlencoded"
        elif "event" not in payload:
            raw = urlencode({"payload": json.dumps(payload)}).encode()
            kind = "application/x-www-form-urlencoded"
        now = int(time.time())
        headers = {
            "Content-Type": kind,
            "X-Slack-Request-Timestamp": str(now),
            "X-Slack-Signature": sign(SECRET, now, raw),
        }
        url = f"http://127.0.0.1:{port}/slack/events"
        async with self.session.post(url, data=raw, headers=headers) as answer:
            return answer.status, await answer.text()

    async def stored(self) -> tuple[ClaimedEvent, ...]:
        """What the inbox holds."""
        return await self.engine.inbox.claim(("slack",), uuid4(), 10, 60)


@pytest.fixture
async def door(pool: Pool) -> AsyncIterator[Door]:
    relay = MemoryRelay()
    async with aiohttp.ClientSession() as session:
        yield Door(engine=Engine(pool, relay), session=session)
    relay.close()


def intent_of(recording: Recording, event: ClaimedEvent) -> Intent:
    return translate(
        event.event.kind,
        event.event.payload,
        identity=identity_of(recording),
        stop_words=("stop",),
    )


def test_every_recording_is_in_the_index() -> None:
    files = {path.name for path in RECORDINGS.glob("*.json") if not path.name.endswith("META.json")}
    assert {one.name for one in recordings()} == files


def test_every_handling_of_the_index_is_tested_here() -> None:
    tested = {
        one.name for group in (MENTIONS, MESSAGES, FILES, SILENT, COMMANDS, VIEWS) for one in group
    }
    assert tested == {one.name for one in recordings()}


MENTIONS = of("one command; strip leading mention")
MESSAGES = of("one command if im or subscribed thread")
FILES = of("one command (files attached)")
COMMANDS = of("form body")
VIEWS = of("set prompts/status")
SILENT = tuple(
    one
    for handling in (
        "no command (reaction handler only)",
        "200; no command",
        "drop installation/tokens",
        "do not crash",
        "ack < 3 s; map action",
        "ack < 3 s with the empty",
        "ignore",
    )
    for one in of(handling)
)


@each(*MENTIONS)
async def test_a_mention_is_one_command_without_the_mention(
    door: Door, recording: Recording
) -> None:
    """D2"""
    assert await door.deliver(recording) == (200, "")
    assert await door.deliver(recording) == (200, "")
    (event,) = await door.stored()
    intent = intent_of(recording, event)
    assert isinstance(intent, StartOrSend)
    assert intent.starts
    assert intent.thread == recording.event.get("thread_ts", recording.event["ts"])
    assert not intent.text.startswith(("@", "<@"))


@each(*MESSAGES)
async def test_a_message_is_one_command_in_a_direct_message_a_thread_or_with_a_mention(
    door: Door, recording: Recording
) -> None:
    """D10"""
    assert await door.deliver(recording) == (200, "")
    assert await door.deliver(recording) == (200, "")
    stored = await door.stored()
    event = recording.event
    is_direct = event.get("channel_type") == "im" or event["channel"].startswith("D")
    is_mention = mentions_us(event, identity_of(recording))
    if not (is_direct or is_mention or event.get("thread_ts")):
        assert stored == ()
        return
    (kept,) = stored
    intent = intent_of(recording, kept)
    assert isinstance(intent, StartOrSend)
    assert intent.starts is (is_direct or is_mention)


@each(*FILES)
async def test_a_message_with_files_names_them(door: Door, recording: Recording) -> None:
    """D2"""
    in_thread = Recording(
        name=recording.name,
        kind=recording.kind,
        handling=recording.handling,
        body={**recording.body, "event": {**recording.event, "thread_ts": "1.0"}},
    )
    assert await door.deliver(in_thread) == (200, "")
    stored = await door.stored()
    if recording.name.startswith("java_sdk_shape"):
        # A shape without values: nobody wrote it, anywhere.
        assert stored == ()
        return
    (kept,) = stored
    assert kept.event.kind == EventKind.MESSAGE
    intent = intent_of(recording, kept)
    assert isinstance(intent, StartOrSend)
    named = [file.name for file in intent.files]
    assert named == [file["name"] for file in recording.event["files"]]


@each(*SILENT)
async def test_what_asks_for_nothing_is_acknowledged_and_forgotten(
    door: Door, recording: Recording
) -> None:
    """D10"""
    status, text = await door.deliver(recording)
    assert status == 200
    assert text in ("", '{"options": []}')
    assert await door.stored() == ()


@each(*VIEWS)
async def test_what_is_about_the_agent_view_is_no_message(door: Door, recording: Recording) -> None:
    """D10"""
    assert await door.deliver(recording) == (200, "")
    for event in await door.stored():
        assert event.event.kind == EventKind.VIEW
        assert not isinstance(intent_of(recording, event), StartOrSend)


@each(*COMMANDS)
async def test_a_slash_command_says_how_to_talk(door: Door, recording: Recording) -> None:
    status, text = await door.deliver(recording)
    assert status == 200
    assert json.loads(text)["response_type"] == "ephemeral"
    assert await door.stored() == ()


@each(*recordings())
def test_a_recording_that_was_stored_for_any_reason_translates(recording: Recording) -> None:
    """Old rows of the inbox may be of kinds that are no longer kept."""
    for kind in (*EventKind, "unheard of"):
        intent = translate(
            kind, recording.body, identity=identity_of(recording), stop_words=("stop",)
        )
        if kind == "unheard of":
            assert isinstance(intent, Ignore)
