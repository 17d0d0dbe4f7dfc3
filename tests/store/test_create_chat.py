"""Creating chats: one per thread and per id, whoever comes first."""

import asyncio
from dataclasses import replace
from uuid import uuid4

from engine.chat.changes import ChatChange
from engine.chat.commands import CreateChat, ThreadBinding
from engine.chat.content import Author, plain
from engine.chat.decision import Refusal
from engine.chat.ids import ChatId
from engine.chat.snapshot import ChatStatus
from engine.store.chat_machine import ChatMachine
from engine.store.leases import Leases
from engine.store.outcomes import Created, Existing
from engine.store.pool import Pool

ADA = Author(identity="slack:T1:U1", name="Ada")
HARBOUR = ThreadBinding(platform="slack", installation="T1", channel="#harbour", thread="1.0")


def hello(binding: ThreadBinding | None = None) -> CreateChat:
    return CreateChat(
        chat_id=ChatId(uuid4()),
        content=plain("hello"),
        author=ADA,
        source_key="1.0",
        bot="wren",
        system_prompt="You are Wren.",
        binding=binding,
    )


async def test_new_chat_runs_and_says_so(machine: ChatMachine, changes: list[ChatChange]) -> None:
    command = hello(HARBOUR)

    created = await machine.create(command)

    assert isinstance(created, Created)
    assert len(created.message_ids) == 2
    (change,) = changes
    assert (change.chat_id, change.status) == (command.chat_id, ChatStatus.RUNNING)
    assert change.wake


async def test_second_chat_for_a_thread_is_the_first_one(machine: ChatMachine) -> None:
    first = hello(HARBOUR)
    await machine.create(first)

    assert await machine.create(hello(HARBOUR)) == Existing(chat_id=first.chat_id)


async def test_ten_replicas_that_create_for_one_thread_make_one_chat(
    machine: ChatMachine, changes: list[ChatChange]
) -> None:
    outcomes = await asyncio.gather(*(machine.create(hello(HARBOUR)) for _ in range(10)))

    created = [outcome for outcome in outcomes if isinstance(outcome, Created)]
    assert len(created) == 1
    others = [outcome for outcome in outcomes if not isinstance(outcome, Created)]
    assert others == [Existing(chat_id=created[0].chat_id)] * 9
    assert len(changes) == 1


async def test_same_id_twice_is_one_chat(machine: ChatMachine) -> None:
    command = hello()
    await machine.create(command)

    assert await machine.create(command) == Existing(chat_id=command.chat_id)


async def test_chat_without_a_word_is_refused(
    machine: ChatMachine, changes: list[ChatChange]
) -> None:
    command = CreateChat(chat_id=ChatId(uuid4()), content=plain("  "))

    assert isinstance(await machine.create(command), Refusal)
    assert changes == []


async def test_fields_of_a_tool_keep_their_authors_order(machine: ChatMachine, pool: Pool) -> None:
    """A form shows its fields in the order of the schema that the client wrote."""
    names = ["zebra", "a", "middle", "b"]
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in names}}
    command = replace(hello(), dynamic_tools=({"name": "fill_in", "outputSchema": schema},))
    await machine.create(command)
    (acquired,) = await Leases(pool).acquire_chats(1, 30.0)
    (tool,) = acquired.dynamic_tools
    assert list(tool["outputSchema"]["properties"]) == names
