"""The fake Slack's limits, held against what slackblocks and slack_sdk know and called through the SDK."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.models import blocks as sdk_blocks
from slack_sdk.models import views as sdk_views
from slack_sdk.models.blocks import basic_components, block_elements
from slack_sdk.web.async_client import AsyncWebClient
from slackblocks import _limits as oracle

from tests.fakes import slack_limits as limits
from tests.fakes.slack_server import FakeSlack

Json = dict[str, Any]


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack.start() as running:
        yield running


def text(length: int, kind: str = "plain_text") -> Json:
    return {"type": kind, "text": "x" * length}


def button(label: int = 4, **more: object) -> Json:
    return {"type": "button", "action_id": "go", "text": text(label), **more}


def actions(*elements: Json) -> Json:
    return {"type": "actions", "elements": list(elements)}


def options(count: int, **more: object) -> list[Json]:
    return [{"text": text(3), "value": f"v{n}", **more} for n in range(count)]


def select(**more: object) -> Json:
    return {"type": "static_select", "action_id": "pick", "placeholder": text(3), **more}


def section(length: int) -> Json:
    return {"type": "section", "text": text(length, "mrkdwn")}


def markdown(length: int) -> Json:
    return {"type": "markdown", "text": "x" * length}


def table(rows: int, columns: int, cell: int = 1) -> Json:
    entry = {"type": "raw_text", "text": "x" * cell}
    return {"type": "table", "rows": [[entry] * columns for _ in range(rows)]}


FITS_AND_BREAKS = {
    "section text": ([section(3000)], [section(3001)]),
    "section fields": (
        [{"type": "section", "fields": [text(2000)] * 5}],
        [{"type": "section", "fields": [text(1)] * 11}],
    ),
    "section field text": (
        [{"type": "section", "fields": [text(2000)]}],
        [{"type": "section", "fields": [text(2001)]}],
    ),
    "header": ([{"type": "header", "text": text(150)}], [{"type": "header", "text": text(151)}]),
    "header is plain": (
        [{"type": "header", "text": text(1)}],
        [{"type": "header", "text": text(1, "mrkdwn")}],
    ),
    "button text": ([actions(button(75))], [actions(button(76))]),
    "button value": ([actions(button(value="v" * 2000))], [actions(button(value="v" * 2001))]),
    "action id": (
        [actions(button() | {"action_id": "a" * 255})],
        [actions(button() | {"action_id": "a" * 256})],
    ),
    "block id": (
        [{"type": "divider", "block_id": "b" * 255}],
        [{"type": "divider", "block_id": "b" * 256}],
    ),
    "same action id": (
        [actions(button()), actions(button())],
        [actions(button(), button())],
    ),
    "same block id": (
        [{"type": "divider", "block_id": "a"}, {"type": "divider", "block_id": "b"}],
        [{"type": "divider", "block_id": "a"}, {"type": "divider", "block_id": "a"}],
    ),
    "actions": (
        [actions(*(button() | {"action_id": f"a{n}"} for n in range(25)))],
        [actions(*(button() | {"action_id": f"a{n}"} for n in range(26)))],
    ),
    "no actions": ([actions(button())], [actions()]),
    "select options": (
        [actions(select(options=options(100)))],
        [actions(select(options=options(101)))],
    ),
    "option value": (
        [actions(select(options=[{"text": text(75), "value": "v" * 150}]))],
        [actions(select(options=[{"text": text(75), "value": "v" * 151}]))],
    ),
    "option text": (
        [actions(select(options=[{"text": text(75), "value": "v"}]))],
        [actions(select(options=[{"text": text(76), "value": "v"}]))],
    ),
    "overflow": (
        [actions({"type": "overflow", "action_id": "o", "options": options(5)})],
        [actions({"type": "overflow", "action_id": "o", "options": options(6)})],
    ),
    "radio buttons": (
        [actions({"type": "radio_buttons", "action_id": "r", "options": options(10)})],
        [actions({"type": "radio_buttons", "action_id": "r", "options": options(11)})],
    ),
    "context": (
        [{"type": "context", "elements": [text(3)] * 10}],
        [{"type": "context", "elements": [text(3)] * 11}],
    ),
    "context holds no buttons": (
        [{"type": "context", "elements": [text(3)]}],
        [{"type": "context", "elements": [button()]}],
    ),
    "markdown in all": ([markdown(6000), markdown(6000)], [markdown(6000), markdown(6001)]),
    "table rows": ([table(100, 2)], [table(101, 2)]),
    "table columns": ([table(2, 20)], [table(2, 21)]),
    "table text": ([table(10, 10, 100)], [table(10, 10, 101)]),
    "blocks": ([{"type": "divider"}] * 50, [{"type": "divider"}] * 51),
    "known types": ([{"type": "divider"}], [{"type": "marquee"}]),
    "empty text": ([section(1)], [section(0)]),
    "image alt text": (
        [{"type": "image", "image_url": "https://x.y", "alt_text": "a" * 2000}],
        [{"type": "image", "image_url": "https://x.y", "alt_text": "a" * 2001}],
    ),
}


@pytest.mark.parametrize("name", FITS_AND_BREAKS)
async def test_the_last_that_fits_is_shown_and_the_first_that_does_not_is_invalid_blocks(
    slack: FakeSlack, name: str
) -> None:
    fits, breaks = FITS_AND_BREAKS[name]
    harbour = slack.channel("harbour")
    client = AsyncWebClient(token=slack.bot.token, base_url=slack.base_url)
    await client.chat_postMessage(channel=harbour.id, text="x", blocks=fits)
    assert len(slack.timeline(harbour)) == 1
    with pytest.raises(SlackApiError) as caught:
        await client.chat_postMessage(channel=harbour.id, text="x", blocks=breaks)
    assert caught.value.response["error"] == "invalid_blocks"
    assert "json-pointer:/blocks" in caught.value.response["errors"][0]
    assert caught.value.response["response_metadata"]["messages"][0].startswith("[ERROR]")
    assert len(slack.timeline(harbour)) == 1


def refusals() -> list[tuple[Json, str]]:
    return [
        ({"text": ""}, "no_text"),
        ({"markdown_text": "x" * 12_001}, "msg_too_long"),
        ({"markdown_text": "x", "text": "y"}, "markdown_text_conflict"),
        ({"markdown_text": "x", "blocks": [section(3)]}, "markdown_text_conflict"),
        ({"text": "x", "blocks": [section(2900)] * 5}, "msg_blocks_too_long"),
        ({"text": "x", "blocks": [table(1, 1), table(1, 1)]}, "invalid_attachments"),
        ({"text": "x", "attachments": [{"text": "a"}] * 101}, "too_many_attachments"),
        ({"text": "x", "blocks": "nope"}, "invalid_blocks_format"),
        ({"text": "x", "metadata": {"event_type": "a"}}, "invalid_metadata_schema"),
        (
            {"text": "x", "metadata": {"event_type": "a", "event_payload": {"b": "c" * 9000}}},
            "metadata_too_large",
        ),
    ]


@pytest.mark.parametrize(("args", "error"), refusals())
async def test_a_post_slack_refuses_is_refused_by_name(
    slack: FakeSlack, args: Json, error: str
) -> None:
    harbour = slack.channel("harbour")
    client = AsyncWebClient(token=slack.bot.token, base_url=slack.base_url)
    with pytest.raises(SlackApiError) as caught:
        await client.api_call("chat.postMessage", json={"channel": harbour.id, **args})
    assert caught.value.response["error"] == error
    assert slack.timeline(harbour) == []


async def test_long_text_is_cut_on_posting_and_refused_on_editing(slack: FakeSlack) -> None:
    harbour = slack.channel("harbour")
    client = AsyncWebClient(token=slack.bot.token, base_url=slack.base_url)
    posted = await client.chat_postMessage(channel=harbour.id, text="x" * 40_001)
    assert posted["response_metadata"]["warnings"] == ["message_truncated"]
    assert len(slack.timeline(harbour)[0].text) == 40_000
    place = {"channel": harbour.id, "ts": posted["ts"]}
    await client.chat_update(**place, text="y" * 4000)
    with pytest.raises(SlackApiError, match="msg_too_long"):
        await client.chat_update(**place, text="y" * 4001)
    await client.chat_update(**place, markdown_text="z" * 12_000)
    assert slack.timeline(harbour)[0].plain == "z" * 12_000


def modal(**more: object) -> Json:
    view: Json = {"type": "modal", "title": text(3), "blocks": [{"type": "divider"}]}
    return view | more


VIEWS = {
    "title": (modal(title=text(24)), modal(title=text(25))),
    "submit": (modal(submit=text(24)), modal(submit=text(25))),
    "close": (modal(close=text(24)), modal(close=text(25))),
    "private metadata": (modal(private_metadata="m" * 3000), modal(private_metadata="m" * 3001)),
    "callback id": (modal(callback_id="c" * 255), modal(callback_id="c" * 256)),
    "blocks": (
        modal(blocks=[{"type": "divider"}] * 100),
        modal(blocks=[{"type": "divider"}] * 101),
    ),
    "submit for inputs": (
        modal(
            submit=text(2),
            blocks=[{"type": "input", "label": text(1), "element": select(options=options(1))}],
        ),
        modal(blocks=[{"type": "input", "label": text(1), "element": select(options=options(1))}]),
    ),
    "input label": (
        modal(
            submit=text(2),
            blocks=[{"type": "input", "label": text(2000), "element": select(options=options(1))}],
        ),
        modal(
            submit=text(2),
            blocks=[{"type": "input", "label": text(2001), "element": select(options=options(1))}],
        ),
    ),
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_modal_at_its_limit_passes_and_beyond_does_not(name: str) -> None:
    fits, breaks = VIEWS[name]
    assert limits.check_view(fits) == []
    assert limits.check_view(breaks) != []


def test_a_huge_modal_is_too_large() -> None:
    assert not limits.view_is_too_large(modal())
    assert limits.view_is_too_large(modal(blocks=[section(2900)] * 90))


def test_the_numbers_are_those_of_slackblocks() -> None:
    text_max, items = limits.TEXT_MAX, limits.ITEMS
    assert text_max["section"]["text"] == oracle.SECTION_TEXT_MAX_LENGTH
    assert items["section"]["fields"][1] == oracle.SECTION_FIELDS_MAX_ITEMS
    assert text_max["header"]["text"] == oracle.HEADER_TEXT_MAX_LENGTH
    assert text_max["markdown"]["text"] == oracle.MARKDOWN_TEXT_MAX_LENGTH
    assert oracle.MARKDOWN_TOTAL_TEXT_MAX_LENGTH == limits.MARKDOWN_MAX
    assert text_max["input"]["label"] == oracle.INPUT_LABEL_MAX_LENGTH
    assert text_max["input"]["hint"] == oracle.INPUT_HINT_MAX_LENGTH
    assert text_max["image"] == {
        "image_url": oracle.IMAGE_IMAGE_URL_MAX_LENGTH,
        "alt_text": oracle.IMAGE_ALT_TEXT_MAX_LENGTH,
        "title": oracle.IMAGE_TITLE_MAX_LENGTH,
    }
    assert text_max["button"] == {
        "action_id": oracle.ACTION_ID_MAX_LENGTH,
        "text": oracle.BUTTON_TEXT_MAX_LENGTH,
        "value": oracle.BUTTON_VALUE_MAX_LENGTH,
        "url": oracle.BUTTON_URL_MAX_LENGTH,
        "accessibility_label": oracle.BUTTON_ACCESSIBILITY_LABEL_MAX_LENGTH,
    }
    assert text_max["static_select"]["placeholder"] == oracle.SELECT_PLACEHOLDER_MAX_LENGTH
    assert items["static_select"]["options"][1] == oracle.SELECT_OPTIONS_MAX_ITEMS
    assert items["overflow"]["options"][1] == oracle.OVERFLOW_OPTIONS_MAX_ITEMS
    assert items["checkboxes"]["options"][1] == oracle.CHECKBOXES_OPTIONS_MAX_ITEMS
    assert items["radio_buttons"]["options"][1] == oracle.RADIO_BUTTONS_OPTIONS_MAX_ITEMS
    assert items["actions"]["elements"][1] == oracle.ACTIONS_ELEMENTS_MAX_ITEMS
    assert items["context"]["elements"][1] == oracle.CONTEXT_ELEMENTS_MAX_ITEMS
    assert items["context_actions"]["elements"][1] == oracle.CONTEXT_ACTIONS_ELEMENTS_MAX_ITEMS
    assert items["table"]["rows"][1] == oracle.TABLE_ROWS_MAX_ITEMS
    assert oracle.TABLE_COLUMNS_MAX_ITEMS == limits.TABLE_COLUMNS_MAX
    assert limits.OPTION_MAX == {
        "text": oracle.OPTION_TEXT_MAX_LENGTH,
        "value": oracle.OPTION_VALUE_MAX_LENGTH,
        "description": oracle.OPTION_DESCRIPTION_MAX_LENGTH,
        "url": oracle.OPTION_URL_MAX_LENGTH,
    }
    assert limits.CONFIRM_MAX == {
        "title": oracle.CONFIRMATION_TITLE_MAX_LENGTH,
        "text": oracle.CONFIRMATION_TEXT_MAX_LENGTH,
        "confirm": oracle.CONFIRMATION_CONFIRM_MAX_LENGTH,
        "deny": oracle.CONFIRMATION_DENY_MAX_LENGTH,
    }
    assert limits.VIEW_MAX == {
        "title": oracle.VIEW_TITLE_MAX_LENGTH,
        "submit": oracle.VIEW_SUBMIT_MAX_LENGTH,
        "close": oracle.VIEW_CLOSE_MAX_LENGTH,
        "private_metadata": oracle.VIEW_PRIVATE_METADATA_MAX_LENGTH,
        "callback_id": oracle.VIEW_CALLBACK_ID_MAX_LENGTH,
        "external_id": oracle.VIEW_EXTERNAL_ID_MAX_LENGTH,
    }
    assert oracle.MESSAGE_BLOCKS_MAX_ITEMS == limits.MESSAGE_BLOCKS_MAX
    assert oracle.VIEW_BLOCKS_MAX_ITEMS == limits.VIEW_BLOCKS_MAX
    assert oracle.MESSAGE_ATTACHMENTS_MAX_ITEMS == limits.ATTACHMENTS_MAX


def test_the_numbers_are_those_of_the_sdk_models() -> None:
    text_max, items = limits.TEXT_MAX, limits.ITEMS
    assert text_max["header"]["text"] == sdk_blocks.HeaderBlock.text_max_length
    assert items["section"]["fields"][1] == sdk_blocks.SectionBlock.fields_max_length
    assert items["actions"]["elements"][1] == sdk_blocks.ActionsBlock.elements_max_length
    assert items["context"]["elements"][1] == sdk_blocks.ContextBlock.elements_max_length
    assert text_max["button"]["text"] == block_elements.ButtonElement.text_max_length
    assert text_max["button"]["value"] == block_elements.ButtonElement.value_max_length
    assert limits.OPTION_MAX["text"] == basic_components.Option.label_max_length
    assert limits.CONFIRM_MAX["title"] == basic_components.ConfirmObject.title_max_length
    assert sdk_views.View.title_max_length == limits.VIEW_MAX["title"]
    assert sdk_views.View.private_metadata_max_length == limits.VIEW_MAX["private_metadata"]
    assert sdk_views.View.blocks_max_length == limits.VIEW_BLOCKS_MAX
