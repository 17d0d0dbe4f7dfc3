"""What the fake Slack refuses in forms, finds in searched menus and knows of user groups, by the real SDK and bolt."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest
from slack_bolt.async_app import AsyncApp
from slack_sdk.errors import SlackApiError

from tests.fakes.slack_bolt_app import bolt_over_sockets
from tests.fakes.slack_limits_initial import check_initials
from tests.fakes.slack_server import FakeSlack
from tests.fakes.slack_shown import NotShownError, ShownMessage

Json = dict[str, Any]
Answer = Callable[..., Awaitable[Any]]


def plain(text: str) -> Json:
    return {"type": "plain_text", "text": text}


def option(label: str, value: str) -> Json:
    return {"text": plain(label), "value": value}


NORTH, SOUTH = option("North", "n"), option("South", "s")
SEARCHED: Json = {
    "type": "external_select",
    "action_id": "berth",
    "min_query_length": 0,
    "placeholder": plain("Search"),
}


def form_with(element: Json) -> Json:
    block = {"type": "input", "block_id": "a", "label": plain("A"), "optional": True}
    return {
        "type": "modal",
        "title": plain("Mooring"),
        "submit": plain("Send"),
        "blocks": [{**block, "element": {"action_id": "entry", **element}}],
    }


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack.start() as running:
        yield running


@pytest.fixture
async def app(slack: FakeSlack) -> AsyncIterator[AsyncApp]:
    async with bolt_over_sockets(slack) as bolt:

        @bolt.event("message")
        async def hear() -> None: ...

        yield bolt
        await slack.wait_until_settled()


async def posted(slack: FakeSlack, app: AsyncApp, element: Json) -> ShownMessage:
    harbour = slack.channel("harbour")
    root = await slack.user("Ada").say(harbour, "may I moor?")
    blocks = [{"type": "actions", "block_id": "row", "elements": [element]}]
    await app.client.chat_postMessage(
        channel=harbour.id, thread_ts=root.ts, text="Choose", blocks=blocks
    )
    return slack.thread(harbour, root)[1]


@pytest.mark.parametrize(
    ("element", "is_taken"),
    [
        ({"type": "plain_text_input", "initial_value": "so", "max_length": 2}, True),
        ({"type": "plain_text_input", "initial_value": "so", "max_length": 1}, False),
        ({"type": "plain_text_input", "initial_value": "s", "min_length": 2}, False),
        ({"type": "plain_text_input", "initial_value": ""}, False),
        ({"type": "plain_text_input", "initial_value": "a\nb"}, False),
        ({"type": "plain_text_input", "initial_value": "a\nb", "multiline": True}, True),
        ({"type": "plain_text_input", "min_length": 3, "max_length": 2}, False),
        ({"type": "plain_text_input", "max_length": 0}, False),
        ({"type": "number_input", "initial_value": "3", "max_value": "3"}, True),
        ({"type": "number_input", "initial_value": "3", "max_value": "2"}, False),
        ({"type": "number_input", "initial_value": "1e3"}, False),
        ({"type": "number_input", "initial_value": "1.5"}, False),
        ({"type": "number_input", "initial_value": "1.5", "is_decimal_allowed": True}, True),
        ({"type": "number_input", "min_value": "1e-7"}, False),
        ({"type": "datepicker", "initial_date": "2026-12-24"}, True),
        ({"type": "datepicker", "initial_date": "2026-02-30"}, False),
        ({"type": "static_select", "options": [NORTH], "initial_option": NORTH}, True),
        ({"type": "static_select", "options": [NORTH], "initial_option": SOUTH}, False),
        ({"type": "external_select", "initial_option": SOUTH}, True),
        ({"type": "multi_static_select", "options": [NORTH], "initial_options": []}, False),
        ({"type": "multi_static_select", "options": [NORTH, SOUTH], "max_selected_items": 1,
          "initial_options": [NORTH, SOUTH]}, False),
        ({"type": "external_select", "initial_option": option("x" * 76, "n")}, False),
        ({"type": "users_select", "initial_user": "U404"}, False),
        ({"type": "multi_users_select", "initial_users": ["U404"]}, False),
    ],
)  # fmt: skip
async def test_what_an_input_begins_with_must_be_what_a_person_could_enter(
    slack: FakeSlack, app: AsyncApp, element: Json, *, is_taken: bool
) -> None:
    view = form_with(element)

    @app.action("open")
    async def press(ack: Answer, body: Json) -> None:
        await ack()
        with suppress(SlackApiError):
            await app.client.views_open(trigger_id=body["trigger_id"], view=view)

    button = {"type": "button", "action_id": "open", "text": plain("Open")}
    await slack.user("Ada").click(await posted(slack, app, button), "Open")
    (call,) = await slack.wait_until(lambda: [c for c in slack.calls("views.open") if c.response])
    assert call.error == (None if is_taken else "invalid_arguments")
    assert bool(check_initials(view["blocks"], ())) is not is_taken


async def test_a_person_may_be_chosen_from_the_start(slack: FakeSlack) -> None:
    ada = slack.user("Ada")
    view = form_with({"type": "users_select", "initial_user": ada.id})
    assert check_initials(view["blocks"], {ada.id}) == []


async def test_typing_asks_the_app_for_options_and_only_those_can_be_chosen(
    slack: FakeSlack, app: AsyncApp
) -> None:
    bodies: list[Json] = []

    @app.options("berth")
    async def find(ack: Answer, body: Json) -> None:
        bodies.append(body)
        await ack(options=[NORTH])

    @app.action("berth")
    async def choose(ack: Answer, body: Json) -> None:
        bodies.append(body)
        await ack()

    ada, shown = slack.user("Ada"), await posted(slack, app, SEARCHED)
    assert await ada.search(shown, "nor") == [NORTH]
    with pytest.raises(NotShownError):
        await ada.choose(shown, "North")
    await ada.choose(shown, NORTH)
    asked, chosen = bodies
    assert (asked["type"], asked["action_id"], asked["value"]) == (
        "block_suggestion", "berth", "nor",
    )  # fmt: skip
    assert "trigger_id" not in asked
    assert asked["container"]["message_ts"] == shown.ts
    assert chosen["actions"][0]["selected_option"] == NORTH


async def test_too_short_a_word_asks_nobody(slack: FakeSlack, app: AsyncApp) -> None:
    ada = slack.user("Ada")
    shown = await posted(slack, app, {**SEARCHED, "min_query_length": 3})
    assert await ada.search(shown, "no") == []
    assert not [d for d in slack.deliveries if d.body.get("type") == "block_suggestion"]


async def test_more_options_than_slack_shows_fail_the_test(slack: FakeSlack, app: AsyncApp) -> None:
    @app.options("berth")
    async def find(ack: Answer) -> None:
        await ack(options=[option(f"Berth {n}", str(n)) for n in range(101)])

    shown = await posted(slack, app, SEARCHED)
    with pytest.raises(AssertionError, match="101 options"):
        await slack.user("Ada").search(shown, "")


async def test_user_groups_are_listed_with_their_people(slack: FakeSlack, app: AsyncApp) -> None:
    ada, bo = slack.user("Ada"), slack.user("Bo")
    group_id = slack.team.usergroup("pilots", ada, bo)
    listed = await app.client.usergroups_list()
    assert [(g["id"], g["handle"]) for g in listed["usergroups"]] == [(group_id, "pilots")]
    users = await app.client.usergroups_users_list(usergroup=group_id)
    assert users["users"] == [ada.id, bo.id]
    assert slack.team.usergroup("pilots", ada) == group_id
    users = await app.client.usergroups_users_list(usergroup=group_id)
    assert users["users"] == [ada.id]
    with pytest.raises(SlackApiError, match="no_such_subteam"):
        await app.client.usergroups_users_list(usergroup="S404")
    slack.bot.scopes.remove("usergroups:read")
    with pytest.raises(SlackApiError, match="missing_scope"):
        await app.client.usergroups_list()
