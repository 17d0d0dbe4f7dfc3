"""What a stored delivery asks for."""

import json
from typing import Any

import pytest

from adapters.slack.translate import (
    Click,
    Delete,
    Edit,
    Ignore,
    StartOrSend,
    Stop,
    users_named,
)
from engine.chat.content import FilePart
from tests.unit.adapters.slack.payloads import (
    REPLY_TS,
    TS,
    asked,
    changed,
    deleted,
    event,
    pressed,
    said,
)


def text_of(body: dict[str, Any], **names: str) -> str:
    intent = asked(body, names=names)
    assert isinstance(intent, StartOrSend | Edit), intent
    return intent.text


def test_a_mention_may_start_a_chat_in_its_own_thread() -> None:
    assert asked(said()) == StartOrSend(
        channel="C1",
        thread=TS,
        user_id="UADA",
        message_ts=TS,
        source_key=f"T1:C1:{TS}",
        text="hi",
        starts=True,
        is_mention=True,
    )


def test_a_reply_goes_on_without_a_mention_and_starts_nothing() -> None:
    intent = asked(said("go on", ts=REPLY_TS, thread_ts=TS))
    assert isinstance(intent, StartOrSend)
    assert (intent.thread, intent.starts) == (TS, False)


def test_a_direct_message_starts_a_chat() -> None:
    intent = asked(said("hi", channel="D1", channel_type="im"))
    assert isinstance(intent, StartOrSend)
    assert intent.starts


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("<@UWREN> if (a &lt; b &amp;&amp; c &gt; d)", "if (a < b && c > d)"),
        ("<@UWREN> &amp;lt;br&amp;gt;", "&lt;br&gt;"),
        ("<@UWREN>, hi", "hi"),
        ("<@UWREN|wren> hi", "hi"),
        ("hi <@UWREN>", "hi"),
        ("ask <@UWREN> or <@UBO>", "ask @UWREN or @Bo"),
        ("<@UWREN> tell <@UBO|b> and <@UEVE|eve>", "tell @Bo and @eve"),
        (
            "<@UWREN> see <#C2|lighthouse> <!here> <!subteam^S1|@crew>",
            "see #lighthouse @here @crew",
        ),
        ("<@UWREN> <https://x.example/?a=1&amp;b=2|docs>", "docs (https://x.example/?a=1&b=2)"),
        ("<@UWREN> <https://x.example>", "https://x.example"),
        ("<@UWREN> <mailto:ada@x.example|ada@x.example>", "ada@x.example"),
        ("<@UWREN> <!date^1700000000^{date}|Nov 14>", "Nov 14"),
        ("<@UWREN>", "(They mentioned you without saying anything.)"),
    ],
)
def test_text_is_read_as_a_person_sees_it(written: str, read: str) -> None:
    assert text_of(said(written), UBO="Bo") == read


def test_text_that_is_only_in_blocks_or_attachments_is_read() -> None:
    rich = {
        "type": "rich_text",
        "elements": [
            {"type": "rich_text_section", "elements": [
                {"type": "text", "text": "a < b, "}, {"type": "user", "user_id": "UBO"},
                {"type": "link", "url": "https://x.example"}, {"type": "emoji", "name": "wave"},
            ]},
            {"type": "rich_text_list", "elements": [
                {"type": "rich_text_section", "elements": [{"type": "text", "text": "one"}]},
            ]},
        ],
    }  # fmt: skip
    section = {"type": "section", "text": {"type": "mrkdwn", "text": "x &amp; y"}}
    alarm = {"pretext": "Alarm", "title": "Disk", "text": "full", "fallback": "never"}
    body = said("", thread_ts=TS, blocks=[rich, section], attachments=[alarm])
    expected = "a < b, @Bohttps://x.example:wave:\n- one\nx & y\nAlarm\nDisk\nfull"
    assert text_of(body, UBO="Bo").replace("\n\n", "\n") == expected


