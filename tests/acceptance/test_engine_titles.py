"""Titles through the real engine: the first words at once, a model's beside the turn, a person's for good."""

from dataclasses import replace
from uuid import uuid4

import pytest

from bots.side_work import make_side_work
from engine.agent.brain import Brain, BrainRequest, SideModel
from engine.chat.commands import Archive
from engine.chat.decision import Refusal, RefusalReason
from engine.chat.ids import ChatId
from engine.chat.view import ShownStatus
from engine.models.client import HttpModel, model_session
from engine.models.model import ModelPrompt, ModelStream
from engine.models.parts import StreamResult
from engine.store.pool import Pool
from engine.worker.side_work import TITLES_WAITING_MAX
from tests.fakes.model_server import FakeModel, Gate, Hang, Refuse, Say
from tests.fakes.replica import TestReplica, brains_of, eventually, provider_at, soon
from tests.fakes.replica_settings import settings_for

LONG_QUESTION = "Why does the lighthouse blink twice when the harbour is closed?"
CRASHED = "side_request_crashed"
FIRST_WORDS = "Why does the lighthouse blink twice…"


async def title(replica: TestReplica, chat_id: ChatId) -> str | None:
    return (await replica.view(chat_id)).title


async def until_called(replica: TestReplica, chat_id: ChatId, wanted: str) -> None:
    await replica.until(chat_id, lambda view: view.title == wanted)


async def kinds(pool: Pool) -> list[str]:
    """What was paid for, oldest first."""
    async with pool.session() as connection:
        rows = await connection.fetch("SELECT kind FROM usage_records ORDER BY id")
    return [row["kind"] for row in rows]


async def test_first_words_are_the_title_at_once(database_url: str, model: FakeModel) -> None:
    async with TestReplica.start(database_url, model.url, works=False) as replica:
        chat_id = await replica.chat(LONG_QUESTION)
        assert await title(replica, chat_id) == FIRST_WORDS
        assert await title(replica, await replica.chat("Hello", title="Ada's")) == "Ada's"


async def test_a_model_names_a_new_chat_beside_its_first_turn(
    database_url: str, model: FakeModel, pool: Pool
) -> None:
    model.script([Say("It is"), Gate("answer"), Say(" broken.")])
    model.aside('**"The blinking lighthouse"**\n')
    async with TestReplica.start(database_url, model.url, makes_titles=True) as replica:
        chat_id = await replica.chat(LONG_QUESTION)
        await until_called(replica, chat_id, "The blinking lighthouse")
        assert (await replica.view(chat_id)).status is ShownStatus.RUNNING
        model.release("answer")
        await replica.until(chat_id, ShownStatus.WAITING)
        (asked,) = model.asides
        assert LONG_QUESTION in str(asked.body["messages"])
        assert "tools" not in asked.body
        assert sorted(await kinds(pool)) == ["step", "title"]
        await replica.send(chat_id, "And now?")
        await replica.until(chat_id, lambda view: view.status is ShownStatus.WAITING)
        assert len(model.asides) == 1


async def test_usage_of_a_title_says_who_asked(
    database_url: str, model: FakeModel, pool: Pool
) -> None:
    async with TestReplica.start(database_url, model.url, makes_titles=True) as replica:
        chat_id = await replica.chat(LONG_QUESTION)
        await until_called(replica, chat_id, "A short title")
    async with pool.session() as connection:
        row = await connection.fetchrow("SELECT * FROM usage_records WHERE kind = 'title'")
    assert (row["chat_id"], row["identity"], row["bot"]) == (chat_id, "test:T1:ada", "assistant")
    assert (row["model"], row["input_tokens"]) == ("test-model", 20)
    assert row["output_tokens"] > 0


async def test_a_turn_does_not_wait_for_its_title(database_url: str, model: FakeModel) -> None:
    model.aside_script([Hang()])
    async with TestReplica.start(database_url, model.url, makes_titles=True) as replica:
        chat_id = await replica.chat(LONG_QUESTION)
        await eventually_asked(model)
        await replica.until(chat_id, ShownStatus.WAITING)
        assert await title(replica, chat_id) == FIRST_WORDS


async def test_a_title_that_a_person_gives_meanwhile_stays(
    database_url: str, model: FakeModel, pool: Pool
) -> None:
    model.aside_script([Gate("title"), Say("The model's own title")])
    async with TestReplica.start(database_url, model.url, makes_titles=True) as replica:
        chat_id = await replica.chat(LONG_QUESTION)
        await soon(model.reached("title"))
        assert await replica.engine.details.set_title(chat_id, "Ada's", by_human=True)
        model.release("title")

        async def is_over() -> bool:
            return "title" in await kinds(pool)

        await eventually(is_over)
        # What comes after it was kept or not: another chat's whole title.
        await until_called(replica, await replica.chat("And another one"), "A short title")
        assert await title(replica, chat_id) == "Ada's"


