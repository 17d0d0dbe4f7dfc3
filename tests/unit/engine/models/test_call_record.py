"""What is kept of a model call: no secret, no file's bytes, never more than a megabyte, and soon."""

import json
import time
from typing import Any

import msgspec
import pytest

from engine.chat.content import (
    Author,
    Finish,
    NewMessage,
    ProviderPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    Usage,
    plain,
)
from engine.chat.ids import ToolCallId
from engine.models import call_record
from engine.models.attachments import FileData
from engine.models.call_record import RECORD_BYTES_MAX, request_record, response_record
from engine.models.model import ModelPrompt, ToolOffer
from engine.models.parts import StreamResult

MARGIN, TOOLS = call_record._MARGIN_BYTES, call_record._TOOLS_BYTES_MAX
KEY = "sk-planted0123456789abcdef"
CALL = ToolCallId("call-1")


def prompt(*messages: NewMessage, **fields: Any) -> ModelPrompt:
    return ModelPrompt(model="m", messages=messages, **fields)


def said(text: str, role: Role = Role.USER) -> NewMessage:
    return NewMessage(role=role, content=plain(text), author=Author(identity="x:1", name="Ada"))


def size(record: Any) -> int:
    return len(msgspec.json.encode(record))


def test_a_call_is_kept_as_it_was_made() -> None:
    record = request_record(
        prompt(
            said("Hello \U0001f6a4 ü"),
            system="You are Wren.",
            tools=(ToolOffer(name="find", description="Finds.", input_schema={"type": "object"}),),
            max_output_tokens=7,
            temperature=0.5,
            options={"top_p": 0.5},
        )
    )
    assert record == {
        "model": "m",
        "system": "You are Wren.",
        "tools": [
            {"name": "find", "description": "Finds.", "input_schema": {"type": "object"}},
        ],
        "max_output_tokens": 7,
        "temperature": 0.5,
        "options": {"top_p": 0.5},
        "files": [],
        "messages": [
            {
                "role": "user",
                "content": [{"type": "text", "text": "Hello \U0001f6a4 ü"}],
                "author": "Ada",
            }
        ],
    }
    result = StreamResult(
        content=plain("Aye."), finish=Finish.STOP, usage=Usage(input_tokens=1, output_tokens=2)
    )
    kept = {"content": [{"type": "text", "text": "Aye."}], "finish": "stop"}
    assert response_record(result) == kept | {"usage": {"input_tokens": 1, "output_tokens": 2}}
    assert response_record(msgspec.structs.replace(result, usage=None)) == kept | {"usage": None}


@pytest.mark.parametrize(
    "part",
    [
        TextPart(text=f"my key is {KEY}"),
        ToolCallPart(tool_call_id=CALL, tool_name="x", args=json.dumps({"password": "planted-pw"})),
        ToolResultPart(tool_call_id=CALL, tool_name="x", result={"api_key": "planted-pw"}),
        ToolResultPart(tool_call_id=CALL, tool_name="x", result=[{"deep": [KEY]}]),
        ToolResultPart(tool_call_id=CALL, tool_name="x", result={KEY: "a key as a key"}),
        ProviderPart(provider="p", wire="w", data={"authorization": "planted-pw"}),
        TextPart(text="x " * 3000 + f"https://ada:planted-pw@example.org/?token={KEY}"),
        TextPart(text="x" * 1900 + f',"password":"planted-pw","more":"{"y" * 3000}"'),
    ],
)
def test_no_planted_secret_is_kept(part: Any) -> None:
    message = NewMessage(role=Role.ASSISTANT, content=(part,))
    told = json.dumps(request_record(prompt(message)))
    told += json.dumps(response_record(StreamResult(content=(part,))))
    assert "planted" not in told
    assert "***" in told


def test_no_bytes_of_files_are_kept() -> None:
    encoded = "iVBORw0KGgo" * 100
    record = request_record(
        prompt(
            said(f"data:image/png;base64,{encoded}== and a word"),
            NewMessage(
                role=Role.TOOL,
                content=(
                    ToolResultPart(
                        tool_call_id=CALL, tool_name="x", result={"image": {"data": encoded}}
                    ),
                ),
            ),
            files={CALL: FileData(media_type="image/png", data=b"\x89PNG" * 100)},
        )
    )
    told = json.dumps(record)
    assert encoded[:100] not in told
    assert "PNG" not in told
    assert "and a word" in told
    assert record["files"] == [{"file_id": "call-1", "media_type": "image/png", "size": 400}]


