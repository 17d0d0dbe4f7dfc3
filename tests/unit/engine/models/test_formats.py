"""Each wire format: where it asks, with which headers and body, and whose its answers are."""

import json
from typing import Any

import pytest

from engine.chat.content import (
    FilePart,
    NewMessage,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
)
from engine.chat.ids import FileId, ToolCallId
from engine.models.anthropic_format import AnthropicFormat
from engine.models.attachments import FileData
from engine.models.chat_completions_format import ChatCompletionsFormat
from engine.models.model import ModelPrompt
from engine.models.request import request_body
from engine.models.responses_format import ResponsesFormat
from engine.models.wire_format import WireFormat

CHAT = ChatCompletionsFormat(provider="wren", output_limit_field="limit")
ANTHROPIC = AnthropicFormat(provider="wren", base_url="http://h")
RESPONSES = ResponsesFormat(provider="wren")
VERSION = {"anthropic-version": "2023-06-01"}
BEARER = {"Authorization": "Bearer k"}


@pytest.mark.parametrize(
    ("wire", "path", "with_key", "without"),
    [
        (CHAT, "/chat/completions", BEARER, {}),
        (RESPONSES, "/responses", BEARER, {}),
        (ANTHROPIC, "/v1/messages", {"x-api-key": "k", **VERSION}, VERSION),
        (
            AnthropicFormat(provider="wren", base_url="http://h/v1/"),
            "/messages",
            {"x-api-key": "k", **VERSION},
            VERSION,
        ),
    ],
)
def test_a_format_knows_its_address_and_its_headers(
    wire: WireFormat, path: str, with_key: dict[str, str], without: dict[str, str]
) -> None:
    assert (wire.path, wire.headers("k"), wire.headers("")) == (path, with_key, without)


@pytest.mark.parametrize("wire", [CHAT, ANTHROPIC, RESPONSES])
@pytest.mark.parametrize("is_streamed", [True, False])
def test_a_body_asks_the_model_streamed_or_not(wire: WireFormat, *, is_streamed: bool) -> None:
    prompt = ModelPrompt(model="m", messages=(), max_output_tokens=20)
    body = json.loads(wire.body(prompt, is_streamed=is_streamed))
    assert (body["model"], body.get("stream", False)) == ("m", is_streamed)
    limit = {CHAT: "limit", ANTHROPIC: "max_tokens", RESPONSES: "max_output_tokens"}[wire]
    assert body[limit] == 20


@pytest.mark.parametrize(
    ("wire", "reply"),
    [
        (CHAT, {"choices": [{"message": {"reasoning_content": "why", "content": "a"}}]}),
        (
            ANTHROPIC,
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "thinking", "thinking": "why", "signature": "s"}],
                "stop_reason": "end_turn",
            },
        ),
        (
            RESPONSES,
            {
                "object": "response",
                "status": "completed",
                "output": [
                    {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "why"}]}
                ],
            },
        ),
    ],
)  # fmt: skip
def test_a_reply_is_the_providers_own(wire: WireFormat, reply: dict[str, Any]) -> None:
    decoder = wire.decoder()
    assert not decoder.is_finished
    decoder.feed(json.dumps(reply).encode())
    decoder.end()
    thoughts = [part for part in decoder.result().content if isinstance(part, ReasoningPart)]
    assert [(thought.text, thought.provider) for thought in thoughts] == [("why", "wren")]
    assert decoder.is_finished
    assert wire.decoder().result().content == ()


@pytest.mark.parametrize("wire", [CHAT, RESPONSES])
@pytest.mark.parametrize(("name", "called"), [("", "file.pdf"), ("a.pdf", "a.pdf")])
def test_a_pdf_without_a_name_gets_one_where_it_must(
    wire: WireFormat, name: str, called: str
) -> None:
    part = FilePart(name=name, media_type="application/pdf", size=5, file_id=FileId(7))
    prompt = ModelPrompt(
        model="m",
        messages=(NewMessage(role=Role.USER, content=(part,)),),
        files={FileId(7): FileData(media_type="application/pdf", data=b"%PDF-")},
        accepts=frozenset({"pdf"}),
    )
    assert f'"filename":"{called}"' in wire.body(prompt, is_streamed=True).decode()


@pytest.mark.parametrize(("said", "content"), [("Let me look.", "Let me look."), (" ", None)])
def test_words_beside_a_call_are_sent_with_it(said: str, content: str | None) -> None:
    call = ToolCallPart(tool_call_id=ToolCallId("i"), tool_name="look", args='{"at":1}')
    asked = NewMessage(role=Role.ASSISTANT, content=(TextPart(text=said), call))
    body = json.loads(CHAT.body(ModelPrompt(model="m", messages=(asked,)), is_streamed=True))
    assert body["messages"][0] == {
        "role": "assistant",
        "content": content,
        "tool_calls": [
            {"id": "i", "type": "function", "function": {"name": "look", "arguments": '{"at":1}'}}
        ],
    }


def test_a_stream_is_asked_to_count_its_tokens_and_a_plain_body_is_not() -> None:
    prompt = ModelPrompt(model="m", messages=(), max_output_tokens=20)
    usual = ChatCompletionsFormat(provider="wren")
    streamed = json.loads(usual.body(prompt, is_streamed=True))
    assert (streamed["stream_options"], streamed["max_tokens"]) == ({"include_usage": True}, 20)
    assert "stream_options" not in json.loads(usual.body(prompt, is_streamed=False))
    assert json.loads(request_body(prompt)) == streamed