async def test_an_answer_that_is_no_title_leaves_the_first_words(
    database_url: str, model: FakeModel
) -> None:
    model.aside("I am sorry, but as a model of language I cannot name this conversation for you.")
    model.aside_script([Refuse(500, "no")])
    async with TestReplica.start(database_url, model.url, makes_titles=True) as replica:
        first, second = await replica.chat(LONG_QUESTION), await replica.chat(LONG_QUESTION)
        for chat_id in (first, second):
            await replica.until(chat_id, ShownStatus.WAITING)
        await until_called(replica, await replica.chat("And a third"), "A short title")
        assert await title(replica, first) == await title(replica, second) == FIRST_WORDS
        assert len(model.asides) == 3


async def test_chats_that_are_named_or_archived_are_not_asked_about(
    database_url: str, model: FakeModel
) -> None:
    async with TestReplica.start(database_url, model.url, works=False) as replica:
        named = await replica.chat(LONG_QUESTION, title="Ada's")
        archived = await replica.chat(LONG_QUESTION)
        await replica.do(archived, Archive())
    async with TestReplica.start(database_url, model.url, makes_titles=True) as replica:
        last = await replica.chat("The last one")
        await until_called(replica, last, "A short title")
        await replica.until(named, ShownStatus.WAITING)
        assert await title(replica, named) == "Ada's"
        assert await title(replica, archived) == FIRST_WORDS
    assert len(model.asides) == 1


async def test_a_title_is_made_anew_for_whoever_asks(database_url: str, model: FakeModel) -> None:
    async with TestReplica.start(database_url, model.url) as replica:
        chat_id = await replica.chat(LONG_QUESTION, title="Ada's")
        await replica.until(chat_id, ShownStatus.WAITING)
        model.aside("Harbour lights at night")
        assert await replica.engine.request_title(chat_id) is True
        await until_called(replica, chat_id, "Harbour lights at night")
        (asked,) = model.asides
        assert "assistant: All right." in str(asked.body["messages"])
        await replica.do(chat_id, Archive())
        assert await replica.engine.request_title(chat_id) == Refusal(reason=RefusalReason.ARCHIVED)


async def test_a_requested_title_survives_the_replica_that_took_it(
    database_url: str, model: FakeModel, pool: Pool
) -> None:
    async with TestReplica.start(database_url, model.url) as first:
        chat_id = await first.chat(LONG_QUESTION)
        await first.until(chat_id, ShownStatus.WAITING)
        model.aside_script([Gate("never"), Say("Too late to matter")])
        await first.engine.request_title(chat_id)
        await soon(model.reached("never"))
        await first.kill()
    async with pool.session() as connection:
        await connection.execute("UPDATE title_requests SET claimed_until = now()")
    model.aside("A second attempt")
    async with TestReplica.start(database_url, model.url) as second:
        await until_called(second, chat_id, "A second attempt")


async def eventually_asked(model: FakeModel) -> None:
    async def is_asked() -> bool:
        return bool(model.asides)

    await eventually(is_asked)


class Broken:
    """A model whose client has a fault."""

    def stream(self, prompt: ModelPrompt) -> ModelStream:
        raise NotImplementedError(prompt)

    async def complete(self, prompt: ModelPrompt) -> StreamResult:
        raise ZeroDivisionError(prompt.model)


async def test_a_fault_beside_the_turns_touches_no_chat(
    database_url: str, model: FakeModel, caplog: pytest.LogCaptureFixture
) -> None:
    async with model_session() as session:
        side = SideModel(model=Broken(), model_name="broken", reference="broken")
        brain = Brain(
            model=HttpModel(session, provider_at(model.url)),
            model_name="test-model",
            system="You are Wren.",
            side=side,
        )
        async with TestReplica.start(
            database_url, brains=brains_of(brain), makes_titles=True
        ) as replica:
            for _ in range(6):
                chat_id = await replica.chat(LONG_QUESTION)
                await replica.until(chat_id, ShownStatus.WAITING)
                assert await title(replica, chat_id) == FIRST_WORDS

            async def all_crashed() -> bool:
                found = [r for r in caplog.records if getattr(r, "action", "") == CRASHED]
                return len(found) == 6

            await eventually(all_crashed)


async def test_too_many_new_chats_keep_their_first_words(
    database_url: str, model: FakeModel, caplog: pytest.LogCaptureFixture
) -> None:
    async with TestReplica.start(database_url, model.url, works=False) as replica:
        await replica.chat(LONG_QUESTION)
        (acquired,) = await replica.engine.leases.acquire_chats(1, 60)

        async def no_brain(request: BrainRequest) -> Brain:
            raise NotImplementedError(request)

        side_work = make_side_work(settings_for(makes_titles=True), replica.engine, no_brain)
        for _ in range(TITLES_WAITING_MAX):
            side_work.offer(replace(acquired, chat_id=ChatId(uuid4())))
        assert "title_left_out" not in [getattr(r, "action", "") for r in caplog.records]
        side_work.offer(replace(acquired, chat_id=ChatId(uuid4())))
        assert "title_left_out" in [getattr(r, "action", "") for r in caplog.records]
