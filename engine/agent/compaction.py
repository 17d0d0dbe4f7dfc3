"""When a history is summarised, what of it, and what is stored for that. Pure.

A summary stands in the place of all that was answered. What people have said since, unanswered,
follows it in their own words. After a summary the model must get an answer below the threshold:
if its first one is not, a second summary would not help either, and the turn ends in words.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import msgspec

from engine.agent.brain import Brain
from engine.chat.content import (
    Finish,
    Message,
    NewMessage,
    Role,
    ToolCallPart,
    ToolResultPart,
    Usage,
    Visibility,
    plain,
)
from engine.chat.errors import ChatError, ErrorKind
from engine.chat.ids import MessageId, ToolCallId
from engine.chat.summaries import SUMMARY_TOOL
from engine.models.cost import cost_micros
from engine.models.parts import StreamResult

PAUSES_MAX: Final = 10
"""How often in a row a provider that paused is asked to go on."""
NEVER: Final = 100
"""The threshold that means that nothing is summarised for its size."""
BEGINNING: Final = "What was said before this is no longer shown to you. In short, it was this."
GO_ON: Final = (
    " You were in the middle of your work at that point:"
    " take it up again from where this account ends."
)
TOO_LONG: Final = (
    "This conversation is too long for the model, even when what came before is summarised. "
    "Clear the context, or begin a new conversation."
)
STILL_TOO_LONG: Final = ChatError(kind=ErrorKind.CONFIG, message=TOO_LONG, context_exceeded=True)


class Move(StrEnum):
    """What a turn does next, by the history that it finds."""

    ASK = "ask"
    COMPACT = "compact"
    GIVE_UP = "give_up"
    END = "end"
    COMPACT_AND_END = "compact_and_end"


class Source(StrEnum):
    """Why a history is summarised: it grew too long, or somebody asked for it."""

    AUTOMATIC = "automatic"
    REQUESTED = "requested"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How a history stands, without the history.

    `boundary`: the last message that a summary made now would stand for; None: there is nothing to
    summarise. `waits`: people have spoken since. `is_answered`: nobody waits for anything, the last
    word is a whole answer. `tokens`: what the newest answer was made from. `answers`: how many there
    are since the summary, if there is one. `pauses`: how often in a row the provider has paused.
    """

    boundary: MessageId | None
    waits: bool
    is_answered: bool
    tokens: int | None
    answers: int
    has_summary: bool
    pauses: int

    @property
    def is_fresh(self) -> bool:
        """Whether the newest answer is the first since the summary."""
        return self.has_summary and self.answers == 1


def to_summarise(messages: Sequence[Message]) -> tuple[Message, ...]:
    """A history up to the last answer or result, with the summary that it begins with, if any."""
    told = [message for message in messages if message.role is not Role.SYSTEM]
    end = len(told)
    while end and _is_persons(told[end - 1]):
        end -= 1
    return tuple(told[:end])


def standing_of(messages: Sequence[Message]) -> Standing:
    """Look at a history."""
    done = to_summarise(messages)
    last = done[-1] if done else None
    waits = bool(messages) and _is_persons(messages[-1])
    answers = [message for message in done if message.role is Role.ASSISTANT]
    counted = [tokens for m in answers if (tokens := context_tokens(m.usage)) is not None]
    pauses = 0
    while pauses < len(answers) and answers[-1 - pauses].finish is Finish.CONTINUE:
        pauses += 1
    return Standing(
        boundary=None if last is None or last.summary_of is not None else last.id,
        waits=waits,
        is_answered=not waits and last is not None and _is_whole(last, pauses),
        tokens=counted[-1] if counted else None,
        answers=len(answers),
        has_summary=any(message.summary_of is not None for message in done),
        pauses=pauses,
    )


def _is_persons(message: Message) -> bool:
    return message.role is Role.USER and message.summary_of is None


def _is_whole(message: Message, pauses: int) -> bool:
    if message.role is not Role.ASSISTANT:
        return False
    if message.finish is Finish.CONTINUE:
        return pauses > PAUSES_MAX
    return not any(isinstance(part, ToolCallPart) for part in message.content)


def next_move(standing: Standing, brain: Brain, *, may_compact: bool = True) -> Move:
    """What comes next. `may_compact`: no attempt to summarise has failed in this turn."""
    is_due = may_compact and is_over(standing.tokens, brain)
    if standing.is_answered:
        return Move.COMPACT_AND_END if is_due and not standing.is_fresh else Move.END
    if not is_due:
        return Move.ASK
    # What people have said since may be what made it too long; then a summary is worth another try.
    return Move.GIVE_UP if standing.is_fresh and not standing.waits else Move.COMPACT


def context_tokens(usage: Usage | None) -> int | None:
    """What an answer was made from, in tokens, as far as the provider said."""
    if usage is None:
        return None
    known = [
        tokens
        for tokens in (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
        if tokens is not None
    ]
    return sum(known) if known else usage.total_tokens


def is_over(tokens: int | None, brain: Brain, threshold: int | None = None) -> bool:
    """Whether so many tokens reach the threshold: the brain's own, unless another is given."""
    percent = brain.compaction_threshold if threshold is None else threshold
    if tokens is None or brain.context_limit is None or (threshold is None and percent >= NEVER):
        return False
    return tokens * 100 >= brain.context_limit * percent


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A summary that was made: why, how, and in whose place it stands."""

    result: StreamResult
    source: Source
    boundary: MessageId
    tokens: int | None
    call_id: ToolCallId
    runtime_ms: int
    ends_turn: bool


def summary_rows(summary: Summary, brain: Brain) -> tuple[NewMessage, ...]:
    """What is stored: the summary for the model, then a call and its result that people see."""
    text = summary.result.text.strip()
    beginning = BEGINNING if summary.ends_turn else BEGINNING + GO_ON
    usage = summary.result.usage
    call = ToolCallPart(
        tool_call_id=summary.call_id, tool_name=SUMMARY_TOOL, args=note_args(summary.source, brain)
    )
    limit = brain.context_limit
    percent = None if limit is None or summary.tokens is None else summary.tokens * 100 // limit
    told = {
        "summary": text,
        "source": summary.source.value,
        "threshold_percent": brain.compaction_threshold,
        "usage_percent": percent,
        "context_tokens": summary.tokens,
        "context_limit_tokens": limit,
    }
    result = ToolResultPart(tool_call_id=summary.call_id, tool_name=SUMMARY_TOOL, result=told)
    return (
        NewMessage(
            role=Role.USER,
            content=plain(f"{beginning}\n\n{text}"),
            visibility=Visibility.MODEL,
            summary_of=summary.boundary,
        ),
        NewMessage(
            role=Role.ASSISTANT,
            content=(call,),
            visibility=Visibility.USER,
            model=brain.stored_name,
            finish=Finish.TOOL_CALLS,
            usage=usage,
            cost_micros=cost_micros(usage, brain.prices),
            runtime_ms=summary.runtime_ms,
        ),
        NewMessage(role=Role.TOOL, content=(result,), visibility=Visibility.USER),
    )


def note_args(source: Source, brain: Brain) -> str:
    """The arguments of the call that people see, while it is made and afterwards."""
    args = {"source": source.value, "threshold_percent": brain.compaction_threshold}
    return msgspec.json.encode(args).decode()
