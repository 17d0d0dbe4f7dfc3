"""The fake Slack's payloads, held field by field against recordings of the real one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from tests.fakes.slack_deliveries import DeliveryKind
from tests.fakes.slack_server import FakeSlack
from tests.fakes.slack_shown import ShownMessage

Json = dict[str, Any]

RECORDINGS = Path(__file__).parent.parent / "recordings" / "slack"
# Slack documents these, but no recording at hand happens to hold them.
DOCUMENTED = {
    # A bot user's message names its app (as in the recorded block_actions message).
    "event.app_id",
    # A mention inside a thread says which (as the recorded thread reply does).
    "event.thread_ts",
    "event.parent_user_id",
}
# Most recordings were made in an Enterprise organisation; a plain workspace has none of these.
ENTERPRISE_ONLY = {"enterprise_id", "context_enterprise_id", "event.enterprise"}
# Slack makes previews of pictures; the fake does not look into files.
PREVIEWS_ONLY = ("event.files.thumb_", "event.files.original_")


def kind_of(body: Json) -> str:
    if body.get("type") == "event_callback":
        return str(body["event"].get("subtype") or body["event"]["type"])
    return str(body.get("type", "command"))


def recorded(kind: str) -> list[Json]:
    bodies = [json.loads(path.read_text()) for path in sorted(RECORDINGS.glob("*.json"))]
    return [body for body in bodies if body and kind_of_file(body) == kind]


def kind_of_file(body: Json) -> str | None:
    if body.get("type") == "event_callback" or "event" in body:
        return str(body["event"].get("subtype") or body["event"].get("type"))
    return "command" if "command" in body else body.get("type")


def paths(value: object, at: str = "") -> Iterator[str]:
    """Every field as a dotted path; the keys of `values` are ids of forms and left out."""
    if isinstance(value, dict):
        for key, inner in value.items():
            here = f"{at}.{key}" if at else key
            yield here
            if key not in ("values", "blocks", "attachments", "rich_text_value"):
                yield from paths(inner, here)
    elif isinstance(value, list):
        for inner in value:
            yield from paths(inner, at)


def block_paths(value: object) -> Iterator[tuple[str, str]]:
    """Every (type, field) of the objects inside blocks."""
    if isinstance(value, dict):
        if isinstance(value.get("type"), str):
            yield from ((value["type"], key) for key in value)
        for inner in value.values():
            yield from block_paths(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from block_paths(inner)


def assert_like_a_recording(body: Json, kind: str, *, more: frozenset[str] = frozenset()) -> None:
    samples = recorded(kind)
    assert samples, f"no recording of {kind}"
    known = {path for sample in samples for path in paths(sample)} | DOCUMENTED | more
    assert set(paths(body)) - known == set()
    always = set.intersection(*(set(paths(sample)) for sample in samples))
    missing = always - set(paths(body)) - ENTERPRISE_ONLY
    assert {path for path in missing if not path.startswith(PREVIEWS_ONLY)} == set()


def recorded_element(kind: str) -> set[str]:
    fields = (
        f for p in sorted(RECORDINGS.glob("*.json")) for f in block_paths(json.loads(p.read_text()))
    )
    return {field for element, field in fields if element == kind}


async def bodies_of(slack: FakeSlack) -> dict[str, Json]:
    return {
        kind_of(delivery.body): delivery.body
        for delivery in slack.deliveries
        if delivery.kind is DeliveryKind.EVENT
    }


@pytest.fixture
async def events() -> dict[str, Json]:
    """One body of every event the fake makes by itself."""
    async with FakeSlack.start() as slack:
        ada, harbour = slack.user("Ada"), slack.channel("harbour")
        root = await ada.say(harbour, "<@BOT> see <#C1|x> and <https://x.y|this>")
        mention = (await bodies_of(slack))["app_mention"]
        reply = await ada.say(harbour, "<@BOT> more", thread_ts=root.ts)
        await slack.other_bot("Crow").say(harbour, "caw")
        await ada.say(harbour, "aloud", thread_ts=root.ts, broadcast=True)
        shared = await ada.say(harbour, "file", files=[slack.file("chart.png", b"7")])
        await slack.other_bot("Crow").say(harbour, "CAW", classic=True)
        await ada.react(shared, "eyes")
        await ada.edit(root, "less")
        await ada.edit(root, "even less")
        await ada.delete(reply)
        await slack.team.join(harbour, slack.user("Bo"), inviter=ada)
        found = await bodies_of(slack)
        return found | {"app_mention": mention}


@pytest.mark.parametrize(
    "kind",
    [
        "app_mention",
        "message",
        "thread_broadcast",
        "file_share",
        "bot_message",
        "message_deleted",
        "message_changed",
        "reaction_added",
        "member_joined_channel",
    ],
)
async def test_an_event_has_the_fields_of_the_recorded_one(
    events: dict[str, Json], kind: str
) -> None:
    nested = frozenset({"event.blocks"}) if kind == "thread_broadcast" else frozenset[str]()
    if kind == "message_deleted":
        # The recording is of a plain message; one with blocks carries them here as well.
        nested = frozenset(
            {
                f"event.previous_message.{f}"
                for f in (
                    "blocks",
                    "client_msg_id",
                    "edited",
                    "edited.user",
                    "edited.ts",
                    "thread_ts",
                    "parent_user_id",
                )
            }
        )
    assert_like_a_recording(events[kind], kind, more=nested)


async def test_every_message_of_the_fake_has_recorded_fields() -> None:
    async with FakeSlack.start() as slack:
        ada, harbour = slack.user("Ada"), slack.channel("harbour")
        root = await ada.say(harbour, "plain")
        await ada.say(harbour, "reply", thread_ts=root.ts)
        await ada.say(slack.dm(ada), "direct")
        await slack.other_bot("Crow").say(harbour, "caw", thread_ts=root.ts)
        for delivery in slack.deliveries:
            assert_like_a_recording(delivery.body, "message")
        direct = slack.deliveries[2].event
        assert direct["channel_type"] == "im"
        assert direct["channel"].startswith("D")


async def test_rich_text_of_people_has_recorded_elements() -> None:
    async with FakeSlack.start() as slack:
        said = await slack.user("Ada").say(slack.channel("harbour"), "<@BOT> hi")
        for element, field in block_paths(said.blocks):
            assert field in recorded_element(element), (element, field)


def choice() -> Json:
    return {
        "type": "actions",
        "elements": [
            {
                "type": "button",
                "action_id": "go",
                "style": "primary",
                "value": "v",
                "text": {"type": "plain_text", "text": "Go"},
            },
            {
                "type": "static_select",
                "action_id": "pick",
                "placeholder": {"type": "plain_text", "text": "Pick"},
                "options": [{"text": {"type": "plain_text", "text": "A"}, "value": "a"}],
            },
        ],
    }


async def shown_choice(slack: FakeSlack) -> ShownMessage:
    harbour = slack.channel("harbour")
    root = await slack.user("Ada").say(harbour, "root")
    client = AsyncWebClient(token=slack.bot.token, base_url=slack.base_url)
    await client.chat_postMessage(
        channel=harbour.id, thread_ts=root.ts, text="x", blocks=[choice()]
    )
    return slack.replies(harbour, root)[0]


async def test_a_click_and_a_choice_have_the_fields_of_recorded_ones() -> None:
    async with FakeSlack.start() as slack:
        ada, shown = slack.user("Ada"), await shown_choice(slack)
        click = await ada.click(shown, "Go", wait=False)
        chosen = await ada.choose(shown, "A", wait=False)
        for delivery in (click, chosen):
            assert_like_a_recording(delivery.body, "block_actions")


async def test_a_submission_has_the_fields_of_the_recorded_one() -> None:
    async with FakeSlack.start() as slack:
        ada, shown = slack.user("Ada"), await shown_choice(slack)
        click = await ada.click(shown, "Go", wait=False)
        recording = next(s for s in recorded("view_submission") if "feedback" in json.dumps(s))
        wanted = ("type", "blocks", "title", "submit", "close", "callback_id", "private_metadata")
        view = {name: recording["view"][name] for name in wanted} | {"notify_on_close": True}
        client = AsyncWebClient(token=slack.bot.token, base_url=slack.base_url)
        await client.views_open(trigger_id=click.body["trigger_id"], view=view)
        form = ada.open_view()
        assert form is not None
        values = {"message": "Hello!", "category": "feature", "email": "user@example.com"}
        sent = await ada.submit_view(form, values, wait=False)
        assert_like_a_recording(sent.body, "view_submission")
        assert sent.body["view"]["state"] == recording["view"]["state"]
        assert set(sent.body["view"]) == set(recording["view"])
        closed = await ada.close_view(form, wait=False)
        assert closed is not None
        known = {path for sample in recorded("view_closed") for path in paths(sample)}
        known |= set(paths(recording)) | {"is_cleared"}
        assert set(paths(closed.body)) - known == set()


async def test_a_command_has_the_fields_of_the_recorded_one() -> None:
    async with FakeSlack.start() as slack:
        ada = slack.user("Ada")
        sent = await ada.command("/wren", "status", slack.channel("harbour"), wait=False)
        assert_like_a_recording(sent.body, "command")
