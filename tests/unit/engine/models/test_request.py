"""Any history becomes a request that the strictest provider accepts and that loses nothing."""

import json
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.chat.content import (
    Author,
    Content,
    FilePart,
    Finish,
    NewMessage,
    ProviderPart,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    plain,
    text_of,
)
from engine.chat.ids import FileId, ToolCallId
from engine.models.attachments import FileData
from engine.models.model import ModelPrompt, ToolOffer
from engine.models.request import request_body, request_messages
from engine.models.surrogates import without_surrogates
from tests.fakes.model_rules import Refused, check_request
from tests.fakes.model_script import said_in
from tests.unit.engine.models.histories import FILES, histories, texts

ADA = Author(identity="slack:T1:U1", name="Ada")


def user(text: str, author: Author | None = None) -> NewMessage:
    return NewMessage(role=Role.USER, content=plain(text), author=author)


def calls(*ids: str, text: str = "", args: str = "{}") -> NewMessage:
    parts: Content = tuple(
        ToolCallPart(tool_call_id=ToolCallId(i), tool_name="look", args=args) for i in ids
    )
    return NewMessage(role=Role.ASSISTANT, content=(*(plain(text) if text else ()), *parts))


def result(call_id: str, value: Any = "calm", *, is_error: bool = False) -> NewMessage:
    part = ToolResultPart(
        tool_call_id=ToolCallId(call_id), tool_name="look", result=value, is_error=is_error
    )
    return NewMessage(role=Role.TOOL, content=(part,))


def said(text: str) -> NewMessage:
    return NewMessage(role=Role.ASSISTANT, content=plain(text))


def wire(*messages: NewMessage, **fields: Any) -> list[dict[str, Any]]:
    prompt = ModelPrompt(model="m", messages=messages, **fields)
    check_request(json.loads(request_body(prompt)))
    return request_messages(prompt)


def shape(messages: list[dict[str, Any]]) -> list[tuple[str, Any]]:
    """Roles with text, call ids, or the id that a result answers."""
    return [
        (m["role"], [c["id"] for c in m["tool_calls"]])
        if "tool_calls" in m
        else (m["role"], m.get("tool_call_id", m["content"]))
        for m in messages
    ]


def test_plain_history_is_sent_as_it_is() -> None:
    assert wire(user("Hi"), said("Hello."), user("How is the sea?"), system="Be brief.") == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello."},
        {"role": "user", "content": "How is the sea?"},
    ]


def test_system_rows_join_the_prompt_in_one_first_message() -> None:
    row = NewMessage(role=Role.SYSTEM, content=plain("No workspace."))
    messages = wire(user("Hi"), row, user("You?"), system="Be brief.")
    assert shape(messages)[0] == ("system", "Be brief.\n\nNo workspace.")
    assert [m["role"] for m in messages] == ["system", "user", "user"]


def test_call_without_a_result_gets_one_after_the_others() -> None:
    messages = wire(user("Look"), calls("a", "b", "c"), result("c"), user("And?"))
    assert shape(messages) == [
        ("user", "Look"),
        ("assistant", ["a", "b", "c"]),
        ("tool", "c"),
        ("tool", "a"),
        ("tool", "b"),
        ("user", "And?"),
    ]
    assert json.loads(messages[3]["content"]) == {
        "error": "tool call was interrupted and did not receive a result"
    }


def test_late_result_moves_behind_its_call() -> None:
    messages = wire(user("Look"), calls("a"), user("Well?"), result("a"), said("Calm."), user("Ok"))
    assert [m["role"] for m in messages] == [
        "user", "assistant", "tool", "user", "assistant", "user",
    ]  # fmt: skip
    assert messages[2]["content"] == "calm"


def test_result_without_a_call_gets_a_call_and_keeps_its_words() -> None:
    messages = wire(user("Hi"), result("gone", {"wind": 3}), said("Calm."), user("Thanks"))
    assert shape(messages)[1:3] == [("assistant", ["gone"]), ("tool", "gone")]
    assert messages[1]["tool_calls"][0]["function"] == {"name": "look", "arguments": "{}"}
    assert messages[2]["content"] == '{"wind":3}'


