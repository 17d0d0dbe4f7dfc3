"""How a Responses reply ends: cut, failed or broken off, never as a success that it is not."""

from typing import Any

import pytest

from engine.chat.content import Finish, TextPart, ToolCallPart
from tests.unit.engine.models.response_events import (
    SEARCH,
    USAGE,
    call_item,
    decode,
    done,
    event,
    text,
    whole,
)


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("max_output_tokens", Finish.LENGTH),
        ("content_filter", Finish.CONTENT_FILTER),
        (None, Finish.LENGTH),
    ],
)
def test_answer_that_was_cut_says_why_and_its_calls_never_run(
    reason: str | None, finish: Finish
) -> None:
    response = {"status": "incomplete", "incomplete_details": reason and {"reason": reason}}
    result = whole(
        text("Half"),
        done(call_item(arguments="{}"), 1),
        event("incomplete", response=response | {"usage": USAGE}),
    )
    assert (result.text, result.finish, result.runnable) == ("Half", finish, False)
    assert result.usage is not None


@pytest.mark.parametrize(
    ("last", "code", "message", "status"),
    [
        ({"type": "error", "code": "server_error", "message": "gone", "param": None}, "server_error", "gone", None),
        ({"type": "error", "error": {"code": "429", "message": "slow"}}, None, "slow", 429),
        ({"error": {"message": "busy", "type": "overloaded"}}, "overloaded", "busy", None),
        (event("failed", response={"status": "failed", "error": {"code": "server_error", "message": "gone"}}), "server_error", "gone", None),
        (event("failed", response=None), None, "the provider ended the answer with an error", None),
        (event("cancelled", response={"status": "cancelled"}), None, "the provider ended the answer with an error", None),
    ],
)  # fmt: skip
def test_error_inside_a_stream_keeps_the_text_before_it(
    last: dict[str, Any], code: str | None, message: str, status: int | None
) -> None:
    result = whole(text("Half"), done(call_item(arguments="{}"), 1), last)
    assert (result.text, result.finish, result.runnable) == ("Half", Finish.ERROR, False)
    assert result.fault is not None
    assert (result.fault.code, result.fault.message, result.fault.status) == (code, message, status)


@pytest.mark.parametrize("end", [(), (b"[DONE]",), (event("in_progress", response={}),)])
def test_stream_that_just_ends_is_incomplete_and_nothing_of_it_runs(end: tuple[object]) -> None:
    added = event("output_item.added", item=SEARCH | {"status": "in_progress"}, output_index=2)
    result = whole(text("Half"), done(call_item(arguments="{}"), 1), added, *end)
    assert (result.text, result.finish, result.runnable) == ("Half", Finish.INCOMPLETE, False)
    assert [type(part) for part in result.content] == [TextPart, ToolCallPart]


@pytest.mark.parametrize(
    ("body", "finish"),
    [
        (b"", Finish.INCOMPLETE),
        (b": ping\n\n", Finish.INCOMPLETE),
        (b"upstream connect error", Finish.INCOMPLETE),
        (b"data: nonsense\n\n", Finish.ERROR),
        (b"{", Finish.ERROR),
        (b'{"detail":"Not Found"}', Finish.ERROR),
        (b'{"error":{"message":"no"}}', Finish.ERROR),
        (b'{"object":"response","status":"in_progress","output":[]}', Finish.INCOMPLETE),
        (b"<!doctype html><title>Sign in</title>", Finish.ERROR),
        (b"event: error\ndata: out of memory\n\n", Finish.ERROR),
    ],
)
def test_nothing_is_never_a_success(body: bytes, finish: Finish) -> None:
    assert decode([body])[1].finish is finish
