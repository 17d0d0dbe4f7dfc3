"""Which blocks of Anthropic's own go back, and where a turn that it paused goes on."""

from typing import Any

import pytest

from engine.chat.content import Finish, NewMessage, ReasoningPart, Role, plain
from tests.unit.engine.models.anthropic_asked import (
    FOUND,
    SEARCH,
    THOUGHT,
    body,
    call,
    own,
    result,
    said,
    user,
    wire,
)

SECRET = {"type": "redacted_thinking", "data": "sealed"}
COMPACTION = {"type": "compaction", "content": "All that was said."}
EDITS = {"context_management": {"edits": [{"type": "compact_20260112"}]}}
OTHER = SEARCH | {"id": "srv2"}
PAUSED = Finish.CONTINUE


def kept(*blocks: Any, **fields: Any) -> list[Any]:
    """What goes back of these blocks, which stand before some words."""
    return list(wire(user("Hi"), said(*blocks, "One."), user("You?"), **fields)[1][1])


def test_hidden_thinking_and_summaries_go_back_whole() -> None:
    assert kept(own(SECRET)) == ["redacted_thinking", "One."]
    assert kept(own(SECRET | {"data": 7})) == ["One."]
    assert kept(own(COMPACTION), options=EDITS) == ["compaction", "One."]
    assert kept(own({"type": "compaction"}), options=EDITS) == ["One."]
    assert kept(own(COMPACTION), options={"context_management": None}) == ["One."]


def test_a_search_without_its_finding_is_left_out_wherever_it_stands() -> None:
    assert kept(own(SEARCH)) == ["One."]
    assert kept(own(FOUND), own(SEARCH)) == ["One."]
    assert kept(own(OTHER), own(SEARCH), own(FOUND)) == [
        "server_tool_use", "web_search_tool_result", "One.",
    ]  # fmt: skip


def test_only_the_thinking_at_the_end_is_left_out() -> None:
    other = ReasoningPart(text="Ah.", provider="harbour", signature="s2")
    history = (user("Hi"), said("One.", THOUGHT, "Two.", THOUGHT, other), user("You?"))
    assert wire(*history)[1] == ("assistant", ["One.", "thinking", "Two."])
    assert wire(user("Hi"), said("One.", THOUGHT), user("You?"))[1] == ("assistant", ["One."])


@pytest.mark.parametrize("finish", [None, Finish.STOP])
def test_a_turn_that_did_not_pause_waits_for_nothing(finish: Finish | None) -> None:
    assert wire(user("Hi"), said("One.", own(SEARCH), finish=finish))[1:] == [
        ("assistant", ["One."]),
        ("user", ["Continue."]),
    ]


def test_a_paused_turn_waits_for_its_own_searches_only() -> None:
    alone = (user("Hi"), said(own(SEARCH), finish=PAUSED))
    assert wire(*alone)[1:] == [("assistant", ["server_tool_use"])]
    after = (user("Hi"), said("One.", own(OTHER)), said("Two.", own(SEARCH), finish=PAUSED))
    assert wire(*after)[1:] == [("assistant", ["One.", "Two.", "server_tool_use"])]
    earlier = (user("Hi"), said("One.", own(SEARCH)), user("And?"))
    assert wire(*earlier, said("Two.", own(SEARCH), finish=PAUSED))[1:] == [
        ("assistant", ["One."]),
        ("user", ["And?"]),
        ("assistant", ["Two.", "server_tool_use"]),
    ]


def test_a_pause_in_words_alone_is_gone_on_from_by_a_person() -> None:
    found = said(own(SEARCH), own(FOUND))
    assert wire(user("Hi"), found, said("Two. ", finish=PAUSED))[1:] == [
        ("assistant", ["server_tool_use", "web_search_tool_result", "Two. "]),
        ("user", ["Continue."]),
    ]


def test_a_pause_with_calls_goes_on_with_their_results() -> None:
    paused = said(own(OTHER), call("a"), finish=PAUSED)
    assert wire(user("Hi"), paused, result("a"))[1:] == [
        ("assistant", [("tool_use", "a")]),
        ("user", [("tool_result", "a")]),
    ]


def test_rows_of_the_system_follow_the_systems_words() -> None:
    rows = [NewMessage(role=Role.SYSTEM, content=plain(text)) for text in ("One.", "Two.")]
    sent = body(*rows, user("Hi"), system="Be brief.")
    assert [block["text"] for block in sent["system"]] == ["Be brief.", "One.\n\nTwo."]
