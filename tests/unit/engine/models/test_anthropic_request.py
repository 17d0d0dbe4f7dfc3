"""What a history looks like on Anthropic's wire, case by case."""

from typing import Any

import pytest

from engine.chat.content import Author, Finish, NewMessage, ProviderPart, ReasoningPart, Role, plain
from engine.models.anthropic_format import AnthropicFormat
from engine.models.model import ToolOffer
from tests.unit.engine.models.anthropic_asked import (
    ADA,
    BUDGET,
    FOUND,
    SEARCH,
    THOUGHT,
    body,
    call,
    own,
    result,
    said,
    short,
    user,
    wire,
)


def test_plain_history_is_sent_as_it_is() -> None:
    assert body(user("Hi"), said("Hello."), user("How is the sea?"), system="Be brief.") == {
        "model": "m",
        "max_tokens": 32_000,
        "stream": True,
        "system": [
            {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}},
        ],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "Hello.", "cache_control": {"type": "ephemeral"}}
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "text",
                        "text": "How is the sea?",
                        "cache_control": {"type": "ephemeral"},
                    }
                ],
            },
        ],
    }


def test_people_who_speak_one_after_the_other_share_a_message() -> None:
    bo = Author(identity="slack:T1:U2", name="Bo")
    assert wire(user("Hi", ADA), user("Hello", bo)) == [("user", ["Ada: Hi", "Bo: Hello"])]


def test_results_come_first_behind_their_calls_all_of_them() -> None:
    history = (
        user("Look"), said("Looking.", call("a"), call("b")), user("And?"), result("b"),
    )  # fmt: skip
    assert wire(*history) == [
        ("user", ["Look"]),
        ("assistant", ["Looking.", ("tool_use", "a"), ("tool_use", "b")]),
        ("user", [("tool_result", "a"), ("tool_result", "b"), "And?"]),
    ]
    blocks = body(*history)["messages"][2]["content"]
    assert [block.get("is_error") for block in blocks] == [True, None, None]


def test_arguments_are_an_object_whatever_was_stored() -> None:
    blocks = body(user("Look"), said(call("a", '{"at":"sea"}'), call("b", "[")))["messages"][1]
    assert [block["input"] for block in blocks["content"]] == [{"at": "sea"}, {}]


def test_ids_and_names_are_made_acceptable() -> None:
    sent = body(user("Look"), said(call("call 1:ä", name="f.look at")), result("call 1:ä"))
    (use,) = sent["messages"][1]["content"]
    assert (use["id"], use["name"]) == ("call_1__", "f_look_at")
    assert sent["messages"][2]["content"][0]["tool_use_id"] == "call_1__"


def test_history_with_calls_and_no_tools_names_them_and_allows_none() -> None:
    """A title is asked for without tools; some servers refuse calls that no tool explains."""
    sent = body(user("Look"), said(call("a")), result("a"))
    assert [tool["name"] for tool in sent["tools"]] == ["look"]
    assert sent["tool_choice"] == {"type": "none"}


@pytest.mark.parametrize("history", [(), (said("Half"),), (user("Hi"), said("Half"))])
def test_model_is_never_asked_to_follow_itself(history: tuple[NewMessage, ...]) -> None:
    sent = wire(*history)
    assert sent[-1] == ("user", ["Continue."])
    assert sent[0][0] == "user"


def test_chat_that_the_model_began_is_begun_by_a_person() -> None:
    assert wire(said("Good morning."), user("Hi"))[:2] == [
        ("user", ["(The chat begins with your own words.)"]),
        ("assistant", ["Good morning."]),
    ]


# -- thinking and the provider's own -------------------------------------------------------------


def test_signed_thinking_goes_back_to_its_provider_alone() -> None:
    for part, kinds in (
        (THOUGHT, ["thinking", "Hello."]),
        (ReasoningPart(text="Hm.", provider="other", signature="s"), ["Hello."]),
        (ReasoningPart(text="Hm.", provider="harbour"), ["Hello."]),
    ):
        assert wire(user("Hi"), said(part, "Hello."), user("You?"))[1] == ("assistant", kinds)
    sent = body(user("Hi"), said(THOUGHT, "Hello."), user("You?"))
    thinking = sent["messages"][1]["content"][0]
    assert thinking == {"type": "thinking", "thinking": "Hm.", "signature": "s"}


