"""Builds chats as a deliverer hears of them, one message a second."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from adapters.delivery.chat_mirror import ChatMirror
from engine.chat.actions import RequiredAction
from engine.chat.changes import Episode
from engine.chat.content import (
    Author,
    Finish,
    Message,
    Part,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from engine.chat.errors import ChatError
from engine.chat.form import Form, FormKind, Option
from engine.chat.ids import ActionId, ChatId, MessageId, ToolCallId
from engine.chat.snapshot import Executor
from engine.chat.view import ShownStatus
from engine.chat.writes import ActionState
from engine.stream.events import (
    ActionsEvent,
    ErrorEvent,
    Event,
    LivePart,
    MessageEvent,
    PartEvent,
    StatusEvent,
    TextDelta,
)

CHAT = ChatId(UUID(int=7))
NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
ADA = Author(identity="slack:T1:U1", name="Ada")
YES_NO = Form(
    question="Ship it?",
    kind=FormKind.BUTTONS,
    options=(
        Option(label="Yes", value={"answer": True}),
        Option(label="No", value={"answer": False}),
    ),
)


def at(second: int) -> datetime:
    return NOON + timedelta(seconds=second)


def message(number: int, role: Role, *parts: Part, **fields: Any) -> Message:
    return Message(
        id=MessageId(number),
        chat_id=CHAT,
        role=role,
        content=parts,
        created_at=at(number),
        **fields,
    )


def asks(number: int, text: str = "Hello", source: str | None = None) -> Message:
    return message(number, Role.USER, TextPart(text=text), source_key=source)


def says(number: int, *texts: str, finish: Finish | None = Finish.STOP) -> Message:
    return message(number, Role.ASSISTANT, *[TextPart(text=t) for t in texts], finish=finish)


def thinks_and_says(number: int, thought: str, text: str) -> Message:
    return message(number, Role.ASSISTANT, ReasoningPart(text=thought), TextPart(text=text))


def calls(number: int, *names: str, text: str = "") -> Message:
    parts: list[Part] = [TextPart(text=text)] if text else []
    parts += [ToolCallPart(tool_call_id=ToolCallId(f"call-{n}"), tool_name=n) for n in names]
    return message(number, Role.ASSISTANT, *parts, finish=Finish.TOOL_CALLS)


def results(number: int, *names: str) -> Message:
    parts = [
        ToolResultPart(tool_call_id=ToolCallId(f"call-{n}"), tool_name=n, result="ok")
        for n in names
    ]
    return message(number, Role.TOOL, *parts)


def question(
    number: int,
    name: str = "ask_people",
    *,
    second: int | None = None,
    state: ActionState = ActionState.OPEN,
    by: Author | None = None,
    answer: Any = None,
    form: Form = YES_NO,
) -> RequiredAction:
    return RequiredAction(
        id=ActionId(number),
        chat_id=CHAT,
        tool_call_id=ToolCallId(f"call-{name}"),
        tool_name=name,
        executor=Executor.PEOPLE,
        args="{}",
        state=state,
        created_at=at(number if second is None else second),
        closed_at=None if state is ActionState.OPEN else at(1000),
        form=msgspec.to_builtins(form),
        answered_by=by,
        answer=answer,
    )


def status(shown: ShownStatus, version: int = 1) -> StatusEvent:
    return StatusEvent(status=shown, archived=False, snapshot_version=version)


def part(live: LivePart, seq: int = 1) -> PartEvent:
    return PartEvent(episode=Episode(history_version=1, attempt=1), seq=seq, part=live)


def text_part(text: str, seq: int = 1) -> PartEvent:
    return part(TextDelta(text=text), seq)


def mirror_of(*events: Event | Message | RequiredAction, shown: ShownStatus) -> ChatMirror:
    mirror = ChatMirror()
    for event in events:
        match event:
            case Message():
                mirror.apply([MessageEvent(message=event)])
            case RequiredAction():
                mirror.put_actions([event])
            case _:
                mirror.apply([event])
    mirror.apply([status(shown)])
    return mirror


def failed(error: ChatError) -> ErrorEvent:
    return ErrorEvent(error=error)


def open_actions(*actions: RequiredAction) -> ActionsEvent:
    return ActionsEvent(actions=actions)
