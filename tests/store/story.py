"""The story that store tests tell: Ada and Bo talk to Wren in #harbour, workers come and go."""

from typing import Any
from uuid import uuid4

from engine.chat.commands import (
    Command,
    CommitStep,
    CreateChat,
    EnterRequiresAction,
    Fence,
    FinishTurn,
    NewAction,
    Reservation,
    ThreadBinding,
)
from engine.chat.content import (
    Author,
    Finish,
    Message,
    NewMessage,
    Part,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    Usage,
    plain,
    text_of,
)
from engine.chat.decision import Refusal
from engine.chat.ids import ChatId, RunnerId, ToolCallId
from engine.chat.snapshot import Executor, OpenCall
from engine.store.chat_machine import ChatMachine
from engine.store.errors import StoreUnavailable
from engine.store.leases import AcquiredChat, Leases
from engine.store.outcomes import Applied, Created
from engine.store.pool import Pool
from engine.store.rows import ChatRows

ADA = Author(identity="slack:T1:U1", name="Ada")
BO = Author(identity="slack:T1:U2", name="Bo")
LEASE_SECONDS = 30.0


def harbour(thread: str = "1.0") -> ThreadBinding:
    """A thread in #harbour."""
    return ThreadBinding(platform="slack", installation="T1", channel="#harbour", thread=thread)


async def new_chat(
    machine: ChatMachine, text: str = "hello", *, binding: ThreadBinding | None = None
) -> ChatId:
    """A chat that Ada has just started; it is pending."""
    command = CreateChat(
        chat_id=ChatId(uuid4()),
        content=plain(text),
        author=ADA,
        source_key="1.0",
        bot="wren",
        binding=binding,
    )
    created = await machine.create(command)
    assert isinstance(created, Created)
    return created.chat_id


async def submit(machine: ChatMachine, chat_id: ChatId, command: Command) -> Applied:
    """Submit a command that must be applied."""
    outcome = await machine.submit(chat_id, command)
    assert isinstance(outcome, Applied), outcome
    return outcome


async def submit_refused(machine: ChatMachine, chat_id: ChatId, command: Command) -> Refusal:
    """Submit a command that must be refused."""
    outcome = await machine.submit(chat_id, command)
    assert isinstance(outcome, Refusal), outcome
    return outcome


async def force_running(pool: Pool, chat_id: ChatId, lease_seconds: float = 3600.0) -> AcquiredChat:
    """Let a foreign worker, which lives on, hold the chat."""
    acquired = {chat.chat_id: chat for chat in await Leases(pool).acquire_chats(100, lease_seconds)}
    held = acquired.pop(chat_id)
    await sql(pool, "UPDATE chats SET runner_id = NULL WHERE id = ANY ($1)", list(acquired))
    return held


async def waiting_chat(machine: ChatMachine, pool: Pool) -> ChatId:
    """A chat whose first turn is over."""
    chat_id = await new_chat(machine)
    held = await force_running(pool, chat_id)
    await submit(machine, chat_id, FinishTurn(fence=fence_of(held), messages=(answer("hi"),)))
    return chat_id


def fence_of(held: AcquiredChat, *, history: bool = False) -> Fence:
    """The fence of whoever acquired the chat."""
    version = held.change.history_version if history else None
    return Fence(runner_id=RunnerId(held.runner_id), history_version=version)


def answer(text: str) -> NewMessage:
    """What Wren says."""
    return NewMessage(
        role=Role.ASSISTANT,
        content=(TextPart(text=text),),
        model="demo",
        finish=Finish.STOP,
        usage=Usage(input_tokens=3, output_tokens=5),
        cost_micros=7,
        runtime_ms=11,
    )


def call(call_id: str, name: str = "ask", args: str = "{}") -> ToolCallPart:
    """A call that Wren makes."""
    return ToolCallPart(tool_call_id=ToolCallId(call_id), tool_name=name, args=args)


def calls_message(*parts: Part) -> NewMessage:
    """Wren's message with these calls."""
    return NewMessage(role=Role.ASSISTANT, content=parts, finish=Finish.TOOL_CALLS)


def result(call_id: str, value: Any, name: str = "ask") -> ToolResultPart:
    """The result of a call."""
    return ToolResultPart(tool_call_id=ToolCallId(call_id), tool_name=name, result=value)


def result_message(*results: ToolResultPart) -> NewMessage:
    """The tool message with these results."""
    return NewMessage(role=Role.TOOL, content=results)


async def ask_people(
    machine: ChatMachine, pool: Pool, chat_id: ChatId, *call_ids: str, deadline: Any
) -> Applied:
    """Run the chat until Wren asks people these questions."""
    held = await force_running(pool, chat_id)
    return await submit(
        machine,
        chat_id,
        EnterRequiresAction(
            fence=fence_of(held),
            messages=(calls_message(*(call(call_id) for call_id in call_ids)),),
            open_calls=tuple(
                OpenCall(
                    tool_call_id=ToolCallId(call_id), tool_name="ask", executor=Executor.PEOPLE
                )
                for call_id in call_ids
            ),
            actions=tuple(
                NewAction(
                    tool_call_id=ToolCallId(call_id),
                    tool_name="ask",
                    executor=Executor.PEOPLE,
                    args="{}",
                )
                for call_id in call_ids
            ),
            deadline_at=deadline,
        ),
    )


async def reserve(
    machine: ChatMachine, chat_id: ChatId, held: AcquiredChat, *call_ids: str
) -> Applied:
    """Store a step whose calls have side effects."""
    return await submit(
        machine,
        chat_id,
        CommitStep(
            fence=fence_of(held),
            messages=(calls_message(*(call(call_id, "deploy") for call_id in call_ids)),),
            open_calls=tuple(
                OpenCall(tool_call_id=ToolCallId(call_id), tool_name="deploy")
                for call_id in call_ids
            ),
            reserve=tuple(
                Reservation(tool_call_id=ToolCallId(call_id), tool_name="deploy")
                for call_id in call_ids
            ),
        ),
    )


async def history(pool: Pool, chat_id: ChatId) -> tuple[Message, ...]:
    """All messages that stand."""
    return await ChatRows(pool).read_messages(chat_id, audience=None)


async def texts(pool: Pool, chat_id: ChatId) -> list[str]:
    """Their texts."""
    return [text_of(message.content) for message in await history(pool, chat_id)]


async def sql(pool: Pool, statement: str, *args: object) -> list[Any]:
    """Do what no code of ours does."""
    async with pool.session() as connection:
        rows: list[Any] = await connection.fetch(statement, *args)
        return rows


async def reconnect(pool: Pool) -> None:
    """Let the pool notice that the server was restarted while the event loop stood still."""
    while True:
        try:
            await sql(pool, "SELECT 1")
        except StoreUnavailable:
            continue
        return