def test_thinking_that_was_cut_off_before_any_word_is_left_out() -> None:
    assert wire(user("Hi"), said(THOUGHT), user("Hello?")) == [("user", ["Hi", "Hello?"])]


def test_search_goes_back_where_it_stood_and_unchanged() -> None:
    sent = body(user("Hi"), said("One.", own(SEARCH), own(FOUND), "Two."), user("You?"))
    assert sent["messages"][1]["content"][1:3] == [SEARCH, FOUND]


@pytest.mark.parametrize(
    "parts",
    [
        (own(SEARCH),),
        (own(FOUND),),
        (own(FOUND), own(SEARCH)),
        (own(SEARCH, provider="other"), own(FOUND, provider="other")),
        (own(SEARCH), own(FOUND, wire="responses")),
        (own({"type": "server_tool_use"}), own(None), own({"type": "new"})),
        (own({"type": "compaction", "content": "x"}),),
        (own({"type": "redacted_thinking"}),),
        (own(SEARCH), own({"type": "web_search_tool_result", "tool_use_id": "srv1"})),
    ],
)
def test_half_a_pair_and_what_others_ran_is_left_out(parts: tuple[ProviderPart, ...]) -> None:
    assert wire(user("Hi"), said("One.", *parts, "Two."), user("You?"))[1] == (
        "assistant",
        ["One.", "Two."],
    )


@pytest.mark.parametrize("kinds", [[SEARCH, SEARCH, FOUND], [SEARCH, FOUND, FOUND]])
def test_second_half_of_the_same_pair_is_left_out(kinds: list[dict[str, Any]]) -> None:
    history = (user("Hi"), said(*map(own, kinds), "Two."), user("You?"))
    assert wire(*history)[1] == (
        "assistant",
        ["server_tool_use", "web_search_tool_result", "Two."],
    )


def test_thinking_and_searches_are_never_marked() -> None:
    sent = body(user("Hi"), said(THOUGHT, own(SEARCH), own(FOUND)), user("You?"))
    assert sent["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "Hm.", "signature": "s"}, SEARCH, FOUND,
    ]  # fmt: skip


def test_paused_turn_is_sent_back_unchanged_and_last() -> None:
    paused = said(THOUGHT, "Searching… ", own(SEARCH), finish=Finish.CONTINUE)
    sent = body(user("Hi"), paused, options=BUDGET)
    assert [message["role"] for message in sent["messages"]] == ["user", "assistant"]
    blocks = sent["messages"][1]["content"]
    assert [block["type"] for block in blocks] == ["thinking", "text", "server_tool_use"]
    assert (blocks[1]["text"], blocks[2]) == ("Searching… ", SEARCH)


def test_pause_in_mid_text_is_gone_on_from_without_its_last_space() -> None:
    paused = said(own(SEARCH), own(FOUND), "So far: \n", finish=Finish.CONTINUE)
    assert wire(user("Hi"), paused)[-1] == (
        "assistant",
        ["server_tool_use", "web_search_tool_result", "So far:"],
    )


def test_answer_after_a_pause_joins_what_was_said_before() -> None:
    paused = said("Searching…", own(SEARCH), finish=Finish.CONTINUE)
    assert wire(user("Hi"), paused, said(own(FOUND), "Done."), user("Thanks")) == [
        ("user", ["Hi"]),
        ("assistant", ["Searching…", "server_tool_use", "web_search_tool_result", "Done."]),
        ("user", ["Thanks"]),
    ]


def test_pause_of_another_provider_goes_on_as_a_new_turn() -> None:
    paused = said("Searching… ", own(SEARCH, provider="other"), finish=Finish.CONTINUE)
    assert wire(user("Hi"), paused)[1:] == [("assistant", ["Searching… "]), ("user", ["Continue."])]


def test_pause_that_someone_spoke_into_is_over() -> None:
    paused = said("Searching…", own(SEARCH), finish=Finish.CONTINUE)
    assert wire(user("Hi"), paused, user("Stop"))[1] == ("assistant", ["Searching…"])


