"""When a history is summarised, and what comes next."""

from datetime import UTC, datetime
from typing import Any, cast
from uuid import UUID

import pytest

from engine.agent.brain import Brain
from engine.agent.compaction import (
    PAUSES_MAX,
    Move,
    context_tokens,
    next_move,
    standing_of,
    to_summarise,
)
from engine.chat.content import (
    Finish,
    Message,
    Part,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    Usage,
    Visibility,
)
from engine.chat.ids import ChatId, MessageId, ToolCallId
from engine.models.model import Model

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)


def brain(limit: int | None = 1000, threshold: int = 70) -> Brain:
    return Brain(
        model=cast("Model", None),
        model_name="test-model",
        system="",
        context_limit=limit,
        compaction_threshold=threshold,
    )


def history(*messages: dict[str, Any]) -> list[Message]:
    return [
        Message(id=MessageId(number), chat_id=ChatId(UUID(int=1)), created_at=NOON, **message)
        for number, message in enumerate(messages, start=1)
    ]


def row(role: Role, *content: Part, **fields: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **fields}


def says(tokens: int | None = None, finish: Finish = Finish.STOP) -> dict[str, Any]:
    usage = None if tokens is None else Usage(input_tokens=tokens)
    return row(Role.ASSISTANT, TextPart(text="Aye."), usage=usage, finish=finish)


def calls(tokens: int) -> dict[str, Any]:
    part = ToolCallPart(tool_call_id=ToolCallId("c"), tool_name="look_out")
    return row(Role.ASSISTANT, part, usage=Usage(input_tokens=tokens))


SYSTEM = row(Role.SYSTEM, TextPart(text="You are Wren."))
ASKS = row(Role.USER, TextPart(text="Where is the keeper?"))
SUMMARY = row(
    Role.USER, TextPart(text="Ada asks."), summary_of=MessageId(1), visibility=Visibility.MODEL
)
FOUND = row(
    Role.TOOL, ToolResultPart(tool_call_id=ToolCallId("c"), tool_name="look_out", result="sail")
)


@pytest.mark.parametrize(
    ("messages", "move"),
    [
        ([ASKS], Move.ASK),
        ([SYSTEM, ASKS], Move.ASK),
        ([ASKS, calls(699), FOUND], Move.ASK),
        ([ASKS, calls(700), FOUND], Move.COMPACT),
        ([ASKS, says(700), ASKS], Move.COMPACT),
        ([ASKS, says(700), ASKS, ASKS], Move.COMPACT),
        ([ASKS, calls(900), FOUND, says(100), ASKS], Move.ASK),
        ([ASKS, calls(900), FOUND, says(None), ASKS], Move.COMPACT),
        ([ASKS, says(100)], Move.END),
        ([ASKS, says(700)], Move.COMPACT_AND_END),
        ([SUMMARY], Move.ASK),
        ([SYSTEM, SUMMARY, ASKS], Move.ASK),
        ([SUMMARY, calls(700), FOUND], Move.GIVE_UP),
        ([SUMMARY, says(700)], Move.END),
        ([SUMMARY, says(700), ASKS], Move.COMPACT),
        ([SUMMARY, calls(100), FOUND, calls(700), FOUND], Move.COMPACT),
        ([ASKS, says(100, Finish.CONTINUE)], Move.ASK),
        ([ASKS, says(700, Finish.CONTINUE)], Move.COMPACT),
        ([ASKS, *[says(100, Finish.CONTINUE)] * PAUSES_MAX], Move.ASK),
        ([ASKS, *[says(100, Finish.CONTINUE)] * (PAUSES_MAX + 1)], Move.END),
    ],
)
def test_what_comes_next(messages: list[dict[str, Any]], move: Move) -> None:
    assert next_move(standing_of(history(*messages)), brain()) is move


@pytest.mark.parametrize("never", [brain(threshold=100), brain(limit=None)])
def test_nothing_is_summarised_for_its_size_where_that_is_not_wanted(never: Brain) -> None:
    assert next_move(standing_of(history(ASKS, calls(5000), FOUND)), never) is Move.ASK


def test_after_a_failure_nothing_more_is_tried() -> None:
    standing = standing_of(history(ASKS, calls(900), FOUND))
    assert next_move(standing, brain(), may_compact=False) is Move.ASK


def test_what_waits_for_an_answer_is_not_summarised() -> None:
    messages = history(SYSTEM, ASKS, says(100), ASKS, ASKS)
    assert [message.id for message in to_summarise(messages)] == [2, 3]
    assert standing_of(messages).boundary == 3


@pytest.mark.parametrize("messages", [[], [ASKS], [SYSTEM, ASKS], [SUMMARY], [SUMMARY, ASKS]])
def test_where_nothing_was_answered_there_is_nothing_to_summarise(
    messages: list[dict[str, Any]],
) -> None:
    assert standing_of(history(*messages)).boundary is None


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        (None, None),
        (Usage(), None),
        (Usage(output_tokens=9), None),
        (Usage(total_tokens=50), 50),
        (Usage(input_tokens=3, output_tokens=9, total_tokens=50), 3),
        (Usage(input_tokens=3, cache_read_tokens=40, cache_write_tokens=7, total_tokens=99), 50),
        (Usage(cache_read_tokens=40), 40),
    ],
)
def test_what_an_answer_was_made_from_counts_what_was_cached(
    usage: Usage | None, tokens: int | None
) -> None:
    assert context_tokens(usage) == tokens
