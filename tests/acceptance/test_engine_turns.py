"""Turns through the real engine: Postgres, the worker and a model server on the wire."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import msgspec
import pytest

from engine.chat.commands import (
    DeleteQueuedMessage,
    FinishError,
    FinishTurn,
    PromoteQueuedMessage,
    RequestCompaction,
    SendMessage,
)
from engine.chat.content import Finish, NewMessage, Role, plain
from engine.chat.decision import Effect, RefusalReason
from engine.chat.errors import ChatError, ErrorKind
from engine.chat.view import ShownStatus
from tests.fakes.model_server import Call, FakeModel, Gate, Hang, Say, SeenRequest
from tests.fakes.replica import ADA, BO, FAST, ONLY_WAKES, TestReplica, eventually, soon


@pytest.fixture
async def model() -> AsyncIterator[FakeModel]:
    async with FakeModel.start() as fake:
        yield fake


def echo(request: SeenRequest) -> tuple[Say]:
    """Answer a message with its own words."""
    return (Say(f"You said: {words(request.last_text)}"),)


def words(text: str) -> str:
    """What is said, without by whom."""
    return text.removeprefix("Ada: ")


async def test_a_message_is_answered(database_url: str, model: FakeModel) -> None:
    """A first message is answered, and the chat waits for the next."""
    model.say("Good morning, Ada.")
    async with TestReplica.start(database_url, model.url) as replica:
        chat_id = await replica.chat("Good morning")
        await replica.until(chat_id, ShownStatus.WAITING)
        assert await replica.history(chat_id) == [
            ("user", "Good morning"),
            ("assistant", "Good morning, Ada."),
        ]
        (_, answer) = await replica.messages(chat_id)
        assert answer.finish is Finish.STOP
        assert answer.model == "test-model"
        assert answer.usage is not None
        assert answer.runtime_ms is not None


async def test_the_prompt_is_the_persona_and_the_history_in_order(
    database_url: str, model: FakeModel
) -> None:
    """The model is told who it is, what the chat adds to that, and all that was said, in order."""
    model.answer(echo)
    async with TestReplica.start(database_url, model.url, system="You are Wren.") as replica:
        chat_id = await replica.chat("one", system_prompt="Speak of ferries only.")
        await replica.until(chat_id, ShownStatus.WAITING)
        await replica.send(chat_id, "two")
        await replica.until(chat_id, lambda view: view.status is ShownStatus.WAITING)
    told = model.requests[1].messages
    assert told[0] == {"role": "system", "content": "You are Wren.\n\nSpeak of ferries only."}
    assert [(message["role"], message["content"].split(": ")[-1]) for message in told[1:]] == [
        ("user", "one"),
        ("assistant", "one"),
        ("user", "two"),
    ]
    assert model.requests[0].tool_names == ["ask_people"]
    assert model.refusals == []


async def test_a_chat_runs_at_once_without_a_poll(database_url: str, model: FakeModel) -> None:
    """E49: with a 1 h poll interval a created chat still runs at once."""
    async with TestReplica.start(database_url, model.url, worker=ONLY_WAKES) as replica:
        chat_id = await replica.chat()
        await replica.until(chat_id, ShownStatus.WAITING, seconds=5)
        assert len(model.requests) == 1


async def test_a_second_message_runs_at_once_without_a_poll(
    database_url: str, model: FakeModel
) -> None:
    """E50: so does a second message."""
    async with TestReplica.start(database_url, model.url, worker=ONLY_WAKES) as replica:
        chat_id = await replica.chat("one")
        await replica.until(chat_id, ShownStatus.WAITING, seconds=5)
        await replica.send(chat_id, "two")
        await soon(model.wait_for_requests(2))
        await replica.until(chat_id, ShownStatus.WAITING, seconds=5)
        assert [text for _, text in await replica.history(chat_id)] == [
            "one", "All right.", "two", "All right.",
        ]  # fmt: skip


async def test_a_turn_with_a_queue_goes_on_by_itself(database_url: str, model: FakeModel) -> None:
    """A turn that ends with queued messages answers them in order, without a poll."""
    model.script([Gate("one"), Say("first")])
    model.answer(echo)
    async with TestReplica.start(database_url, model.url, worker=ONLY_WAKES) as replica:
        chat_id = await replica.chat("one")
        await soon(model.reached("one"))
        await replica.send(chat_id, "two")
        await replica.send(chat_id, "three")
        model.release("one")
        await replica.until(chat_id, ShownStatus.WAITING, seconds=5)
        assert await replica.history(chat_id) == [
            ("user", "one"), ("assistant", "first"),
            ("user", "two"), ("assistant", "You said: two"),
            ("user", "three"), ("assistant", "You said: three"),
        ]  # fmt: skip
        assert await replica.queue(chat_id) == []


async def test_a_full_worker_goes_on_when_a_place_is_free(
    database_url: str, model: FakeModel
) -> None:
    """A worker that may run one chat runs the next as soon as the first is done, without a poll."""
    worker = replace(ONLY_WAKES, chats_max=1)
    model.script([Gate("one"), Say("first")])
    async with TestReplica.start(database_url, model.url, worker=worker) as replica:
        first = await replica.chat("one")
        await soon(model.reached("one"))
        second = await replica.chat("two")
        third = await replica.chat("three")
        assert len(model.requests) == 1
        model.release("one")
        for chat_id in (first, second, third):
            await replica.until(chat_id, ShownStatus.WAITING, seconds=5)


async def test_a_chat_whose_row_is_held_for_a_moment_is_not_passed_over(
    database_url: str, model: FakeModel
) -> None:
    """E50: a worker that is woken while a command holds the chat's row comes back for it."""
    async with (
        TestReplica.start(database_url, works=False) as other,
        TestReplica.start(database_url, model.url, worker=ONLY_WAKES) as replica,
    ):
        await replica.until(await replica.chat("warm up"), ShownStatus.WAITING)
        chat_id = await other.chat("one")
        async with other.replica.pool.transaction(locked_chat=chat_id):
            pool = replica.replica.pool
            before = pool.statement_count
            wake = msgspec.structs.replace(await other.stored(chat_id), wake=True)
            replica.engine.relay.publish_change(wake)

            async def has_looked() -> bool:
                return pool.statement_count > before

            await eventually(has_looked)
        await replica.until(chat_id, ShownStatus.WAITING, seconds=5)