def test_the_oldest_messages_of_too_many_are_left_out_and_counted() -> None:
    record = request_record(prompt(*(said(f"{number} " + "boat " * 900) for number in range(400))))
    kept = len(record["messages"])
    assert size(record) <= RECORD_BYTES_MAX
    assert record["messages_left_out"] == 400 - kept
    assert 100 < kept < 400
    assert record["messages"][-1]["content"][0]["text"].startswith("399 ")


@pytest.mark.parametrize(
    "fields",
    [
        {"system": "boat " * 500_000},
        {"options": {f"key{number}": "boat " * 10_000 for number in range(50)}},
        {
            "tools": tuple(
                ToolOffer(name=f"t{number}", description="boat " * 10_000) for number in range(20)
            )
        },
    ],
)
def test_whatever_is_too_much_is_bounded(fields: dict[str, Any]) -> None:
    assert size(request_record(prompt(said("x"), **fields))) <= RECORD_BYTES_MAX


def test_a_record_may_be_as_large_as_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    result = StreamResult(content=plain("Aye."), finish=Finish.STOP)
    record = response_record(result)
    monkeypatch.setattr(call_record, "RECORD_BYTES_MAX", size(record))
    assert response_record(result) == record
    monkeypatch.setattr(call_record, "RECORD_BYTES_MAX", size(record) - 1)
    assert response_record(result) == {
        "left_out": f"{size(record)} bytes are more than is kept of one call"
    }


def test_messages_are_kept_as_far_as_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = prompt(said("One."), said("Two."), said("Three."), system="You are Wren.")
    record = request_record(asked)
    messages = record.pop("messages")
    # Each with the sign that parts it from the next.
    room = size(record) + sum(size(message) + 1 for message in messages) + MARGIN
    monkeypatch.setattr(call_record, "RECORD_BYTES_MAX", room)
    assert request_record(asked)["messages"] == messages
    monkeypatch.setattr(call_record, "RECORD_BYTES_MAX", room - 1)
    less = request_record(asked)
    assert (less["messages"], less["messages_left_out"]) == (messages[1:], 1)


def test_of_too_many_tools_the_names_are_kept() -> None:
    def tools_with(characters: int) -> list[Any]:
        offers = tuple(
            ToolOffer(name=name, description=("boat " * 20_000)[:long])
            for name, long in (("a", characters // 2), ("b", characters - characters // 2))
        )
        return list(request_record(prompt(tools=offers))["tools"])

    most = TOOLS - size(tools_with(0))
    assert tools_with(most)[1]["description"].startswith("boat")
    assert tools_with(most + 1) == ["a", "b"]


def test_a_text_is_kept_up_to_its_bound_word_for_word() -> None:
    text = "boat " * 20_000
    assert request_record(prompt(system=text))["system"] == text
    assert request_record(prompt(system=text + "s"))["system"] == (
        f"{text} (1 more characters left out)"
    )


@pytest.mark.parametrize("kind", [list, dict])
def test_values_are_kept_sixty_deep(kind: type[list[Any]] | type[dict[str, Any]]) -> None:
    def nested(levels: int, inner: Any) -> Any:
        for _ in range(levels):
            inner = [inner] if kind is list else {"in": inner}
        return inner

    # The options themselves are the first level.
    for levels, kept in ((59, "x"), (60, "(nested too deep to be kept)")):
        options = {"in": nested(levels, "x")}
        assert request_record(prompt(options=options))["options"] == {"in": nested(levels, kept)}


def test_deep_and_broken_values_are_survived() -> None:
    deep: Any = "x"
    for _ in range(500):
        deep = [deep]
    part = ToolResultPart(tool_call_id=CALL, tool_name="x", result={"a": deep, "b": "\ud800"})
    message = NewMessage(role=Role.TOOL, content=(part,))
    assert request_record(prompt(message))["messages"]


@pytest.mark.parametrize(
    "text", ["a." * 50_000, "a-b.c+" * 16_000, "://" * 30_000, "key=" * 25_000]
)
def test_text_made_to_be_slow_is_not(text: str) -> None:
    began = time.process_time()
    request_record(prompt(said(text)))
    assert time.process_time() - began < 10
