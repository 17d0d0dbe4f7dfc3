"""What a Responses request holds of a history, item by item."""

import base64
import json
from typing import Any
from uuid import UUID

import pytest

from engine.chat.content import (
    Author,
    FilePart,
    NewMessage,
    Part,
    ProviderPart,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    plain,
)
from engine.chat.ids import FileId, ToolCallId
from engine.models.attachments import FileData
from engine.models.model import ModelPrompt, ToolOffer
from engine.models.responses_request import ENCRYPTED, responses_body
from tests.fakes.model_responses_rules import check_responses_request, sealed

OWN = "wren"
ADA = Author(identity="slack:T1:U1", name="Ada")
SEARCH: dict[str, Any] = {
    "type": "web_search_call",
    "id": "ws_1",
    "status": "completed",
    "action": {"type": "search", "query": "tides"},
}


def body(*messages: NewMessage, **fields: Any) -> dict[str, Any]:
    prompt = ModelPrompt(model="m", messages=messages, **fields)
    request: dict[str, Any] = json.loads(responses_body(prompt, provider=OWN))
    check_responses_request(request)
    return request


def user(text: str, author: Author | None = None) -> NewMessage:
    return NewMessage(role=Role.USER, content=plain(text), author=author)


def said(*parts: Part) -> NewMessage:
    return NewMessage(role=Role.ASSISTANT, content=parts)


def own(data: Any, provider: str = OWN, wire: str = "responses") -> ProviderPart:
    return ProviderPart(provider=provider, wire=wire, data=data)


def thought(item_id: str, **fields: Any) -> ProviderPart:
    item = {"type": "reasoning", "id": item_id, "summary": [], "encrypted_content": sealed(item_id)}
    return own(item | fields)


def call(call_id: str, args: str = "{}") -> ToolCallPart:
    return ToolCallPart(tool_call_id=ToolCallId(call_id), tool_name="look", args=args)


def result(call_id: str, value: Any = "calm") -> NewMessage:
    part = ToolResultPart(tool_call_id=ToolCallId(call_id), tool_name="look", result=value)
    return NewMessage(role=Role.TOOL, content=(part,))


def shape(request: dict[str, Any]) -> list[str]:
    """Each item by its role, its id, or its kind and the call that it belongs to."""
    return [
        item.get("role") or item.get("id") or f"{item['type']} {item['call_id']}"
        for item in request["input"]
    ]


def test_plain_history_is_sent_as_message_items() -> None:
    request = body(user("Hi", ADA), said(TextPart(text="Hello.")), user("You?"), system="Be brief.")
    assert request == {
        "model": "m",
        "instructions": "Be brief.",
        "input": [
            _message("user", "input_text", "Ada: Hi"),
            _message("assistant", "output_text", "Hello."),
            _message("user", "input_text", "You?"),
        ],
        "store": False,
        "stream": True,
    }


def _message(role: str, kind: str, text: str) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def test_system_rows_join_the_instructions() -> None:
    row = NewMessage(role=Role.SYSTEM, content=plain("No workspace."))
    request = body(user("Hi"), row, row, system="Be brief.")
    assert request["instructions"] == "Be brief.\n\nNo workspace.\n\nNo workspace."
    assert shape(request) == ["user"]


def test_calls_and_their_outputs_are_paired_with_mended_ids() -> None:
    request = body(
        user("Look"),
        said(TextPart(text="I look."), call("call 1"), call("b", '{"at": "sea"}'), call("c", "[")),
        result("b", {"wind": 3}),
        user("Well?"),
        result("call 1"),
    )
    assert shape(request) == [
        "user", "assistant", "function_call call_1", "function_call b", "function_call c",
        "function_call_output b", "function_call_output call_1", "function_call_output c", "user",
    ]  # fmt: skip
    assert [i["arguments"] for i in request["input"][2:5]] == ["{}", '{"at": "sea"}', "{}"]
    assert [i["output"] for i in request["input"][5:7]] == ['{"wind":3}', "calm"]
    assert "interrupted" in request["input"][7]["output"]


