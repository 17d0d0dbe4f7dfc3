"""A chat to tell stories with: what Ada and Bo say, what Wren answers, in few words."""

from typing import Any
from uuid import UUID

from engine.chat import commands as c
from engine.chat.content import (
    Finish,
    NewMessage,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    plain,
    text_of,
)
from engine.chat.decision import Decision, Refusal, RefusalReason
from engine.chat.ids import ChatId, MessageId, QueuedId, RunnerId
from engine.chat.snapshot import OpenCall
from tests.unit.engine.chat.model import ChatModel
from tests.unit.engine.chat.steps import ADA, BO, DEADLINE, NOW


def runner(number: int) -> RunnerId:
    """The number-th acquisition."""
    return RunnerId(UUID(int=number))


class Story:
    """One chat in #harbour, begun by Ada and running under runner 1."""

    def __init__(self, first: str = "hello", **create: Any) -> None:
        chat_id = ChatId(UUID(int=1))
        self.chat = ChatModel(
            c.CreateChat(chat_id=chat_id, content=plain(first), author=ADA, **create)
        )
        self.chat.acquire(runner(1))

    def do(self, command: c.Command) -> Decision:
        """Submit what must be accepted."""
        outcome = self.chat.submit(command, NOW)
        assert isinstance(outcome, Decision), outcome
        return outcome

    def refused(self, command: c.Command) -> RefusalReason:
        """Submit what must be refused; the reason."""
        outcome = self.chat.submit(command, NOW)
        assert isinstance(outcome, Refusal), outcome
        return outcome.reason

    def send(
        self, text: str, *, interrupt: bool = False, source_key: str | None = None
    ) -> Decision:
        """Bo says something."""
        busy = c.BusyBehavior.INTERRUPT if interrupt else c.BusyBehavior.QUEUE
        return self.do(
            c.SendMessage(content=plain(text), author=BO, source_key=source_key, busy=busy)
        )

    def fence(self, **changes: Any) -> c.Fence:
        """The fence of the worker that holds the chat."""
        assert self.chat.runner_id is not None
        present = {
            "runner_id": self.chat.runner_id,
            "history_version": self.chat.history_version,
        }
        return c.Fence(**{**present, **changes})

    def finish(self, text: str) -> Decision:
        """Wren's answer ends the turn."""
        return self.do(c.FinishTurn(fence=self.fence(), messages=(answer(text),)))

    def finish_interruption(self, *messages: NewMessage) -> Decision:
        """The interrupted turn is put away."""
        return self.do(c.FinishInterruption(fence=self.fence(), messages=messages))

    def call(self, *calls: OpenCall) -> Decision:
        """Wren calls tools."""
        return self.do(
            c.CommitStep(fence=self.fence(), messages=(calling(*calls),), open_calls=calls)
        )

    def ask(self, *calls: OpenCall) -> Decision:
        """Wren asks somebody outside, in a step of its own."""
        return self.do(
            c.EnterRequiresAction(
                fence=self.fence(),
                messages=(calling(*calls),),
                open_calls=calls,
                actions=tuple(
                    c.NewAction(
                        tool_call_id=call.tool_call_id,
                        tool_name=call.tool_name,
                        executor=call.executor,
                        args="{}",
                    )
                    for call in calls
                ),
                deadline_at=DEADLINE,
            )
        )

    @property
    def status(self) -> str:
        """The stored status."""
        return str(self.chat.row.status)

    @property
    def told(self) -> list[str]:
        """The history as people would read it: who and what, results as `tool: text`."""
        return [f"{s.message.role}: {_readable(s.message)}" for s in self.chat.live()]

    @property
    def queue(self) -> list[str]:
        """The texts that wait."""
        return [text_of(waiting.content) for waiting in self.chat.queue]

    def message_id(self, text: str) -> MessageId:
        """The live message that says this."""
        return next(s.id for s in self.chat.live() if text_of(s.message.content) == text)

    def queued_id(self, text: str) -> QueuedId:
        """The queued message that says this."""
        return next(waiting.id for waiting in self.chat.queue if text_of(waiting.content) == text)


def answer(text: str, finish: Finish = Finish.STOP) -> NewMessage:
    """What Wren says."""
    return NewMessage(role=Role.ASSISTANT, content=plain(text), finish=finish)


def calling(*calls: OpenCall) -> NewMessage:
    """A step of Wren's that is only calls."""
    parts = (
        ToolCallPart(tool_call_id=call.tool_call_id, tool_name=call.tool_name) for call in calls
    )
    return NewMessage(role=Role.ASSISTANT, content=tuple(parts), finish=Finish.TOOL_CALLS)


def result(call: OpenCall, value: Any, *, is_error: bool = False) -> ToolResultPart:
    """The answer to a call."""
    return ToolResultPart(
        tool_call_id=call.tool_call_id, tool_name=call.tool_name, result=value, is_error=is_error
    )


def done(call: OpenCall, value: Any) -> NewMessage:
    """The answer to a call, as it is stored."""
    return NewMessage(role=Role.TOOL, content=(result(call, value),))


def _readable(message: NewMessage) -> str:
    said = []
    for part in message.content:
        if isinstance(part, ToolResultPart):
            said.append(str(part.result["error"] if part.is_error else part.result))
        elif isinstance(part, ToolCallPart):
            said.append(f"{part.tool_name}()")
        else:
            assert isinstance(part, TextPart)
            said.append(part.text)
    return " ".join(said)