def test_second_result_of_a_call_is_dropped() -> None:
    messages = wire(user("Look"), calls("a"), result("a", "first"), result("a", "second"))
    assert [m["content"] for m in messages if m["role"] == "tool"] == ["first"]


def test_ids_are_sanitised_and_unique_in_the_request() -> None:
    long = "x" * 90
    messages = wire(
        user("Look"), calls("call 1:ä", long), result("call 1:ä"), result(long),
        calls("call_1__", long), result("call_1__", "again"), calls("", ""), result(""), result(""),
    )  # fmt: skip
    ids = [c["id"] for m in messages for c in m.get("tool_calls", ())]
    assert ids == ["call_1__", "x" * 40, "call_1___2", "x" * 38 + "_2", "call", "call_2"]
    assert [m["tool_call_id"] for m in messages if m["role"] == "tool"] == ids


@pytest.mark.parametrize("args", ["", "null", "[1]", '{"half":', "nonsense", '"text"'])
def test_malformed_arguments_become_an_empty_object(args: str) -> None:
    messages = wire(user("Look"), calls("a", args=args), result("a"))
    assert messages[1]["tool_calls"][0]["function"]["arguments"] == "{}"


def test_good_arguments_are_sent_exactly_as_they_came() -> None:
    args = '{ "at" : "sea",  "n": 1.0 }'
    messages = wire(user("Look"), calls("a", args=args), result("a"))
    assert messages[1]["tool_calls"][0]["function"]["arguments"] == args


def test_invented_tool_name_is_made_acceptable() -> None:
    call = ToolCallPart(tool_call_id=ToolCallId("a"), tool_name="functions.look at")
    message = NewMessage(role=Role.ASSISTANT, content=(call,))
    messages = wire(user("Look"), message, result("a"))
    assert messages[1]["tool_calls"][0]["function"]["name"] == "functions_look_at"


def test_empty_text_is_dropped_and_reasoning_is_not_sent() -> None:
    thought = ReasoningPart(text="hm", provider="p", signature="s")
    messages = wire(
        user("  "), user("Hi"), said(" \n"),
        NewMessage(role=Role.ASSISTANT, content=(thought,)),
        NewMessage(role=Role.ASSISTANT, content=(thought, TextPart(text="Hello."))),
        user("You?"),
    )  # fmt: skip
    assert shape(messages) == [("user", "Hi"), ("assistant", "Hello."), ("user", "You?")]


@pytest.mark.parametrize("history", [(), (said("Half"),), (user("Hi"), said("Half"))])
def test_model_is_never_asked_to_follow_itself(history: tuple[NewMessage, ...]) -> None:
    assert wire(*history)[-1] == {"role": "user", "content": "Continue."}


def test_people_are_told_apart_by_name() -> None:
    odd = Author(identity="slack:T1:U2", name=" Bo\n<b> ")
    nameless = Author(identity="api:ops")
    messages = wire(user("Hi", ADA), user("Hello", odd), user("Status?", nameless))
    assert [m["content"] for m in messages] == ["Ada: Hi", "Bo <b>: Hello", "Status?"]


def test_files_are_named() -> None:
    file = FilePart(name="tide.csv", media_type="text/csv", size=10)
    with_text = NewMessage(role=Role.USER, content=(TextPart(text="See"), file), author=ADA)
    alone = NewMessage(role=Role.USER, content=(file,))
    assert [m["content"] for m in wire(with_text, alone)] == [
        "Ada: See\n[file: tide.csv (text/csv)]",
        "[file: tide.csv (text/csv)]",
    ]