@pytest.mark.parametrize("last", [(), (said(TextPart(text="Half")),), (said(own(SEARCH)),)])
def test_model_is_never_asked_to_follow_itself(last: tuple[NewMessage, ...]) -> None:
    assert body(*last)["input"][-1] == _message("user", "input_text", "Continue.")


def test_results_are_answered_without_further_words() -> None:
    assert shape(body(user("Look"), said(call("a")), result("a")))[-1] == "function_call_output a"


def test_reasoning_is_sent_in_the_form_that_is_taken_back() -> None:
    summary = [{"type": "summary_text", "text": "Hm."}]
    readable = [{"type": "reasoning_text", "text": "Hm."}]
    part = thought("rs_1", summary=summary, content=readable, status="completed")
    request = body(said(ReasoningPart(text="Hm.", provider=OWN), part, call("a")), result("a"))
    assert request["input"][0] == {
        "type": "reasoning",
        "id": "rs_1",
        "summary": summary,
        "encrypted_content": sealed("rs_1"),
    }


def test_reasoning_stands_only_before_the_item_that_it_led_to() -> None:
    two = body(said(thought("rs_1"), thought("rs_2"), TextPart(text="Calm.")), user("Ok"))
    assert shape(two) == ["rs_1", "rs_2", "assistant", "user"]
    for last in ((), (TextPart(text=" "),), (own({"type": "custom_tool_call", "id": "c_1"}),)):
        request = body(said(TextPart(text="Hi."), thought("rs_1"), *last), user("Ok"))
        assert shape(request) == ["assistant", "user"]
    gone = own({"type": "custom_tool_call", "id": "c_1"})
    request = body(said(thought("rs_1"), gone, TextPart(text="Calm.")), user("Ok"))
    assert shape(request) == ["assistant", "user"]


def test_search_goes_back_with_its_reasoning_or_not_at_all() -> None:
    words = ReasoningPart(text="Hm.", provider=OWN)
    plain_thought = thought("rs_2", encrypted_content=None)
    calm = TextPart(text="Calm.")
    shapes: list[tuple[list[Part], list[str]]] = [
        ([thought("rs_1"), own(SEARCH), calm], ["rs_1", "ws_1", "assistant", "user"]),
        ([words, thought("rs_1"), own(SEARCH), calm], ["rs_1", "ws_1", "assistant", "user"]),
        ([own(SEARCH), calm], ["ws_1", "assistant", "user"]),
        ([words, own(SEARCH), calm], ["assistant", "user"]),
        ([plain_thought, own(SEARCH), calm], ["assistant", "user"]),
        ([plain_thought, calm, own(SEARCH)], ["assistant", "ws_1", "user"]),
    ]
    for parts, expected in shapes:
        assert shape(body(said(*parts), user("Ok"))) == expected


@pytest.mark.parametrize(
    "part",
    [
        own(SEARCH, provider="other"),
        own(SEARCH, wire="anthropic"),
        own({**SEARCH, "type": "computer_call"}),
        own({**SEARCH, "id": ""}),
        own("nonsense"),
        own(None),
    ],
)
def test_item_that_this_provider_would_not_take_is_left_out(part: ProviderPart) -> None:
    """E56: another provider's, another wire's, one that waits for an answer, or none at all."""
    assert shape(body(said(part, TextPart(text="Calm.")), user("Ok"))) == ["assistant", "user"]


def test_item_that_stands_twice_in_the_history_is_sent_once() -> None:
    row = said(thought("rs_1"), own(SEARCH), TextPart(text="Calm."))
    assert shape(body(row, user("Ok"), row, user("Ok"))) == [
        "rs_1", "ws_1", "assistant", "user", "assistant", "user",
    ]  # fmt: skip


