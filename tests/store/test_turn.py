"""Turns, as workers store them: order, atomic promotion, and what they cost."""

from engine.chat.commands import (
    ClearContext,
    CommitStep,
    EditMessage,
    EditQueuedMessage,
    FinishInterruption,
    FinishTurn,
    Interrupt,
    PromoteQueuedMessage,
    SendMessage,
)
from engine.chat.content import NewMessage, Role, Visibility, plain, text_of
from engine.chat.decision import Refusal, RefusalReason
from engine.chat.ids import MessageId, QueuedId
from engine.chat.snapshot import ChatStatus
from engine.store.chat_machine import ChatMachine
from engine.store.leases import Leases
from engine.store.pool import Pool
from engine.store.rows import ChatRows
from tests.store.story import (
    ADA,
    LEASE_SECONDS,
    answer,
    call,
    calls_message,
    fence_of,
    force_running,
    history,
    new_chat,
    result,
    result_message,
    submit,
    submit_refused,
    texts,
    waiting_chat,
)

STATEMENTS_OF_A_TURN = 6
"""Round trips: send 2, acquire 1, read the prompt 1, finish 2."""


async def test_a_turn_costs_few_statements(machine: ChatMachine, pool: Pool) -> None:
    chat_id = await waiting_chat(machine, pool)
    before = pool.statement_count

    await submit(machine, chat_id, SendMessage(content=plain("and?"), source_key="2.0"))
    (held,) = await Leases(pool).acquire_chats(1, LEASE_SECONDS)
    prompt = await ChatRows(pool).read_prompt(chat_id)
    done = FinishTurn(fence=fence_of(held, history=True), messages=(answer("so"),))
    await submit(machine, chat_id, done)

    assert pool.statement_count - before == STATEMENTS_OF_A_TURN
    assert prompt is not None
    assert prompt.history_version == held.change.history_version


async def test_statement_count_is_what_the_driver_sends(machine: ChatMachine, pool: Pool) -> None:
    async def ask() -> None:
        chat_id = await new_chat(machine)
        await submit(machine, chat_id, SendMessage(content=plain("and?")))
        await submit_refused(machine, chat_id, SendMessage(content=plain(" ")))
        await ChatRows(pool).read_messages(chat_id)

    await ask()  # On a new connection the driver asks for the types that it does not know.
    sent: list[str] = []
    async with pool._connections.acquire() as connection:
        connection.add_query_logger(lambda record: sent.append(record.query))
    before = pool.statement_count

    await ask()

    assert len(sent) == pool.statement_count - before


async def test_finished_turn_goes_on_with_the_head_of_the_queue(
    machine: ChatMachine, pool: Pool
) -> None:
    chat_id = await new_chat(machine)
    held = await force_running(pool, chat_id)
    for text in ("first", "second"):
        await submit(machine, chat_id, SendMessage(content=plain(text), author=ADA))

    done = await submit(
        machine, chat_id, FinishTurn(fence=fence_of(held), messages=(answer("hi"),))
    )

    assert await texts(pool, chat_id) == ["hello", "hi", "first"]
    assert done.snapshot.status is ChatStatus.RUNNING
    assert done.snapshot.runner_id == held.runner_id
    assert len(done.snapshot.queue) == 1
    assert (await history(pool, chat_id))[-1].author == ADA


async def test_partial_answer_stands_before_the_message_that_interrupted_it(
    machine: ChatMachine, pool: Pool
) -> None:
    """E9 (store part)"""
    chat_id = await new_chat(machine)
    held = await force_running(pool, chat_id)
    await submit(machine, chat_id, SendMessage(content=plain("stop that")))
    await submit(machine, chat_id, Interrupt())

    partial = FinishInterruption(fence=fence_of(held), messages=(answer("I was about"),))
    await submit(machine, chat_id, partial)

    assert await texts(pool, chat_id) == ["hello", "I was about", "stop that"]


async def test_step_with_calls_and_results_keeps_its_order(
    machine: ChatMachine, pool: Pool
) -> None:
    chat_id = await new_chat(machine)
    held = await force_running(pool, chat_id)
    messages = (
        calls_message(call("a"), call("b")),
        result_message(result("a", 1)),
        result_message(result("b", 2)),
    )

    stored = await submit(machine, chat_id, CommitStep(fence=fence_of(held), messages=messages))

    assert len(stored.message_ids) == 3
    assert [m.content for m in (await history(pool, chat_id))[1:]] == [m.content for m in messages]


async def test_everything_of_a_message_is_stored(machine: ChatMachine, pool: Pool) -> None:
    chat_id = await new_chat(machine)
    held = await force_running(pool, chat_id)
    said = answer("hi")

    await submit(machine, chat_id, FinishTurn(fence=fence_of(held), messages=(said,)))

    stored = (await history(pool, chat_id))[-1]
    for name in said.__struct_fields__:
        assert getattr(stored, name) == getattr(said, name), name


