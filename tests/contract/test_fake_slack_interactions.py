"""The fake Slack's buttons, menus, modals and commands, answered by a real bolt app over sockets."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from slack_bolt.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.webhook.async_client import AsyncWebhookClient

from tests.fakes.slack_bolt_app import bolt_over_sockets
from tests.fakes.slack_deliveries import DeliveryState
from tests.fakes.slack_forms import CannotSubmitError
from tests.fakes.slack_server import FakeSlack
from tests.fakes.slack_shown import NotShownError, ShownMessage

Json = dict[str, Any]
Answer = Callable[..., Awaitable[Any]]


def plain(text: str) -> Json:
    return {"type": "plain_text", "text": text}


def option(label: str, value: str) -> Json:
    return {"text": plain(label), "value": value}


def field(label: str, element: Json, *, optional: bool = False) -> Json:
    block: Json = {"type": "input", "block_id": label.lower(), "label": plain(label)}
    return block | {"element": {"action_id": "entry", **element}, "optional": optional}


CHOICE: Json = {
    "type": "actions",
    "elements": [
        {"type": "button", "action_id": "approve", "value": "call-1", "text": plain("Approve")},
        {
            "type": "static_select",
            "action_id": "berth",
            "placeholder": plain("Berth"),
            "options": [option("North quay", "n"), option("South quay", "s")],
        },
    ],
}
FORM: Json = {
    "type": "modal",
    "callback_id": "mooring",
    "private_metadata": "chat-1",
    "title": plain("Mooring"),
    "submit": plain("Send"),
    "blocks": [
        field("Ship", {"type": "plain_text_input", "max_length": 10}),
        field(
            "Quay",
            {"type": "static_select", "options": [option("North", "n"), option("South", "s")]},
        ),
        field("Draught", {"type": "number_input", "is_decimal_allowed": False}, optional=True),
        field("Pilots", {"type": "multi_users_select"}, optional=True),
    ],
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


async def posted_choice(slack: FakeSlack, app: AsyncApp) -> ShownMessage:
    harbour = slack.channel("harbour")
    root = await slack.user("Ada").say(harbour, "may I moor?")
    await app.client.chat_postMessage(
        channel=harbour.id, thread_ts=root.ts, text="Choose", blocks=[CHOICE]
    )
    return slack.thread(harbour, root)[1]


async def open_form(slack: FakeSlack, app: AsyncApp) -> None:
    @app.action("approve")
    async def press(ack: Answer, body: Json) -> None:
        await ack()
        await app.client.views_open(trigger_id=body["trigger_id"], view=FORM)

    await slack.user("Ada").click(await posted_choice(slack, app), "Approve")
    await slack.wait_until(lambda: slack.modal(slack.user("Ada")))


async def test_a_click_carries_the_button_the_message_and_the_place(
    slack: FakeSlack, app: AsyncApp
) -> None:
    bodies: list[Json] = []

    @app.action("approve")
    async def press(ack: Answer, body: Json) -> None:
        bodies.append(body)
        await ack()

    shown = await posted_choice(slack, app)
    delivery = await slack.user("Ada").click(shown, "Approve")
    assert delivery.is_acked
    (body,) = bodies
    assert body["actions"][0]["value"] == "call-1"
    assert body["actions"][0]["text"]["text"] == "Approve"
    assert body["container"]["message_ts"] == shown.ts
    assert body["container"]["thread_ts"] == shown.thread_ts
    assert body["message"]["bot_id"] == slack.bot.bot_id
    assert body["user"]["id"] == slack.user("Ada").id


async def test_a_choice_carries_the_option_and_the_state(slack: FakeSlack, app: AsyncApp) -> None:
    bodies: list[Json] = []

    @app.action("berth")
    async def choose(ack: Answer, body: Json) -> None:
        bodies.append(body)
        await ack()

    shown = await posted_choice(slack, app)
    await slack.user("Ada").choose(shown, "South quay")
    action = bodies[0]["actions"][0]
    assert action["selected_option"]["value"] == "s"
    chosen = bodies[0]["state"]["values"][action["block_id"]]["berth"]
    assert chosen["selected_option"]["value"] == "s"
    with pytest.raises(NotShownError, match="South quay"):
        await slack.user("Ada").choose(shown, "East quay")
    with pytest.raises(NotShownError, match="Approve"):
        await slack.user("Ada").click(shown, "Deny")


async def test_a_button_that_was_edited_away_can_still_be_pressed_late(
    slack: FakeSlack, app: AsyncApp
) -> None:
    presses: list[Json] = []

    @app.action("approve")
    async def press(ack: Answer, body: Json) -> None:
        presses.append(body)
        await ack()

    shown = await posted_choice(slack, app)
    await app.client.chat_update(channel=shown.channel_id, ts=shown.ts, text="over", blocks=[])
    await slack.user("Bo").click(shown, "Approve")
    assert "blocks" not in presses[0]["message"]


async def test_a_click_nobody_answers_is_lost_after_three_seconds(
    slack: FakeSlack, app: AsyncApp
) -> None:
    shown = await posted_choice(slack, app)
    delivery = await slack.user("Ada").click(shown, "Approve", wait=False)
    await slack.wait_until(lambda: delivery.attempts)
    slack.clock.advance(3)
    await delivery.settled()
    assert delivery.state is DeliveryState.LOST


async def test_a_trigger_opens_one_view_within_three_seconds(
    slack: FakeSlack, app: AsyncApp
) -> None:
    triggers: list[str] = []

    @app.action("approve")
    async def press(ack: Answer, body: Json) -> None:
        triggers.append(body["trigger_id"])
        await ack()

    ada, shown = slack.user("Ada"), await posted_choice(slack, app)
    await ada.click(shown, "Approve")
    await ada.click(shown, "Approve")
    first, second = triggers
    opened = await app.client.views_open(trigger_id=first, view=FORM)
    assert opened["view"]["root_view_id"] == opened["view"]["id"]
    for trigger, error in ((first, "exchanged_trigger_id"), ("1.2.x", "invalid_trigger_id")):
        with pytest.raises(SlackApiError, match=error):
            await app.client.views_open(trigger_id=trigger, view=FORM)
    slack.clock.advance(3.1)
    with pytest.raises(SlackApiError, match="expired_trigger_id"):
        await app.client.views_open(trigger_id=second, view=FORM)


async def test_a_submitted_form_carries_every_value_and_closes(
    slack: FakeSlack, app: AsyncApp
) -> None:
    views: list[Json] = []

    @app.view("mooring")
    async def submit(ack: Answer, view: Json) -> None:
        views.append(view)
        await ack()

    await open_form(slack, app)
    ada, bo = slack.user("Ada"), slack.user("Bo")
    form = ada.open_view()
    assert form is not None
    await ada.submit_view(form, {"Ship": "Argo", "quay": "South", "Pilots": [bo.id]})
    assert slack.modal(ada) is None
    (view,) = views
    assert view["private_metadata"] == "chat-1"
    assert view["state"]["values"] == {
        "ship": {"entry": {"type": "plain_text_input", "value": "Argo"}},
        "quay": {
            "entry": {
                "type": "static_select",
                "selected_option": {
                    "text": {"type": "plain_text", "text": "South", "emoji": True},
                    "value": "s",
                },
            }
        },
        "draught": {"entry": {"type": "number_input", "value": None}},
        "pilots": {"entry": {"type": "multi_users_select", "selected_users": [bo.id]}},
    }


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"Quay": "North"}, "Ship: please complete"),
        ({"Ship": "far too long a name", "Quay": "North"}, "Ship: too long"),
        ({"Ship": "Argo", "Quay": "North", "Draught": "deep"}, "Draught: not a number"),
        ({"Ship": "Argo", "Quay": "North", "Draught": "1.5"}, "Draught: not a whole number"),
    ],
)
async def test_the_client_stops_a_form_slack_would_not_send(
    slack: FakeSlack, app: AsyncApp, values: Json, words: str
) -> None:
    await open_form(slack, app)
    ada = slack.user("Ada")
    form = ada.open_view()
    assert form is not None
    with pytest.raises(CannotSubmitError, match=words):
        await ada.submit_view(form, values)
    with pytest.raises(NotShownError, match="Anchor"):
        await ada.submit_view(form, {"Ship": "Argo", "Quay": "North", "Anchor": "x"})


async def test_response_actions_refuse_replace_cover_and_clear(
    slack: FakeSlack, app: AsyncApp
) -> None:
    answers: list[Json] = [
        {"response_action": "errors", "errors": {"ship": "unknown ship"}},
        {"response_action": "update", "view": FORM | {"title": plain("Again")}},
        {"response_action": "push", "view": FORM | {"title": plain("On top")}},
        {"response_action": "clear"},
    ]

    @app.view("mooring")
    async def submit(ack: Answer) -> None:
        await ack(**answers.pop(0))

    await open_form(slack, app)
    ada = slack.user("Ada")
    values = {"Ship": "Argo", "Quay": "North"}
    form = ada.open_view()
    assert form is not None
    await ada.submit_view(form, values)
    assert form.errors == {"ship": "unknown ship"}
    await ada.submit_view(form, values)
    assert (form.title, form.errors) == ("Again", {})
    await ada.submit_view(form, values)
    top = ada.open_view()
    assert top is not None
    assert (top.title, top.previous_view_id) == ("On top", form.id)
    await ada.submit_view(top, values)
    assert ada.open_view() is None
    assert not form.is_open


async def test_views_stack_three_deep_and_updates_check_the_hash(
    slack: FakeSlack, app: AsyncApp
) -> None:
    triggers: list[str] = []

    @app.action("next")
    async def press(ack: Answer, body: Json) -> None:
        triggers.append(body["trigger_id"])
        await ack()

    next_button: Json = {
        "type": "actions",
        "elements": [{"type": "button", "action_id": "next", "text": plain("Next")}],
    }
    page = {"type": "modal", "title": plain("Page"), "blocks": [next_button]}

    @app.action("approve")
    async def start(ack: Answer, body: Json) -> None:
        await ack()
        await app.client.views_open(trigger_id=body["trigger_id"], view=page)

    ada = slack.user("Ada")
    await ada.click(await posted_choice(slack, app), "Approve")
    bottom = await slack.wait_until(ada.open_view)
    assert bottom is not None
    for expected in (None, None, "push_limit_reached"):
        top = ada.open_view()
        assert top is not None
        await ada.click_in_view(top, "Next")
        if expected is None:
            await app.client.views_push(trigger_id=triggers[-1], view=page)
        else:
            with pytest.raises(SlackApiError, match=expected):
                await app.client.views_push(trigger_id=triggers[-1], view=page)
    old = bottom.hash
    await app.client.views_update(view_id=bottom.id, view=page, hash=old)
    with pytest.raises(SlackApiError, match="hash_conflict"):
        await app.client.views_update(view_id=bottom.id, view=page, hash=old)
    with pytest.raises(SlackApiError, match="not_found"):
        await app.client.views_update(view_id="V0NONE", view=page)


async def test_a_closed_modal_is_told_only_when_asked(slack: FakeSlack, app: AsyncApp) -> None:
    await open_form(slack, app)
    ada = slack.user("Ada")
    form = ada.open_view()
    assert form is not None
    assert await ada.close_view(form) is None
    assert ada.open_view() is None


async def test_a_command_answer_is_shown_to_one_or_to_all(slack: FakeSlack, app: AsyncApp) -> None:
    seen: list[Json] = []

    @app.command("/wren")
    async def command(ack: Answer, body: Json) -> None:
        seen.append(body)
        if body["text"] == "aloud":
            await ack(text="for all", response_type="in_channel")
        else:
            await ack("for you")

    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    await ada.command("/wren", "quietly", harbour)
    assert [m.plain for m in slack.ephemerals(ada)] == ["for you"]
    await ada.command("/wren", "aloud", harbour)
    assert [m.plain for m in slack.timeline(harbour)] == ["for all"]
    assert seen[0]["channel_id"] == harbour.id
    assert "thread_ts" not in seen[0]


async def test_a_response_url_replaces_adds_and_deletes_five_times(
    slack: FakeSlack, app: AsyncApp
) -> None:
    urls: list[str] = []

    @app.action("approve")
    async def press(ack: Answer, body: Json, respond: Answer) -> None:
        await ack()
        urls.append(body["response_url"])
        await respond(text="only for you", replace_original=False)

    ada, shown = slack.user("Ada"), await posted_choice(slack, app)
    await ada.click(shown, "Approve")
    await slack.wait_until(lambda: slack.ephemerals(ada))
    assert slack.ephemerals(ada)[0].plain == "only for you"
    harbour = slack.channel("harbour")
    hook = AsyncWebhookClient(urls[0])
    await hook.send(text="replaced", blocks=[], replace_original=True)
    assert slack.replies(harbour, str(shown.thread_ts))[0].plain == "replaced"
    await hook.send(text="aloud", response_type="in_channel", replace_original=False)
    assert slack.replies(harbour, str(shown.thread_ts))[-1].plain == "aloud"
    await hook.send(delete_original=True)
    assert [m.plain for m in slack.replies(harbour, str(shown.thread_ts))] == ["aloud"]
    assert (await hook.send(text="fifth")).status_code == 200
    assert (await hook.send(text="sixth")).status_code == 404


async def test_an_ephemeral_button_carries_no_message(slack: FakeSlack, app: AsyncApp) -> None:
    bodies: list[Json] = []

    @app.action("approve")
    async def press(ack: Answer, body: Json, respond: Answer) -> None:
        bodies.append(body)
        await ack()
        await respond(text="done", blocks=[], replace_original=True)

    ada = slack.user("Ada")
    harbour = slack.channel("harbour", members=[ada, slack.bot])
    await app.client.chat_postEphemeral(
        channel=harbour.id, user=ada.id, text="Choose", blocks=[CHOICE]
    )
    await ada.click(slack.ephemerals(ada)[0], "Approve")
    await slack.wait_until(lambda: slack.ephemerals(ada)[0].plain == "done")
    assert "message" not in bodies[0]
    assert bodies[0]["container"]["is_ephemeral"] is True