def test_files_go_as_images_and_documents_to_a_model_that_reads_them() -> None:
    png, pdf = b"\x89PNG\r\n\x1a\n..", b"%PDF-1.7"
    image, document, table = (FileId(UUID(int=n)) for n in (1, 2, 3))
    message = NewMessage(
        role=Role.USER,
        content=(
            TextPart(text="See"),
            FilePart(name="sea.png", media_type="image/png", file_id=image),
            FilePart(name="tide.pdf", media_type="application/pdf", file_id=document),
            FilePart(name="tide.csv", media_type="text/csv", file_id=table),
        ),
    )
    files = {
        image: FileData(media_type="image/png", data=png),
        document: FileData(media_type="application/pdf", data=pdf),
        table: FileData(media_type="text/csv", data=b"a,b"),
    }
    accepts = frozenset({"image", "pdf"})
    assert body(message, files=files, accepts=accepts)["input"][0]["content"] == [
        {"type": "input_text", "text": "See\n[file: tide.csv]\na,b\n[end of tide.csv]"},
        {
            "type": "input_image",
            "image_url": f"data:image/png;base64,{base64.b64encode(png).decode()}",
        },
        {
            "type": "input_file",
            "filename": "tide.pdf",
            "file_data": f"data:application/pdf;base64,{base64.b64encode(pdf).decode()}",
        },
    ]
    blind = body(message, files=files)["input"][0]["content"]
    assert [part["type"] for part in blind] == ["input_text"]


def test_tools_are_flat_and_not_strict_and_lose_what_is_refused() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": None,
        "required": [],
        "$defs": {"a": {}},
    }
    offer = ToolOffer(name="look", description="Look.", input_schema=schema)
    assert body(user("Hi"), tools=(offer, offer))["tools"] == [
        {
            "type": "function",
            "name": "look",
            "description": "Look.",
            "parameters": {"type": "object", "$defs": {"a": {}}, "properties": {}},
            "strict": False,
        }
    ]


def test_options_add_fields_and_replace_none() -> None:
    request = body(
        user("Hi"),
        tools=(ToolOffer(name="look"),),
        max_output_tokens=7,
        temperature=0.0,
        options={
            "model": "other",
            "store": True,
            "input": [],
            "previous_response_id": "resp_1",
            "conversation": "conv_1",
            "top_p": 0.5,
            "user": None,
            "tools": [{"type": "web_search"}],
        },
    )
    assert (request["model"], request["store"], request["top_p"]) == ("m", False, 0.5)
    assert (request["max_output_tokens"], request["temperature"]) == (16, 0.0)
    assert [tool["type"] for tool in request["tools"]] == ["function", "web_search"]
    assert not {"previous_response_id", "conversation", "user", "include"} & set(request)


@pytest.mark.parametrize(
    ("options", "reasoning"),
    [
        ({"reasoning": {"effort": "low"}}, {"effort": "low"}),
        (
            {"reasoning_effort": "low", "reasoning_summary": "auto"},
            {"effort": "low", "summary": "auto"},
        ),
        (
            {"reasoning": {"effort": "high"}, "reasoning_effort": "low", "include": [ENCRYPTED]},
            {"effort": "high"},
        ),
    ],
)
def test_reasoning_is_asked_for_in_a_form_that_can_be_sent_back(
    options: dict[str, Any], reasoning: dict[str, str]
) -> None:
    request = body(user("Hi"), options=options)
    assert (request["reasoning"], request["include"]) == (reasoning, [ENCRYPTED])
    more = "file_search_call.results"
    assert body(user("Hi"), options=options | {"include": [more]})["include"] == [more, ENCRYPTED]


def test_longer_history_begins_with_the_same_items() -> None:
    """So that a provider's prompt cache is of use."""
    history = [
        user("Look", ADA), said(thought("rs_1"), call("0")), result("0"),
        said(TextPart(text="Calm.")), user("Again"), said(call("0")), result("0"),
    ]  # fmt: skip
    shorter = body(*history[:5])["input"]
    assert body(*history)["input"][: len(shorter)] == shorter


def test_lone_surrogates_are_replaced_and_not_refused() -> None:
    request = body(user("a\ud83d"), said(call("a")), result("a", {"k\ude00": "a\x00"}))
    assert request["input"][0]["content"][0]["text"] == "a\ufffd"
    assert json.loads(request["input"][2]["output"]) == {"k\ufffd": "a\x00"}