def test_files_go_as_parts_to_a_model_that_reads_them_and_are_named_to_others() -> None:
    image, document, broken = (FileId(UUID(int=n)) for n in (1, 2, 3))
    files = {
        image: FileData(media_type="image/png", data=b"\x89PNG\r\n\x1a\n"),
        document: FileData(media_type="application/pdf", data=b"%PDF-1.7"),
        broken: FileData(media_type="image/png", data=b"no picture"),
    }
    parts = (
        FilePart(name="sea.png", media_type="image/png", file_id=image),
        FilePart(name="tide.pdf", media_type="application/pdf", file_id=document),
        FilePart(name="torn.png", media_type="image/png", file_id=broken),
    )
    message = NewMessage(role=Role.USER, content=(TextPart(text="See"), *parts), author=ADA)
    alone = NewMessage(role=Role.USER, content=parts[:1], author=ADA)
    seen, only = wire(message, alone, files=files, accepts=frozenset({"image", "pdf"}))
    text = "Ada: See\n[file: torn.png (image/png); cannot be read]"
    url = "data:image/png;base64,iVBORw0KGgo="
    pdf = {"filename": "tide.pdf", "file_data": "data:application/pdf;base64,JVBERi0xLjc="}
    assert seen["content"] == [
        {"type": "text", "text": text},
        {"type": "image_url", "image_url": {"url": url}},
        {"type": "file", "file": pdf},
    ]
    assert only["content"][0] == {"type": "text", "text": "Ada: [file: sea.png (image/png)]"}
    blind = wire(message, files=files)[0]["content"]
    assert blind.count("this model cannot read it") == 3


def test_what_a_provider_executed_is_not_sent_and_a_pause_of_its_own_harms_nothing() -> None:
    """E56: a history that was made on a wire with more to it."""
    searched = ProviderPart(provider="p", wire="anthropic", data={"type": "server_tool_use"})
    paused = NewMessage(
        role=Role.ASSISTANT, content=(searched, TextPart(text="Hm.")), finish=Finish.CONTINUE
    )
    only = NewMessage(role=Role.ASSISTANT, content=(searched,), finish=Finish.CONTINUE)
    assert shape(wire(user("Hi"), paused, only)) == [
        ("user", "Hi"),
        ("assistant", "Hm."),
        ("user", "Continue."),
    ]


@pytest.mark.parametrize(
    ("value", "is_error", "text"),
    [
        ("calm", False, "calm"),
        ("", False, "(empty result)"),
        ({"a": [1, None]}, False, '{"a":[1,null]}'),
        (None, False, "null"),
        ("broken", True, '{"error":"broken"}'),
        ({"error": "x"}, True, '{"error":"x"}'),
    ],
)
def test_result_is_text_or_json(value: Any, is_error: bool, text: str) -> None:  # noqa: FBT001
    assert (
        wire(user("Look"), calls("a"), result("a", value, is_error=is_error))[2]["content"] == text
    )


def test_control_bytes_and_their_escapes_survive() -> None:
    """E24: a result with NUL and a text with the six characters of its escape."""
    text, escape = "a\x00b\x1b", "a\\u0000b"
    prompt = ModelPrompt(model="m", messages=(user(escape), calls("a"), result("a", text)))
    messages = json.loads(request_body(prompt))["messages"]
    assert (messages[0]["content"], messages[2]["content"]) == (escape, text)


def test_lone_surrogates_are_replaced_and_not_refused() -> None:
    prompt = ModelPrompt(
        model="m", messages=(user("a\ud83d"), calls("a"), result("a", {"k\ude00": ["\ud83d"]}))
    )
    messages = json.loads(request_body(prompt))["messages"]
    assert messages[0]["content"] == "a\ufffd"
    assert messages[2]["content"] == '{"k\ufffd":["\ufffd"]}'