def test_files_are_named_even_without_a_text_and_from_the_twin() -> None:
    photo = {"id": "F1", "name": "boat.png", "mimetype": "image/png", "size": 12}
    notes = {"id": "F2", "title": "notes", "size": "?"}
    alone = asked(said("", subtype="file_share", thread_ts=TS, files=[photo]))
    assert isinstance(alone, StartOrSend)
    assert alone.text == ""
    assert [file.part for file in alone.files] == [
        FilePart(name="boat.png", media_type="image/png", size=12)
    ]
    twin = said(subtype="file_share", files=[photo, notes])
    merged = asked(said(kind="app_mention", files=[photo]), twin=twin)
    assert isinstance(merged, StartOrSend)
    assert merged.text == "hi"
    assert [file.part for file in merged.files] == [
        FilePart(name="boat.png", media_type="image/png", size=12),
        FilePart(name="notes", media_type="application/octet-stream", size=None),
    ]


@pytest.mark.parametrize("text", ["stop", "Stop!", "<@UWREN> stop", "!stop", " STOP. "])
def test_a_message_that_is_only_a_stop_word_stops(text: str) -> None:
    """D13"""
    assert asked(said(text, ts=REPLY_TS, thread_ts=TS)) == Stop(
        channel="C1", thread=TS, message_ts=REPLY_TS, user_id="UADA"
    )


@pytest.mark.parametrize("text", ["stop it", "don't stop", "nonstop", "stopping"])
def test_a_stop_word_among_others_is_a_message(text: str) -> None:
    assert isinstance(asked(said(text, ts=REPLY_TS, thread_ts=TS)), StartOrSend)


def test_the_stop_reaction_names_only_a_message() -> None:
    """D13"""
    item = {"type": "message", "channel": "C1", "ts": REPLY_TS}
    body = event("reaction_added", user="UADA", reaction="octagonal_sign", item=item)
    assert asked(body) == Stop(channel="C1", thread=None, message_ts=REPLY_TS, user_id="UADA")


def test_the_stop_buttons_name_the_thread() -> None:
    """D13"""
    ours = pressed({"type": "button", "action_id": "tw:stop", "value": "stop"})
    slacks = event("agent_session_stopped", channel="C1", thread_ts=TS, user="UBO")
    for body in (ours, slacks):
        intent = asked(body)
        assert isinstance(intent, Stop)
        assert (intent.channel, intent.thread, intent.user_id) == ("C1", TS, "UBO")


def test_an_edit_names_the_message_and_may_start_a_chat_that_it_now_asks_for() -> None:
    """D11"""
    known = asked(changed("<@UWREN> hello", "<@UWREN> hi"))
    added = asked(changed("<@UWREN> lunch?", "lunch?"))
    removed = asked(changed("lunch?", "<@UWREN> lunch?"))
    for intent in (known, added, removed):
        assert isinstance(intent, Edit)
        assert intent.source_key == f"T1:C1:{TS}"
    assert [i.starts for i in (known, added, removed) if isinstance(i, Edit)] == [True, True, False]


def test_a_deletion_names_the_message() -> None:
    """D11"""
    assert asked(deleted()) == Delete(channel="C1", thread=TS, source_key=f"T1:C1:{REPLY_TS}")


def test_buttons_and_menus_name_the_action_and_the_option() -> None:
    """D8"""
    button = pressed({"type": "button", "action_id": "tw:answer:7:1", "value": "7:1"})
    menu = pressed({
        "type": "static_select", "action_id": "tw:choose:7", "selected_option": {"value": "7:1"},
    })  # fmt: skip
    for body in (button, menu):
        assert asked(body) == Click(action_id=7, user_id="UBO", channel="C1", thread=TS, option=1)


def test_a_form_brings_its_payload_and_where_it_was_asked() -> None:
    """D8"""
    origin = {"action": 7, "channel": "C1", "thread": TS, "message": REPLY_TS}
    body = {
        "type": "view_submission",
        "user": {"id": "UBO"},
        "view": {"callback_id": "tw:form", "private_metadata": json.dumps(origin), "id": "V1"},
    }
    intent = asked(body)
    assert isinstance(intent, Click)
    assert (intent.action_id, intent.thread, intent.form) == (7, TS, body)


def test_a_message_edited_to_nothing_is_left_as_it_was() -> None:
    assert isinstance(asked(changed(" ", "<@UWREN> hi")), Ignore)


def test_names_are_wanted_of_authors_and_of_the_mentioned() -> None:
    assert users_named(said("<@UWREN> ask <@UBO>")) == {"UADA", "UWREN", "UBO"}
    assert users_named(changed("<@UEVE>", "x")) == {"UADA", "UEVE"}
