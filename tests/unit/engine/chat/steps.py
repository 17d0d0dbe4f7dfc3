"""Random lives of a chat: steps that name things by position, so that any chat can live them.

`steps()` draws steps; `resolve` turns one into a command for the chat that a Sight describes. The
same steps give the same commands for the model and for a chat in Postgres, but for generated ids.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TypeVar

from hypothesis import strategies as st

from engine.chat import commands as c
from engine.chat.content import (
    Author,
    Content,
    Finish,
    NewMessage,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    Visibility,
    plain,
)
from engine.chat.errors import ChatError, ErrorKind, RetryState
from engine.chat.ids import ActionId, MessageId, QueuedId, RunnerId, ToolCallId
from engine.chat.snapshot import Executor, OpenCall
from engine.chat.summaries import SUMMARY_TOOL

T = TypeVar("T")

NOW = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
DEADLINE = NOW + timedelta(hours=1)
LATER = NOW + timedelta(hours=2)
ADA = Author(identity="slack:T1:U1", name="Ada")
BO = Author(identity="slack:T1:U2", name="Bo")
HARBOUR = c.ThreadBinding(platform="slack", installation="T1", channel="C1", thread="1.0")
OVERLOADED = ChatError(kind=ErrorKind.OVERLOADED, message="The model is overloaded.")
RETRY = RetryState(attempt=1, delay_ms=500, retrying_at=NOW.timestamp(), error=OVERLOADED)


class Do(StrEnum):
    """What happens in a step."""

    SEND = "send"
    INTERRUPTING_SEND = "interrupting_send"
    EDIT = "edit"
    AMEND = "amend"
    EDIT_QUEUED = "edit_queued"
    DELETE_QUEUED = "delete_queued"
    PROMOTE = "promote"
    INTERRUPT = "interrupt"
    SUBMIT = "submit"
    ANSWER = "answer"
    ARCHIVE = "archive"
    UNARCHIVE = "unarchive"
    COMPACT = "compact"
    CLEAR = "clear"
    ACQUIRE = "acquire"
    LOSE_LEASE = "lose_lease"
    COMMIT = "commit"
    ASK = "ask"
    FINISH = "finish"
    SUMMARISE = "summarise"
    SUMMARISE_AND_FINISH = "summarise_and_finish"
    FINISH_INTERRUPTION = "finish_interruption"
    FAIL = "fail"
    ATTEMPT = "attempt"
    RETRY = "retry"
    RELEASE = "release"
    EXPIRE = "expire"


PEOPLE = (
    Do.SEND, Do.INTERRUPTING_SEND, Do.EDIT, Do.AMEND, Do.EDIT_QUEUED, Do.DELETE_QUEUED, Do.PROMOTE,
    Do.INTERRUPT, Do.SUBMIT, Do.ANSWER, Do.ARCHIVE, Do.UNARCHIVE, Do.COMPACT, Do.CLEAR,
)  # fmt: skip
WORKERS = (
    Do.COMMIT, Do.ASK, Do.FINISH, Do.SUMMARISE, Do.SUMMARISE_AND_FINISH, Do.FINISH_INTERRUPTION,
    Do.FAIL, Do.ATTEMPT, Do.RETRY, Do.RELEASE, Do.EXPIRE, Do.ACQUIRE, Do.LOSE_LEASE,
)  # fmt: skip


class Fencing(StrEnum):
    """Whose fence a worker's step carries."""

    RIGHT = "right"
    ANY_HISTORY = "any_history"
    OLD_HISTORY = "old_history"
    OLD_RUNNER = "old_runner"


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a worker's step stores: perhaps an answer with calls, perhaps results, maybe wrong."""

    text: str = ""
    executors: tuple[Executor, ...] = ()
    results: int = 0
    stray_result: bool = False
    told_open: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing that happens. `pick` chooses among what is there, counted round and round."""

    do: Do
    pick: int = 0
    source_key: str | None = None
    blank: bool = False
    wrong: bool = False
    notify: bool = False
    fencing: Fencing = Fencing.RIGHT
    said: Said = Said()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What `resolve` must see of a chat: its ids in order, and who holds it."""

    message_ids: tuple[MessageId, ...]
    queued_ids: tuple[QueuedId, ...]
    open_action_ids: tuple[ActionId, ...]
    open_calls: tuple[OpenCall, ...]
    runner_id: RunnerId | None
    old_runner_id: RunnerId
    history_version: int