def test_tool_schemas_lose_what_providers_refuse_and_nothing_else() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "description": None,
        "required": [],
        "properties": {
            "required": {"type": "string", "default": None, "enum": ["a", None]},
            "list": {"type": "array", "items": {"type": "object", "properties": None}},
            "either": {"anyOf": [{"type": "object", "required": None}, {"type": "null"}]},
        },
    }
    offers = (
        ToolOffer(name="look", description="Look.", input_schema=schema),
        ToolOffer(name="now", input_schema={"type": None, "properties": None, "required": None}),
        ToolOffer(name="look", description="Another."),
    )
    prompt = ModelPrompt(model="m", messages=(user("Hi"),), tools=offers)
    body = json.loads(request_body(prompt))
    check_request(body)
    first, second = (tool["function"] for tool in body["tools"])
    assert first["description"] == "Look."
    assert first["parameters"] == {
        "type": "object",
        "properties": {
            "required": {"type": "string", "default": None, "enum": ["a", None]},
            "list": {"type": "array", "items": {"type": "object"}},
            "either": {"anyOf": [{"type": "object"}, {"type": "null"}]},
        },
    }
    assert second["parameters"] == {"type": "object", "properties": {}}


def test_root_of_a_schema_says_plainly_what_it_said_in_alternatives() -> None:
    """Providers refuse alternatives there, and lists that do not say of what."""
    schema: dict[str, Any] = {
        "anyOf": [
            {
                "properties": {"at": {"type": "string"}, "all": {"type": "array"}},
                "required": ["at"],
            },
            {"$ref": "#/$defs/by_name"},
        ],
        "not": {"required": ["nothing"]},
        "$defs": {"by_name": {"properties": {"at": {"type": "string"}}, "required": ["at"]}},
    }
    prompt = ModelPrompt(
        model="m", messages=(), tools=(ToolOffer(name="a.b", input_schema=schema),)
    )
    body = json.loads(request_body(prompt))
    check_request(body)
    function = body["tools"][0]["function"]
    assert function["name"] == "a_b"
    assert function["parameters"] == {
        "type": "object",
        "properties": {"at": {"type": "string"}, "all": {"type": "array", "items": {}}},
        "required": ["at"],
        "$defs": schema["$defs"],
    }


def test_options_add_fields_and_replace_none() -> None:
    prompt = ModelPrompt(
        model="m",
        messages=(user("Hi"),),
        max_output_tokens=7,
        temperature=0.0,
        options={"reasoning_effort": "low", "model": "other", "stream": False},
    )
    body = json.loads(request_body(prompt, output_limit_field="max_completion_tokens"))
    assert (body["model"], body["stream"], body["reasoning_effort"]) == ("m", True, "low")
    assert (body["max_completion_tokens"], body["temperature"]) == (7, 0.0)
    assert "max_tokens" not in body
    aside = json.loads(request_body(prompt, is_streamed=False))
    assert aside["stream"] is False
    assert "stream_options" not in aside


def test_longer_history_begins_with_the_same_messages() -> None:
    """So that a provider's prompt cache is of use."""
    history = [user("Look", ADA), calls("0"), result("0"), said("Calm."), user("Again"), calls("0")]
    shorter = wire(*history[:5])
    assert wire(*history, result("0"), user("Ok"))[: len(shorter)] == shorter


# -- any history ---------------------------------------------------------------------------------


prompts = st.builds(
    ModelPrompt,
    model=st.just("m"),
    messages=histories,
    system=texts,
    files=st.just(FILES),
    accepts=st.sampled_from([frozenset(), frozenset({"image", "pdf"})]),
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(prompt=prompts)
def test_any_history_is_accepted_and_loses_no_word_of_people(prompt: ModelPrompt) -> None:
    """E56: whatever is stored, the next request is not refused."""
    data = request_body(prompt)
    assert data == request_body(prompt)
    body = json.loads(data)
    try:
        check_request(body)
    except Refused as reason:
        pytest.fail(f"{reason}\n{body['messages']}")
    said = [said_in(m["content"]) for m in body["messages"] if m["role"] == "user"]
    answered = set()
    for message in prompt.messages:
        text = text_of(message.content)
        if message.role is Role.USER and text.strip():
            assert any(without_surrogates(text) in words for words in said)
        if message.role in (Role.TOOL, Role.ASSISTANT):
            parts = [p for p in message.content if isinstance(p, ToolResultPart)]
            answered |= {part.tool_call_id for part in parts}
    assert len([m for m in body["messages"] if m["role"] == "tool"]) >= len(answered)