async def test_a_message_to_a_running_chat_is_queued(database_url: str) -> None:
    """E7: forced running; send(queue): queued, status and lease unchanged, queue 1, history 1."""
    async with TestReplica.start(database_url, works=False) as replica:
        chat_id = await replica.chat("one")
        holder = await replica.hold(chat_id)
        sent = await replica.send(chat_id, "two")
        assert sent.effect is Effect.QUEUED
        stored = await replica.stored(chat_id)
        assert (stored.status, stored.runner_id) == ("running", holder.runner_id)
        assert (await replica.view(chat_id)).status is ShownStatus.RUNNING
        assert await replica.queue(chat_id) == ["two"]
        assert await replica.history(chat_id) == [("user", "one")]


async def test_a_backlog_is_answered_before_a_new_message(
    database_url: str, model: FakeModel
) -> None:
    """E8: a waiting chat with a backlog queues a new message behind it and promotes the head."""
    model.answer(echo)
    async with TestReplica.start(database_url, works=False) as replica:
        chat_id = await replica.chat("one")
        holder = await replica.hold(chat_id)
        await replica.send(chat_id, "two")
        # An error keeps the queue: a waiting chat with a backlog, as after a repair.
        error = ChatError(kind=ErrorKind.GENERIC, message="The model fell over.")
        await holder.report(FinishError(fence=holder.fence(), error=error))
        sent = await replica.send(chat_id, "three")
        assert sent.effect is Effect.QUEUED
        assert await replica.queue(chat_id) == ["three"]
        async with TestReplica.start(database_url, model.url):
            await replica.until(chat_id, ShownStatus.WAITING)
        assert [text for role, text in await replica.history(chat_id) if role == "user"] == [
            "one", "two", "three",
        ]  # fmt: skip
    assert [words(request.last_text) for request in model.requests] == ["two", "three"]


async def test_a_turn_that_goes_in_circles_is_ended(database_url: str, model: FakeModel) -> None:
    """A turn may take so many steps and no more; the chat says so and is usable."""
    model.answer(lambda _request: (Call("nothing_of_that_name"),))
    worker = replace(FAST, steps_max=3)
    async with TestReplica.start(database_url, model.url, worker=worker) as replica:
        chat_id = await replica.chat()
        view = await replica.until(chat_id, ShownStatus.ERROR)
        assert view.last_error is not None
        assert "3 steps" in view.last_error.message
        assert len(model.requests) == 3
        model.answer(None)
        await replica.send(chat_id, "And now?")
        await replica.until(chat_id, ShownStatus.WAITING)