def said() -> st.SearchStrategy[Said]:
    """What a worker may store, often sensible."""
    return st.builds(
        Said,
        text=st.sampled_from(["", "Aye.", "The ferry leaves at nine."]),
        executors=st.lists(st.sampled_from(Executor), max_size=3).map(tuple),
        results=st.integers(0, 3),
        stray_result=st.sampled_from([False, False, False, True]),
        told_open=st.sampled_from([True, True, True, False]),
    )


def steps(does: tuple[Do, ...] = (*PEOPLE, *WORKERS)) -> st.SearchStrategy[Step]:
    """One step out of `does`, mostly by those who may, on things that are there."""
    rarely = st.sampled_from([False] * 9 + [True])
    return st.builds(
        Step,
        do=st.sampled_from(does),
        pick=st.integers(0, 9),
        source_key=st.none() | st.sampled_from(["slack:1", "slack:2", "slack:3"]),
        blank=rarely,
        wrong=rarely,
        notify=st.booleans(),
        fencing=st.sampled_from([Fencing.RIGHT] * 9 + list(Fencing)),
        said=said(),
    )


def resolve(step: Step, sight: Sight, text: str) -> c.Command | None:
    """The command of a step that is one. `text` is what is said in it, told apart from all else."""
    content = plain(" \n" if step.blank else text)
    if step.do in (Do.SUMMARISE, Do.SUMMARISE_AND_FINISH):
        messages = _summary(step, sight, text)
        ends_turn = step.do is Do.SUMMARISE_AND_FINISH
        fence = _fence(step.fencing, sight)
        return c.CompactHistory(
            fence=fence, messages=messages, ends_turn=ends_turn, notify=step.notify
        )
    if step.do in WORKERS:
        return _worker_command(step, sight)
    match step.do:
        case Do.SEND | Do.INTERRUPTING_SEND:
            interrupts = step.do is Do.INTERRUPTING_SEND
            return c.SendMessage(
                content=content,
                author=ADA,
                source_key=step.source_key,
                busy=c.BusyBehavior.INTERRUPT if interrupts else c.BusyBehavior.QUEUE,
            )
        case Do.EDIT | Do.AMEND:
            message_id = _pick(sight.message_ids, step) or MessageId(0)
            rerun = step.do is Do.EDIT
            return c.EditMessage(message_id=message_id, content=content, author=BO, rerun=rerun)
        case Do.INTERRUPT:
            return c.Interrupt(by=BO)
        case Do.SUBMIT:
            return c.SubmitToolResults(results=_results(sight, step), by=ADA)
        case Do.ANSWER:
            action_id = _pick(sight.open_action_ids, step) or ActionId(0)
            return c.AnswerAction(action_id=action_id, result={"value": text}, by=BO)
        case Do.ARCHIVE:
            return c.Archive()
        case Do.UNARCHIVE:
            return c.Unarchive()
        case Do.COMPACT:
            return c.RequestCompaction()
        case Do.CLEAR:
            return c.ClearContext()
        case _:
            return _queue_command(step, sight, content)


def _queue_command(step: Step, sight: Sight, content: Content) -> c.Command:
    queued_id = _pick(sight.queued_ids, step) or QueuedId(0)
    match step.do:
        case Do.EDIT_QUEUED:
            return c.EditQueuedMessage(queued_id=queued_id, content=content)
        case Do.DELETE_QUEUED:
            return c.DeleteQueuedMessage(queued_id=queued_id)
        case _:
            return c.PromoteQueuedMessage(queued_id=queued_id)


