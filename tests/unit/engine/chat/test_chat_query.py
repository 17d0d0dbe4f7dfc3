"""The filter of a list of chats: what is understood, and what is said of everything else."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.chat.chat_query import (
    KEYS,
    QUERY_MAX,
    ChatFilter,
    QueryInvalid,
    parse_chat_query,
    search_of,
)
from engine.chat.view import ShownStatus


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", {}),
        ("  \t\n", {}),
        ("title:boat", {"title": "boat"}),
        ('title:"the red boat"', {"title": "the red boat"}),
        (r'title:"say \"aye\" \\"', {"title": 'say "aye" \\'}),
        ("archived:true", {"archived": True}),
        ("archived:any", {"archived": None}),
        ("has_unread:false", {"has_unread": False}),
        ("status:error", {"statuses": (ShownStatus.ERROR,)}),
        (
            "status:error status:pending",
            {"statuses": (ShownStatus.ERROR, ShownStatus.PENDING)},
        ),
        ("label:env:prod label:team:a/b", {"labels": {"env": "prod", "team": "a/b"}}),
        ('label:team:"red boat"', {"labels": {"team": "red boat"}}),
        ('label:"team:red boat"', {"labels": {"team": "red boat"}}),
        ("label:a:b:c", {"labels": {"a": "b:c"}}),
        ("label:a:1 label:a:1", {"labels": {"a": "1"}}),
        ("bot:wren", {"bot": "wren"}),
        ("channel:slack:T1:C1", {"channel": "slack:T1:C1"}),
        ("search:boat search:tide", {"search": "boat tide"}),
        ('search:"lost at sea" search:Tür', {"search": '"lost at sea" Tür'}),
        (r'search:"he said \"aye\""', {"search": '"he said  aye "'}),
        ("title:a\x00b", {"title": "a\x00b"}),
        ("title:\U0001f6a4", {"title": "\U0001f6a4"}),
    ],
)
def test_filter_is_understood(text: str, wanted: dict[str, Any]) -> None:
    assert parse_chat_query(text) == ChatFilter(**wanted)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("boat", "search:boat"),
        ('"red boat"', 'search:"red boat"'),
        ("boat", "title:, archived:, has_unread:"),
        ("colour:red", "colour: is not known; known are title:"),
        ("TITLE:x", "TITLE: is not known"),
        (":x", ": is not known"),
        ("title:", "title: has no value"),
        ('title:""', "title: has no value"),
        ('title:"open', "does not enclose a whole value"),
        ('title:"a"b', "does not enclose a whole value"),
        ('title:a"b"', "does not enclose a whole value"),
        ('title:a:"b"', "does not enclose a whole value"),
        ("title:a title:b", "title: is given more than once"),
        ("archived:yes", "true, false or any"),
        ("has_unread:any", "true or false"),
        ("status:busy", "must be one of pending, waiting, running"),
        ("label:env", "must be label:key:value"),
        ("label:env:", "must be label:key:value"),
        ("label:é:x", "must be label:key:value"),
        ("label:a:1 label:a:2", "two values of a"),
        ("search:\U0001f6a4", "no letter and no digit"),
        ("title:\ud800", "lone surrogate"),
        ("bot:x bot:x", "bot: is given more than once"),
        ("label:a:1 " * 51, "more than 50 terms"),
        ("x" * (QUERY_MAX + 1), "longer than 1000 characters"),
    ],
)
def test_what_is_not_understood_is_told_with_what_is_known(text: str, says: str) -> None:
    with pytest.raises(QueryInvalid) as raised:
        parse_chat_query(text)
    assert says in raised.value.detail


@given(st.text(max_size=QUERY_MAX + 10) | st.lists(st.sampled_from([*KEYS, ":", '"', "\\", " ", "a", "\x00"]), max_size=60).map("".join))  # fmt: skip
def test_any_text_gives_a_filter_or_a_sentence(text: str) -> None:
    told = ""
    try:
        found: ChatFilter | None = parse_chat_query(text)
    except QueryInvalid as error:
        found, told = None, error.detail
    assert (found is None) == bool(told)
    assert told.isprintable()


@pytest.mark.parametrize(
    ("typed", "search"),
    [
        ("red boat", '"red" "boat"'),
        ('say "red boat" twice', '"say" "red boat" "twice"'),
        ("red \u2014 boat!", '"red" "boat!"'),
        ('half "open', '"half" "open"'),
        ("back\\slash", '"back\\slash"'),
        ("title:x", '"title:x"'),
    ],
)
def test_words_are_searched_for_whatever_signs_they_hold(typed: str, search: str) -> None:
    assert parse_chat_query(search_of(typed)).search == search


def test_archive_is_searched_where_that_is_looked_at() -> None:
    assert parse_chat_query("bot:wren", archived=True).archived is True
    assert parse_chat_query("archived:false", archived=True).archived is False
