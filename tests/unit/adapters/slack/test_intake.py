"""Which deliveries are kept and under which keys."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.slack.intake import Dropped, EventKind, Kept, intake
from adapters.slack.translate import translate
from tests.unit.adapters.slack.payloads import (
    REPLY_TS,
    STOP_WORDS,
    TS,
    WREN,
    changed,
    deleted,
    event,
    kind_of,
    pressed,
    said,
    take_in,
)


def kept(body: dict[str, Any]) -> Kept:
    found = take_in(body)
    assert isinstance(found, Kept), found
    return found


def test_a_mention_and_its_message_event_share_a_key_whatever_their_event_ids() -> None:
    """D2"""
    message = kept(said(event_id="Ev1"))
    mention = kept(said(kind="app_mention", event_id="Ev2"))
    assert message.message_key == mention.message_key == f"T1:C1:{TS}"
    assert message.event_key != mention.event_key
    assert message.thread_key == mention.thread_key == f"C1:{TS}"


def test_a_reply_is_handled_in_order_with_its_thread() -> None:
    """D12"""
    reply = kept(said("go on", ts=REPLY_TS, thread_ts=TS))
    assert reply.thread_key == f"C1:{TS}"


@pytest.mark.parametrize(
    "fields",
    [
        {"user": "UWREN"},
        {"bot_id": "BWREN"},
        {"bot_id": "BOTHER", "user": "UOTHER"},
        {"bot_profile": {"app_id": "AOTHER"}},
        {"subtype": "bot_message", "bot_id": "BOTHER", "user": None},
        {"subtype": "channel_join"},
        {"subtype": "channel_topic"},
        {"subtype": "assistant_app_thread"},
        {"subtype": "tombstone"},
        {"user": ""},
        {"user": "USLACKBOT"},
    ],
)
def test_what_no_person_said_is_not_kept(fields: dict[str, Any]) -> None:
    """D10"""
    assert isinstance(take_in(said(thread_ts=TS, **fields)), Dropped)


@pytest.mark.parametrize(
    "body",
    [
        event("member_joined_channel", user="UADA", channel="C1"),
        event("channel_rename", user="UADA", channel="D1"),
        event("tokens_revoked", tokens={"bot": ["UWREN"]}),
        event("reaction_added", user="UADA", reaction="+1", item={"channel": "C1", "ts": TS}),
        event("reaction_removed", user="UADA", reaction="octagonal_sign", item={"channel": "C1"}),
        {"type": "shortcut"},
        {"type": "view_closed"},
        {},
    ],
)
def test_what_asks_for_nothing_is_not_kept(body: dict[str, Any]) -> None:
    """D10"""
    assert isinstance(take_in(body), Dropped)


def test_what_people_say_to_each_other_is_not_kept() -> None:
    assert isinstance(take_in(said("lunch?")), Dropped)
    assert isinstance(take_in(said("lunch, <@UBO>?")), Dropped)


@pytest.mark.parametrize("subtype", ["file_share", "thread_broadcast"])
def test_files_and_broadcasts_are_messages(subtype: str) -> None:
    assert kind_of(said("look", subtype=subtype, thread_ts=TS)) is EventKind.MESSAGE


def test_a_direct_message_needs_no_mention() -> None:
    assert kind_of(said("hi", channel="D1", channel_type="im")) is EventKind.MESSAGE


def test_an_edit_has_a_key_of_its_own_and_shares_it_with_its_mention() -> None:
    """D2"""
    edit = kept(changed("<@UWREN> hello", "<@UWREN> hi"))
    mention = kept(said("<@UWREN> hello", kind="app_mention", edited={"ts": "1700000005.000000"}))
    assert edit.kind is mention.kind is EventKind.EDIT
    assert edit.message_key == mention.message_key == f"T1:C1:{TS}:edit:1700000005.000000"


@pytest.mark.parametrize(
    "body",
    [
        changed("<@UWREN> hi", "<@UWREN> hi"),
        changed("<@UWREN> hi", "<@UWREN> h", edited=""),
        changed("<@UWREN> hi", "<@UWREN> h", user="UWREN"),
        changed("<@UWREN> hi", "<@UWREN> h", bot_id="BWREN"),
        changed("This message was deleted.", "hi", subtype="tombstone"),
        changed("lunch!", "lunch?"),
    ],
)
def test_edits_by_the_platform_and_by_bots_are_not_kept(body: dict[str, Any]) -> None:
    """D10"""
    assert isinstance(take_in(body), Dropped)


def test_a_tombstone_is_the_deletion_of_a_parent() -> None:
    """D11"""
    grave: dict[str, Any] = {"user": "USLACKBOT", "subtype": "tombstone", "edited": {}}
    body = changed("This message was deleted.", "<@UWREN> hi", **grave)
    found = kept(body)
    assert found.kind is EventKind.DELETION
    assert found.message_key == f"T1:C1:{TS}:deleted"
    body["event"]["previous_message"] = {**body["event"]["message"]}
    assert isinstance(take_in(body), Dropped)


@pytest.mark.parametrize(
    ("fields", "is_kept"),
    [
        ({"bot_id": "BGULL", "user": "UGULL"}, True),
        ({"bot_id": "BGULL", "user": None, "subtype": "bot_message"}, True),
        ({"bot_id": "BGULL", "user": "UGULL", "text": "I think so too", "thread_ts": TS}, False),
        ({"bot_id": "BWREN", "user": "UGULL"}, False),
        ({"bot_id": "BGULL", "user": "UWREN"}, False),
        ({"bot_id": "BGULL", "user": "UGULL", "subtype": "channel_topic"}, False),
        ({"bot_id": "", "user": "UADA", "subtype": "bot_message"}, False),
    ],
)
def test_other_apps_count_where_they_mention_us_and_that_is_wanted(
    fields: dict[str, Any], *, is_kept: bool
) -> None:
    """D10, B03"""
    body = said(**fields)
    found = intake(body, WREN, stop_reaction="octagonal_sign", answer_bots=True)
    assert isinstance(found, Kept) is is_kept
    assert isinstance(take_in(body), Dropped)


@pytest.mark.parametrize("channel_type", ["mpim", "group", "channel", None])
def test_groups_are_heard_on_a_mention_alone(channel_type: str | None) -> None:
    """D10"""
    where: dict[str, Any] = {"channel": "G1", "channel_type": channel_type}
    assert isinstance(take_in(said("lunch?", **where)), Dropped)
    assert kind_of(said(**where)) is EventKind.MESSAGE
    assert kind_of(said(kind="app_mention", **where)) is EventKind.MESSAGE


def test_a_deleted_reply_is_kept() -> None:
    found = kept(deleted())
    assert found.kind is EventKind.DELETION
    assert found.thread_key == f"C1:{TS}"
    assert found.message_key == f"T1:C1:{REPLY_TS}:deleted"


def test_only_the_stop_reaction_of_a_person_is_kept() -> None:
    item = {"type": "message", "channel": "C1", "ts": REPLY_TS}
    body = event("reaction_added", user="UADA", reaction="octagonal_sign", item=item)
    assert kind_of(body) is EventKind.REACTION
    body["event"]["user"] = "UWREN"
    assert kind_of(body) is None


def test_a_click_waits_for_no_message_of_its_thread() -> None:
    """D13"""
    stop = kept(pressed({"type": "button", "action_id": "tw:stop", "value": "stop"}))
    answer = kept(pressed({"type": "button", "action_id": "tw:answer:7:0", "value": "7:0"}))
    assert (stop.kind, answer.kind) == (EventKind.CLICK, EventKind.CLICK)
    assert f"C1:{TS}" not in (stop.thread_key, answer.thread_key)


@pytest.mark.parametrize(
    "action",
    [
        {"type": "button", "action_id": "approve", "value": "7:0"},
        {"type": "button", "action_id": "tw:open:7", "value": "7"},
        {"type": "button", "action_id": "tw:answer:7:0", "value": "7"},
        {"type": "button", "action_id": "tw:answer:7:0", "value": "99999999999999999999:0"},
        {"type": "button"},
        {},
    ],
)
def test_foreign_and_broken_controls_are_not_kept(action: dict[str, Any]) -> None:
    assert kind_of(pressed(action)) is None


def test_what_has_no_id_gets_the_same_key_each_time() -> None:
    first, again = said(event_id=""), said(event_id="")
    assert kept(first).event_key == kept(again).event_key
    assert kept(first).event_key != kept(said("<@UWREN> ho", event_id="")).event_key


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
FIELDS = ("type", "subtype", "channel", "user", "text", "ts", "thread_ts", "message", "files",
          "blocks", "previous_message", "item", "reaction", "edited", "attachments")  # fmt: skip


@given(
    st.sampled_from(["message", "app_mention", "reaction_added", "agent_session_stopped"]),
    st.dictionaries(st.sampled_from(FIELDS), json_values, max_size=6),
    json_values,
)
def test_nothing_that_slack_could_send_raises(
    kind: str, fields: dict[str, Any], other: Any
) -> None:
    body = event(kind, **{name: value for name, value in fields.items() if name != "type"})
    body["twin"] = other
    found = take_in(body)
    if isinstance(found, Kept):
        translate(found.kind, body, identity=WREN, stop_words=STOP_WORDS, twin={"event": other})
    take_in({"type": "block_actions", "actions": other, "user": fields, "container": other})
    take_in({"type": "view_submission", "view": fields, "user": {"id": "U"}})
