"""Histories in few words, and the Anthropic request that they become."""

import json
from typing import Any

from engine.chat.content import (
    Author,
    Content,
    Finish,
    NewMessage,
    ProviderPart,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    plain,
)
from engine.chat.ids import ToolCallId
from engine.models.anthropic_request import messages_body
from engine.models.model import ModelPrompt
from tests.fakes.model_anthropic_rules import check_messages_request

ADA = Author(identity="slack:T1:U1", name="Ada")
THOUGHT = ReasoningPart(text="Hm.", provider="harbour", signature="s")
SEARCH = {"type": "server_tool_use", "id": "srv1", "name": "web_search", "input": {"query": "x"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srv1", "content": []}
BUDGET = {"thinking": {"type": "enabled", "budget_tokens": 2000}}


def user(text: str, author: Author | None = None) -> NewMessage:
    return NewMessage(role=Role.USER, content=plain(text), author=author)


def said(*parts: Any, finish: Finish | None = None) -> NewMessage:
    content: Content = tuple(TextPart(text=p) if isinstance(p, str) else p for p in parts)
    return NewMessage(role=Role.ASSISTANT, content=content, finish=finish)


def call(call_id: str, args: str = "{}", name: str = "look") -> ToolCallPart:
    return ToolCallPart(tool_call_id=ToolCallId(call_id), tool_name=name, args=args)


def result(call_id: str, value: Any = "calm", *, is_error: bool = False) -> NewMessage:
    part = ToolResultPart(
        tool_call_id=ToolCallId(call_id), tool_name="look", result=value, is_error=is_error
    )
    return NewMessage(role=Role.TOOL, content=(part,))


def own(data: Any, provider: str = "harbour", wire: str = "anthropic") -> ProviderPart:
    return ProviderPart(provider=provider, wire=wire, data=data)


def body(*messages: NewMessage, **fields: Any) -> dict[str, Any]:
    """The request's body, which the API accepts."""
    prompt = ModelPrompt(model="m", messages=messages, **fields)
    sent = json.loads(messages_body(prompt, provider="harbour"))
    check_messages_request(sent)
    return dict(sent)


def wire(*messages: NewMessage, **fields: Any) -> list[tuple[str, Any]]:
    """Roles with their blocks, marks left out; text blocks as text, others as their type."""
    return [
        (message["role"], [short(block) for block in message["content"]])
        for message in body(*messages, **fields)["messages"]
    ]


def short(block: dict[str, Any]) -> Any:
    for kind, key in (("text", "text"), ("tool_use", "id"), ("tool_result", "tool_use_id")):
        if block["type"] == kind:
            return block[key] if kind == "text" else (kind, block[key])
    return block["type"]
