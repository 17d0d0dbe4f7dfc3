"""E24: whatever tools and models say is stored and read back byte for byte."""

from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings

from engine.chat.commands import CommitStep, EditMessage, FinishError, FinishTurn, SendMessage
from engine.chat.content import Author, NewMessage, Role, TextPart, ToolResultPart, plain
from engine.chat.errors import ChatError, ErrorKind
from engine.chat.ids import ToolCallId
from engine.store.chat_machine import ChatMachine
from engine.store.pool import Pool
from engine.store.rows import ChatRows
from tests.store.story import (
    answer,
    call,
    calls_message,
    fence_of,
    force_running,
    new_chat,
    result,
    result_message,
    submit,
)
from tests.store.test_stored_json import JSON, TEXT

CONTROLS = "".join(map(chr, range(32))) + "\x7f\x80\x9f\u2028\ufeff\ufffe"


async def test_control_bytes_of_a_tool_and_a_spelled_escape_of_the_model_survive(
    machine: ChatMachine, pool: Pool
) -> None:
    """E24: in storage and in the next prompt."""
    chat_id = await new_chat(machine)
    held = await force_running(pool, chat_id)
    value = {"out\x00put": f"a\x00b{CONTROLS}", "spelled": "\\u0000"}
    asks = calls_message(
        TextPart(text="The six characters \\u0000"), call("c1", args='{"a":"\x00"}')
    )
    done = result_message(result("c1", value))

    await submit(machine, chat_id, CommitStep(fence=fence_of(held), messages=(asks, done)))

    prompt = await ChatRows(pool).read_prompt(chat_id)
    assert prompt is not None
    assert [message.content for message in prompt.messages[1:]] == [asks.content, done.content]


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(text=TEXT, value=JSON)
@example(text="\x00", value={"\x00": "\ue000"})
async def test_any_text_and_any_result_survive(
    machine: ChatMachine, pool: Pool, text: str, value: Any
) -> None:
    """E24"""
    chat_id = await new_chat(machine)
    held = await force_running(pool, chat_id)
    said = NewMessage(
        role=Role.ASSISTANT,
        content=(TextPart(text=text), call("c1", args=text)),
        author=Author(identity=text, name=text),
        source_key=f"key {text}",
        model=text,
    )
    results = ToolResultPart(tool_call_id=ToolCallId("c1"), tool_name="ask", result=value)

    await submit(
        machine,
        chat_id,
        CommitStep(fence=fence_of(held), messages=(said, result_message(results))),
    )

    _, stored, tool = await ChatRows(pool).read_messages(chat_id)
    assert stored.content == said.content
    assert (stored.author, stored.source_key, stored.model) == (
        said.author,
        said.source_key,
        said.model,
    )
    assert tool.content == (results,)


async def test_queued_promoted_and_edited_text_survives(machine: ChatMachine, pool: Pool) -> None:
    """E24"""
    rows = ChatRows(pool)
    chat_id = await new_chat(machine)
    held = await force_running(pool, chat_id)
    text = f"\x00\ue000\\u0000{CONTROLS}"
    await submit(machine, chat_id, SendMessage(content=plain(text), source_key=text))

    (queued,) = await rows.read_queue(chat_id)
    assert (queued.content, queued.source_key) == (plain(text), text)

    await submit(machine, chat_id, FinishTurn(fence=fence_of(held), messages=(answer("hi"),)))
    promoted = (await rows.read_messages(chat_id))[-1]
    assert (promoted.content, promoted.source_key) == (plain(text), text)

    await submit(machine, chat_id, EditMessage(message_id=promoted.id, content=plain(text + text)))
    edited = (await rows.read_messages(chat_id))[-1]
    assert (edited.content, edited.source_key) == (plain(text + text), text)
    assert edited.id > promoted.id


@pytest.mark.parametrize("detail", [None, "with\x00nul \\u0000"])
async def test_error_is_read_back_equal_and_gone_after_the_next_message(
    machine: ChatMachine, pool: Pool, detail: str | None
) -> None:
    """E22"""
    rows = ChatRows(pool)
    chat_id = await new_chat(machine)
    held = await force_running(pool, chat_id)
    error = ChatError(
        kind=ErrorKind.RATE_LIMIT, message="busy", detail=detail, provider="demo", status_code=429
    )

    failed = await submit(machine, chat_id, FinishError(fence=fence_of(held), error=error))

    view = await rows.read_chat(chat_id)
    assert view is not None
    assert view.last_error == error == failed.snapshot.last_error
    sent = await submit(machine, chat_id, SendMessage(content=plain("again")))
    view = await rows.read_chat(chat_id)
    assert view is not None
    assert (view.last_error, sent.snapshot.last_error) == (None, None)
