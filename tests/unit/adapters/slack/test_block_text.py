"""What blocks and attachments of any kind say."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.slack.block_text import BLOCKS_CHARACTERS_MAX, blocks_text
from adapters.slack.inbound_text import mentions_us, message_text, plain_text
from adapters.slack.wire import Json
from tests.unit.adapters.slack.payloads import WREN


def text(kind: str, words: str) -> dict[str, Any]:
    return {"type": kind, "text": words}


def rich(*elements: dict[str, Any]) -> dict[str, Any]:
    return {"type": "rich_text", "elements": list(elements)}


def section(*elements: dict[str, Any]) -> dict[str, Any]:
    return {"type": "rich_text_section", "elements": list(elements)}


def cell(words: str) -> dict[str, Any]:
    return {"type": "raw_text", "text": words}


@pytest.mark.parametrize(
    ("block", "said"),
    [
        ({"type": "header", "text": text("plain_text", "Alarm")}, "Alarm"),
        (
            {
                "type": "section",
                "text": text("mrkdwn", "a &lt; b"),
                "fields": [text("mrkdwn", "c")],
            },
            "a < b\nc",
        ),
        (
            {"type": "context", "elements": [text("mrkdwn", "by"), text("plain_text", "Ada")]},
            "by Ada",
        ),
        ({"type": "markdown", "text": "# List<T> of <@UBO>"}, "# List<T> of @Bo"),
        ({"type": "image", "title": text("plain_text", "Map"), "alt_text": "a map"}, "Map\na map"),
        ({"type": "divider"}, ""),
        ({"type": "actions", "elements": [{"type": "button", "text": text("plain_text", "Go")}]}, ""),
        (
            {"type": "table", "rows": [[cell("Name"), cell("Qty")], [cell("oars"), cell("2")]]},
            "Name | Qty\noars | 2",
        ),
        (
            {"type": "of_tomorrow", "title": "Catch", "cards": [{"body": text("mrkdwn", "cod")}]},
            "Catch\ncod",
        ),
        (
            rich(section(text("text", "x"), {"type": "text", "text": "<@U9>", "style": {"code": True}})),
            "x`<@U9>`",
        ),
        (
            rich(
                {
                    "type": "rich_text_list",
                    "style": "ordered",
                    "offset": 2,
                    "indent": 1,
                    "elements": [section(text("text", "one")), section(text("text", "two"))],
                }
            ),
            "3. one\n  4. two",
        ),
        (
            rich({"type": "rich_text_preformatted", "elements": [text("text", "if a < b:")]}),
            "```\nif a < b:\n```",
        ),
        (rich({"type": "rich_text_quote", "elements": [text("text", "so\nbe it")]}), "> so\n> be it"),
        (
            rich(
                section(
                    {"type": "usergroup", "usergroup_id": "S1"},
                    {"type": "broadcast", "range": "here"},
                    {"type": "channel", "channel_id": "C1"},
                    {"type": "date", "timestamp": 7, "fallback": "today"},
                    {"type": "color", "value": "#ff0000"},
                    {"type": "link", "url": "https://x.example", "text": "docs"},
                )
            ),
            "@subteam@here#C1today#ff0000docs (https://x.example)",
        ),
    ],
)  # fmt: skip
def test_every_block_says_what_people_read(block: dict[str, Any], said: str) -> None:
    assert plain_text(blocks_text([block]), {"UBO": "Bo"}) == said


def test_a_mention_in_blocks_alone_is_one_and_is_not_said_again() -> None:
    message = {"text": "", "blocks": [rich(section({"type": "user", "user_id": "UWREN"},
               text("text", " hi & bye")))]}  # fmt: skip
    assert mentions_us(message, WREN)
    assert message_text(message, WREN, {}) == "hi & bye"


def test_a_mention_in_code_is_none() -> None:
    """facts/slack.md 7.21"""
    message = {"text": "call `<@UWREN>` or ```\n<@UBO>\n``` and <@UEVE>"}
    assert not mentions_us(message, WREN)
    said = message_text(message, WREN, {"UBO": "Bo", "UEVE": "Eve"})
    assert said == "call `<@UWREN>` or ```\n<@UBO>\n``` and @Eve"


def test_blocks_of_any_size_are_bounded() -> None:
    blocks: list[Json] = [{"type": "section", "text": text("mrkdwn", "x" * 3000)}] * 50
    assert len(blocks_text(blocks)) == BLOCKS_CHARACTERS_MAX
    nested: dict[str, Any] = {"type": "container"}
    for _ in range(500):
        nested = {"type": "container", "title": "t", "blocks": [nested]}
    assert len(blocks_text([nested])) < 50


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "text", "elements", "blocks", "rows", "style", "indent", "offset"]),
            inner | st.sampled_from(["rich_text", "rich_text_list", "table", "context", "user"]),
            max_size=4,
        )
    ),
    max_leaves=12,
)  # fmt: skip


@given(json_values, json_values)
def test_nothing_in_blocks_or_attachments_raises(blocks: Any, attachments: Any) -> None:
    message_text({"blocks": blocks, "attachments": attachments}, WREN, {})
    message_text(
        {"text": "x", "bot_id": "B", "blocks": [blocks], "attachments": [attachments]}, WREN, {}
    )