def test_turn_that_began_without_thinking_goes_on_without() -> None:
    history = (user("Look"), said("Looking.", call("a")), result("a"))
    assert "thinking" not in body(*history, options=BUDGET)
    assert body(*history, user("And?"), said("Calm."), user("Ok"), options=BUDGET)["thinking"]
    adaptive = {"thinking": {"type": "adaptive"}}
    assert body(*history, options=adaptive)["thinking"] == {"type": "adaptive"}
    thought = (user("Look"), said(THOUGHT, call("a")), result("a"), said(call("b")), result("b"))
    assert body(*thought, options=BUDGET)["thinking"] == BUDGET["thinking"]


# -- limits, options, marks ----------------------------------------------------------------------


def test_limit_leaves_room_for_thinking() -> None:
    assert body(user("Hi"))["max_tokens"] == 32_000
    assert body(user("Hi"), max_output_tokens=7)["max_tokens"] == 7
    assert body(user("Hi"), max_output_tokens=7, options={"max_tokens": 9})["max_tokens"] == 7
    assert body(user("Hi"), max_output_tokens=7, options=BUDGET)["max_tokens"] == 2007
    assert body(user("Hi"), max_output_tokens=5000, options=BUDGET)["max_tokens"] == 5000


def test_temperature_and_thinking_exclude_each_other() -> None:
    assert body(user("Hi"), temperature=0.5)["temperature"] == 0.5
    assert body(user("Hi"), temperature=1.5)["temperature"] == 1.0
    assert "temperature" not in body(user("Hi"), temperature=0.5, options=BUDGET)
    off = {"thinking": {"type": "disabled"}}
    sent = body(user("Hi"), temperature=0.5, options=off)
    assert (sent["temperature"], sent["thinking"]) == (0.5, {"type": "disabled"})


def test_options_add_fields_and_replace_none() -> None:
    look = ToolOffer(name="look")
    search = {"type": "web_search_20250305", "name": "web_search", "max_uses": 3}
    sent = body(
        user("Hi"),
        system="Be brief.",
        tools=(look,),
        options={
            "model": "other", "messages": [], "system": "x", "stream": False,
            "tools": [search, {"name": "look", "input_schema": {"type": "object"}}],
            "output_config": {"effort": "low"},
            "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
        },
    )  # fmt: skip
    assert (sent["model"], sent["stream"]) == ("m", True)
    assert [tool["name"] for tool in sent["tools"]] == ["look", "web_search"]
    assert sent["tools"][1] == search
    assert sent["output_config"] == {"effort": "low"}
    assert sent["tool_choice"]["disable_parallel_tool_use"]


def test_marks_are_on_the_last_system_block_and_the_last_two_messages() -> None:
    row = NewMessage(role=Role.SYSTEM, content=plain("No workspace."))
    history = (row, user("Look"), said("Looking.", call("a")), result("a"), user("And?"))
    sent = body(*history, system="Be brief.")
    assert [block["text"] for block in sent["system"]] == ["Be brief.", "No workspace."]
    marked = [
        short(block)
        for message in [{"content": sent["system"]}, *sent["messages"]]
        for block in message["content"]
        if "cache_control" in block
    ]
    assert marked == ["No workspace.", ("tool_use", "a"), "And?"]


def test_longer_history_begins_with_the_same_messages() -> None:
    """So that a provider's prompt cache is of use."""
    history = [user("Look", ADA), said(call("0")), result("0"), said("Calm."), user("Again")]
    shorter = wire(*history)
    assert wire(*history, said(call("0")), result("0"))[: len(shorter)] == shorter


# -- the format ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base_url", "address"),
    [
        ("https://api.anthropic.com", "https://api.anthropic.com/v1/messages"),
        ("https://api.anthropic.com/", "https://api.anthropic.com/v1/messages"),
        ("https://harbour.test/v1", "https://harbour.test/v1/messages"),
        ("https://harbour.test/v1/", "https://harbour.test/v1/messages"),
        ("https://harbour.test/anthropic", "https://harbour.test/anthropic/v1/messages"),
    ],
)
def test_version_is_in_the_address_once(base_url: str, address: str) -> None:
    path = AnthropicFormat(provider="harbour", base_url=base_url).path
    assert base_url.rstrip("/") + path == address


def test_key_and_version_are_headers() -> None:
    wire_format = AnthropicFormat(provider="harbour")
    assert wire_format.headers("k") == {"x-api-key": "k", "anthropic-version": "2023-06-01"}
    assert wire_format.headers("") == {"anthropic-version": "2023-06-01"}