async def test_promoted_message_goes_first_and_edits_of_the_queue_stick(
    machine: ChatMachine, pool: Pool
) -> None:
    chat_id = await new_chat(machine)
    held = await force_running(pool, chat_id)
    queued: list[QueuedId] = []
    for text in ("one", "two", "three"):
        sent = await submit(machine, chat_id, SendMessage(content=plain(text)))
        assert sent.queued_id is not None
        queued.append(sent.queued_id)

    edit = EditQueuedMessage(queued_id=queued[1], content=plain("TWO"))
    await submit(machine, chat_id, edit)
    moved = await submit(machine, chat_id, PromoteQueuedMessage(queued_id=queued[2]))
    assert moved.snapshot.queue == (queued[2], queued[0], queued[1])
    moved = await submit(machine, chat_id, PromoteQueuedMessage(queued_id=queued[1]))
    assert moved.snapshot.queue == (queued[1], queued[2], queued[0])
    last = await submit(machine, chat_id, SendMessage(content=plain("four")))
    assert last.snapshot.queue == (*moved.snapshot.queue, last.queued_id)

    waiting = await ChatRows(pool).read_queue(chat_id)
    assert [text_of(message.content) for message in waiting] == ["TWO", "three", "one", "four"]
    await submit(machine, chat_id, FinishInterruption(fence=fence_of(held)))
    assert await texts(pool, chat_id) == ["hello", "TWO"]


async def test_edit_fences_off_whoever_was_answering(machine: ChatMachine, pool: Pool) -> None:
    """E10 (store part)"""
    chat_id = await waiting_chat(machine, pool)
    await submit(machine, chat_id, SendMessage(content=plain("and?")))
    held = await force_running(pool, chat_id)
    await submit(machine, chat_id, SendMessage(content=plain("queued")))
    first = (await history(pool, chat_id))[0]

    edited = await submit(machine, chat_id, EditMessage(message_id=first.id, content=plain("hi!")))

    late = await submit_refused(
        machine, chat_id, FinishTurn(fence=fence_of(held), messages=(answer("late"),))
    )
    assert late.reason is RefusalReason.LEASE_LOST
    assert await texts(pool, chat_id) == ["hi!"]
    (message,) = await history(pool, chat_id)
    assert message.id == edited.message_ids[0] != first.id
    assert (message.author, message.source_key) == (first.author, first.source_key)
    view = await ChatRows(pool).read_chat(chat_id)
    assert view is not None
    assert (view.status, view.queue_length) == ("pending", 0)


async def test_edit_of_another_chats_message_is_not_found(machine: ChatMachine, pool: Pool) -> None:
    """E16"""
    mine, other = await new_chat(machine), await new_chat(machine)
    (message,) = await history(pool, other)

    refused = await machine.submit(mine, EditMessage(message_id=message.id, content=plain("x")))

    assert refused == Refusal(reason=RefusalReason.MESSAGE_NOT_FOUND)
    unknown = EditMessage(message_id=MessageId(10**12), content=plain("x"))
    assert await machine.submit(mine, unknown) == refused


async def test_edit_of_an_answer_is_refused(machine: ChatMachine, pool: Pool) -> None:
    """E17"""
    chat_id = await waiting_chat(machine, pool)
    said = (await history(pool, chat_id))[-1]

    refused = await submit_refused(
        machine, chat_id, EditMessage(message_id=said.id, content=plain("x"))
    )

    assert refused.reason is RefusalReason.NOT_A_USER_MESSAGE


async def test_cleared_context_is_hidden_from_the_model_but_not_from_people(
    machine: ChatMachine, pool: Pool
) -> None:
    rows = ChatRows(pool)
    chat_id = await waiting_chat(machine, pool)
    await submit(machine, chat_id, ClearContext())
    await submit(machine, chat_id, SendMessage(content=plain("new topic"), source_key="2.0"))

    prompt = await rows.read_prompt(chat_id)

    assert prompt is not None
    assert [text_of(m.content) for m in prompt.messages] == ["new topic"]
    assert await texts(pool, chat_id) == ["hello", "hi", "new topic"]


async def test_edit_from_before_the_context_was_cleared_brings_it_back(
    machine: ChatMachine, pool: Pool
) -> None:
    rows = ChatRows(pool)
    chat_id = await waiting_chat(machine, pool)
    second = await submit(machine, chat_id, SendMessage(content=plain("second")))
    held = await force_running(pool, chat_id)
    await submit(machine, chat_id, FinishTurn(fence=fence_of(held), messages=(answer("ok"),)))
    await submit(machine, chat_id, ClearContext())

    edit = EditMessage(message_id=second.message_ids[0], content=plain("SECOND"))
    await submit(machine, chat_id, edit)

    prompt = await rows.read_prompt(chat_id)
    assert prompt is not None
    assert [text_of(m.content) for m in prompt.messages] == ["hello", "hi", "SECOND"]


async def test_prompt_has_what_the_model_may_see_and_system_messages_always(
    machine: ChatMachine, pool: Pool
) -> None:
    rows = ChatRows(pool)
    chat_id = await new_chat(machine)
    held = await force_running(pool, chat_id)
    notes = (
        NewMessage(role=Role.SYSTEM, content=plain("rules"), visibility=Visibility.MODEL),
        NewMessage(role=Role.ASSISTANT, content=plain("shown"), visibility=Visibility.USER),
        NewMessage(role=Role.ASSISTANT, content=plain("both")),
    )
    await submit(machine, chat_id, FinishTurn(fence=fence_of(held), messages=notes))
    await submit(machine, chat_id, ClearContext())
    await submit(machine, chat_id, SendMessage(content=plain("next"), source_key="2.0"))

    prompt = await rows.read_prompt(chat_id)

    assert prompt is not None
    assert [text_of(m.content) for m in prompt.messages] == ["rules", "next"]
    assert [text_of(m.content) for m in await rows.read_messages(chat_id)] == [
        "hello",
        "shown",
        "both",
        "next",
    ]
