"""What a turn's tools are doing, as cards that people can watch (pure).

A card names its call for good: by the number of the step that made it, since models use the ids of calls
again in later steps, and a step has its number before it is stored. Calls that ask people are none: they
are shown as questions.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from adapters.contract import TaskCard, TaskState
from adapters.delivery.chat_mirror import ChatMirror
from engine.chat.content import Message, Role, ToolCallPart, ToolResultPart
from engine.chat.ids import MessageId, ToolCallId

TITLE_MAX = 120


def cards_by_step(
    replies: Sequence[Message], *, asked: Mapping[MessageId, Collection[ToolCallId]], runs: bool
) -> dict[MessageId, tuple[TaskCard, ...]]:
    """The cards of each stored step of a turn. `runs`: calls without a result are still running."""
    steps = [message for message in replies if message.role is Role.ASSISTANT]
    cards = {}
    for number, step in enumerate(steps):
        until = steps[number + 1].id if number + 1 < len(steps) else None
        results = _results(replies, after=step.id, until=until)
        cards[step.id] = tuple(
            _card(number, call.tool_call_id, call.tool_name, results, runs=runs)
            for call in step.content
            if isinstance(call, ToolCallPart) and call.tool_call_id not in asked.get(step.id, ())
        )
    return cards


def live_cards(mirror: ChatMirror, replies: Sequence[Message]) -> tuple[TaskCard, ...]:
    """The cards of the step in flight, whose calls are still being written."""
    number = sum(message.role is Role.ASSISTANT for message in replies)
    return tuple(
        TaskCard(id=f"{number}:{call_id}", title=name[:TITLE_MAX], state=TaskState.PENDING)
        for call_id, name in mirror.live_calls.items()
    )


def with_live_results(
    cards: Sequence[TaskCard], results: Mapping[ToolCallId, bool]
) -> tuple[TaskCard, ...]:
    """The cards with the results that are coming in for calls that run; True marks a failed one."""
    return tuple(
        replace(card, state=_state_after(failed=results[call_id]))
        if card.state is TaskState.IN_PROGRESS
        and (call_id := ToolCallId(card.id.partition(":")[2])) in results
        else card
        for card in cards
    )


def _results(
    replies: Sequence[Message], *, after: MessageId, until: MessageId | None
) -> dict[ToolCallId, bool]:
    return {
        part.tool_call_id: part.is_error
        for message in replies
        if message.id > after and (until is None or message.id < until)
        for part in message.content
        if isinstance(part, ToolResultPart)
    }


def _card(
    number: int, call_id: ToolCallId, name: str, results: Mapping[ToolCallId, bool], *, runs: bool
) -> TaskCard:
    if call_id in results:
        state = _state_after(failed=results[call_id])
    else:
        state = TaskState.IN_PROGRESS if runs else TaskState.ERROR
    return TaskCard(id=f"{number}:{call_id}", title=name[:TITLE_MAX], state=state)


def _state_after(*, failed: bool) -> TaskState:
    return TaskState.ERROR if failed else TaskState.COMPLETE