async def test_an_error_is_kept_as_it_is_and_left_behind(database_url: str) -> None:
    """E22: `last_error` is stored, re-read equal, and cleared on leaving error."""
    error = ChatError(
        kind=ErrorKind.USAGE_LIMIT,
        message='Up to here \\u0000 and no \x00 further: "ça suffit".',
        detail="429",
        provider="Fake Provider",
        retryable=True,
        status_code=429,
    )
    async with TestReplica.start(database_url, works=False) as replica:
        chat_id = await replica.chat()
        holder = await replica.hold(chat_id)
        await holder.report(FinishError(fence=holder.fence(), error=error))
        view = await replica.view(chat_id)
        assert (view.status, view.last_error) == (ShownStatus.ERROR, error)
        await replica.send(chat_id, "Try again")
        view = await replica.view(chat_id)
        assert (view.status, view.last_error) == (ShownStatus.PENDING, None)


async def test_a_deleted_queued_message_is_not_answered(
    database_url: str, model: FakeModel
) -> None:
    """What is taken out of the queue is never said to the model; what is promoted comes first."""
    model.script([Gate("one"), Say("first"), Hang()])
    model.answer(echo)
    async with TestReplica.start(database_url, model.url) as replica:
        chat_id = await replica.chat("one")
        await soon(model.reached("one"))
        await replica.send(chat_id, "two")
        wrong = await replica.send(chat_id, "wrong")
        last = await replica.send(chat_id, "urgent")
        assert wrong.queued_id is not None
        assert last.queued_id is not None
        await replica.do(chat_id, DeleteQueuedMessage(queued_id=wrong.queued_id))
        model.release("one")
        await replica.do(chat_id, PromoteQueuedMessage(queued_id=last.queued_id))
        await replica.until(chat_id, ShownStatus.WAITING)
        assert [words(request.last_text) for request in model.requests] == ["one", "urgent", "two"]


async def test_the_same_message_twice_is_one(database_url: str, model: FakeModel) -> None:
    """A source key that was seen before changes nothing, wherever the first one is by now."""
    async with TestReplica.start(database_url, model.url) as replica:
        chat_id = await replica.chat("one")
        await replica.until(chat_id, ShownStatus.WAITING)
        again = SendMessage(content=plain("two"), author=BO, source_key="slack:7")
        outcomes = await asyncio.gather(*(replica.do(chat_id, again) for _ in range(5)))
        assert sorted(outcome.effect for outcome in outcomes) == ["duplicate"] * 4 + ["inserted"]
        await replica.until(chat_id, ShownStatus.WAITING)
        assert (await replica.do(chat_id, again)).effect is Effect.DUPLICATE
        assert [text for _, text in await replica.history(chat_id)].count("two") == 1


async def test_an_empty_message_is_refused(database_url: str) -> None:
    """Nothing is stored for a message that says nothing."""
    async with TestReplica.start(database_url, works=False) as replica:
        chat_id = await replica.chat("one")
        blank = SendMessage(content=plain(" \n"), author=ADA)
        assert await replica.refused(chat_id, blank) is RefusalReason.EMPTY_MESSAGE
        assert await replica.history(chat_id) == [("user", "one")]


async def test_a_worker_that_lost_its_chat_stores_nothing(
    database_url: str, model: FakeModel
) -> None:
    """A run that another worker has taken over ends at once and leaves no trace of its answer."""
    model.script([Say("Half an answer"), Gate("mid"), Say(" and more."), Hang()])
    async with (
        TestReplica.start(database_url, works=False) as other,
        TestReplica.start(database_url, model.url, worker=FAST) as replica,
    ):
        chat_id = await replica.chat("one")
        await soon(model.reached("mid"))
        thief = await other.steal(chat_id)
        await soon(model.requests[0].left.wait())
        worker = replica.replica.worker
        assert worker is not None

        async def is_at_rest() -> bool:
            return worker.running_count == 0

        await eventually(is_at_rest)
        answer = NewMessage(role=Role.ASSISTANT, content=plain("The other one's."))
        await thief.report(FinishTurn(fence=thief.fence(), messages=(answer,)))
        assert await other.history(chat_id) == [("user", "one"), ("assistant", "The other one's.")]


async def test_a_request_to_compact_answers_nothing_anew(
    database_url: str, model: FakeModel
) -> None:
    """Nothing is answered twice: the history ends with an answer, and it stays the last."""
    model.say("Good morning, Ada.")
    async with TestReplica.start(database_url, model.url) as replica:
        chat_id = await replica.chat("Good morning")
        await replica.until(chat_id, ShownStatus.WAITING)
        await replica.do(chat_id, RequestCompaction())
        await replica.until(chat_id, ShownStatus.WAITING)
        assert len(model.streamed) == 1
        assert len(await replica.history(chat_id)) == 2