def _worker_command(step: Step, sight: Sight) -> c.Command | None:
    fence = _fence(step.fencing, sight)
    messages, open_calls = _messages(step.said, sight)
    claimed = open_calls if step.said.told_open else ()
    match step.do:
        case Do.COMMIT:
            reserve = tuple(
                c.Reservation(tool_call_id=call.tool_call_id, tool_name=call.tool_name)
                for call in open_calls
                if step.said.executors and not call.is_dynamic and step.pick % 2
            )
            return c.CommitStep(fence=fence, messages=messages, open_calls=claimed, reserve=reserve)
        case Do.ASK:
            asked = tuple(call for call in open_calls if call.is_dynamic)
            return c.EnterRequiresAction(
                fence=fence,
                messages=messages,
                open_calls=asked,
                actions=tuple(_action(call) for call in asked),
                deadline_at=DEADLINE,
                notify=step.notify,
            )
        case Do.FINISH:
            return c.FinishTurn(fence=fence, messages=messages, notify=step.notify)
        case Do.FINISH_INTERRUPTION:
            return c.FinishInterruption(fence=fence, messages=messages)
        case Do.FAIL:
            return c.FinishError(
                fence=fence, error=OVERLOADED, messages=messages, notify=step.notify
            )
        case Do.ATTEMPT:
            return c.RecordAttempt(fence=fence)
        case Do.RETRY:
            return c.RecordRetry(fence=fence, retry=RETRY)
        case Do.RELEASE:
            return c.ReleaseLease(fence=fence)
        case Do.EXPIRE:
            return c.ExpireActions()
        case _:
            return None


def _pick(things: tuple[T, ...], step: Step) -> T | None:
    return things[step.pick % len(things)] if things and not step.wrong else None


def _fence(fencing: Fencing, sight: Sight) -> c.Fence:
    runner_id = sight.runner_id or sight.old_runner_id
    match fencing:
        case Fencing.RIGHT:
            return c.Fence(runner_id=runner_id, history_version=sight.history_version)
        case Fencing.ANY_HISTORY:
            return c.Fence(runner_id=runner_id)
        case Fencing.OLD_HISTORY:
            return c.Fence(runner_id=runner_id, history_version=sight.history_version - 1)
        case Fencing.OLD_RUNNER:
            return c.Fence(runner_id=sight.old_runner_id, history_version=sight.history_version)


def _messages(said: Said, sight: Sight) -> tuple[tuple[NewMessage, ...], tuple[OpenCall, ...]]:
    """Results of the first open calls, then an answer with calls; and what is open after them.

    Ids of calls begin anew in every answer, as some providers' do.
    """
    answered = [call.tool_call_id for call in sight.open_calls[: said.results]]
    answered += [ToolCallId("call_9")] if said.stray_result else []
    messages = tuple(
        NewMessage(role=Role.TOOL, content=(_result(call_id, "done"),)) for call_id in answered
    )
    if not said.text and not said.executors:
        return messages, sight.open_calls[said.results :]
    calls = tuple(
        OpenCall(
            tool_call_id=ToolCallId(f"call_{number}"),
            tool_name=f"{executor}_tool",
            executor=executor,
            on_timeout_continue=executor is Executor.CALLBACK,
        )
        for number, executor in enumerate(said.executors)
    )
    parts = (
        *((TextPart(text=said.text),) if said.text else ()),
        *(ToolCallPart(tool_call_id=call.tool_call_id, tool_name=call.tool_name) for call in calls),
    )
    finish = Finish.TOOL_CALLS if calls else Finish.STOP
    answer = NewMessage(role=Role.ASSISTANT, content=parts, model="wren-1", finish=finish)
    return (*messages, answer), calls


def _summary(step: Step, sight: Sight, text: str) -> tuple[NewMessage, ...]:
    """A summary of all up to some message, often the newest, and what people are told of it."""
    boundary = sight.message_ids[-1 - (step.pick if step.pick < len(sight.message_ids) else 0)]
    call_id = ToolCallId("summary_1")
    call = ToolCallPart(tool_call_id=call_id, tool_name=SUMMARY_TOOL)
    summary = NewMessage(
        role=Role.USER,
        content=plain(f"summary: {text}"),
        visibility=Visibility.MODEL,
        summary_of=boundary,
    )
    note = NewMessage(role=Role.ASSISTANT, content=(call,), visibility=Visibility.USER)
    result = NewMessage(
        role=Role.TOOL, content=(_result(call_id, text),), visibility=Visibility.USER
    )
    return (summary, note, result)


def _results(sight: Sight, step: Step) -> tuple[ToolResultPart, ...]:
    results = tuple(_result(call.tool_call_id, "granted") for call in sight.open_calls)
    return results[1:] if step.wrong else results[::-1]


def _result(call_id: ToolCallId, text: str) -> ToolResultPart:
    return ToolResultPart(tool_call_id=call_id, tool_name="tool", result={"value": text})


def _action(call: OpenCall) -> c.NewAction:
    return c.NewAction(
        tool_call_id=call.tool_call_id,
        tool_name=call.tool_name,
        executor=call.executor,
        args="{}",
    )
