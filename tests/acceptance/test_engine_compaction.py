"""Conversations that outgrow their model are summarised, once, and nobody notices but by a note."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from engine.agent.compaction import BEGINNING, GO_ON, TOO_LONG
from engine.chat.commands import (
    BusyBehavior,
    ClearContext,
    EditMessage,
    RequestCompaction,
)
from engine.chat.content import Role, Visibility, plain, text_of
from engine.chat.decision import RefusalReason
from engine.chat.view import ShownStatus
from engine.stream.events import PartEvent, ToolCallDelta
from tests.acceptance.compaction_house import (
    FULL,
    SUMMARY,
    TOO_LONG_400,
    calls,
    everything,
    house,
    notes,
    says,
    summarises,
    told,
)
from tests.fakes.model_server import FakeModel
from tests.fakes.replica import soon


@pytest.fixture
async def model() -> AsyncIterator[FakeModel]:
    async with FakeModel.start() as fake:
        yield fake
        assert fake.refusals == []


async def test_a_turn_that_grows_too_long_is_summarised_between_steps(
    database_url: str, model: FakeModel
) -> None:
    """E54: it compacts in mid-turn, between steps, and goes on."""
    model.script(calls(), says("A grey sail."))
    model.aside_script(summarises())
    async with house(database_url, model) as replica:
        chat_id = await replica.chat("Where is the keeper?")
        await replica.until(chat_id, ShownStatus.WAITING)
        asked, (request,) = model.streamed, model.asides
        assert len(asked) == 2
        assert "Where is the keeper?" in request.last_text
        assert "a grey sail" in request.last_text
        assert request.tool_names == []
        assert [m["content"] for m in asked[1].messages if m["role"] != "system"] == [
            f"{BEGINNING}{GO_ON}\n\n{SUMMARY}"
        ]
        assert await replica.history(chat_id) == [
            ("user", "Where is the keeper?"), ("assistant", "A grey sail."),
        ]  # fmt: skip
        ((call, result),) = await notes(replica, chat_id)
        assert json.loads(call.args) == {"source": "automatic", "threshold_percent": 70}
        assert result.result == {
            "summary": SUMMARY,
            "source": "automatic",
            "threshold_percent": 70,
            "usage_percent": 80,
            "context_tokens": 800,
            "context_limit_tokens": 1000,
        }


async def test_what_a_summary_costs_is_entered(database_url: str, model: FakeModel) -> None:
    model.script(says("Aye.", FULL))
    model.aside_script(summarises())
    async with house(database_url, model) as replica:
        chat_id = await replica.chat("Where is the keeper?")
        await replica.until(chat_id, ShownStatus.WAITING)
        async with replica.replica.pool.session() as connection:
            rows = await connection.fetch(
                "SELECT kind, model, input_tokens, cost_micros FROM usage_records ORDER BY id"
            )
        assert [tuple(row) for row in rows] == [
            ("step", "fake:test-model", 800, 800), ("compaction", "fake:test-model", 100, 100),
        ]  # fmt: skip


async def test_a_turn_still_too_long_after_a_summary_ends_in_words(
    database_url: str, model: FakeModel
) -> None:
    """E54: if still over the limit afterwards, a clear error, never a loop; the next turn works."""
    model.script(calls(), calls())
    model.aside_script(summarises())
    async with house(database_url, model) as replica:
        chat_id = await replica.chat("Where is the keeper?")
        view = await replica.until(chat_id, ShownStatus.ERROR)
        assert view.last_error is not None
        assert view.last_error.message == TOO_LONG
        assert (len(model.streamed), len(model.asides)) == (2, 1)
        model.aside_script(summarises("Ada waits."))
        await replica.send(chat_id, "And now?")
        await replica.until(chat_id, ShownStatus.WAITING)
        assert await told(replica, chat_id) == [
            (Role.USER, f"{BEGINNING}{GO_ON}\n\nAda waits."),
            (Role.USER, "And now?"),
            (Role.ASSISTANT, "All right."),
        ]
        assert (len(model.streamed), len(model.asides)) == (3, 2)


async def test_a_turn_that_ends_too_long_is_summarised_for_the_next(
    database_url: str, model: FakeModel
) -> None:
    model.script(says("He is ill.", FULL))
    model.aside_script(summarises())
    async with house(database_url, model) as replica:
        chat_id = await replica.chat("Where is the keeper?")
        await replica.until(chat_id, ShownStatus.WAITING)
        assert await told(replica, chat_id) == [(Role.USER, f"{BEGINNING}\n\n{SUMMARY}")]
        model.script(says("In Hamburg.", FULL))
        await replica.send(chat_id, "And his wife?")
        await replica.until(chat_id, ShownStatus.WAITING)
        assert await replica.history(chat_id) == [
            ("user", "Where is the keeper?"),
            ("assistant", "He is ill."),
            ("user", "And his wife?"),
            ("assistant", "In Hamburg."),
        ]
        assert len(model.asides) == 1, "the first answer after a summary brings no second one"
        assert await told(replica, chat_id) == [
            (Role.USER, f"{BEGINNING}\n\n{SUMMARY}"),
            (Role.USER, "And his wife?"),
            (Role.ASSISTANT, "In Hamburg."),
        ]


async def test_the_queue_goes_on_once_the_history_is_summarised(
    database_url: str, model: FakeModel
) -> None:
    model.script(says("He is ill.", FULL), says("In Hamburg."))
    model.aside_script(summarises(at="summing"))
    async with house(database_url, model) as replica:
        chat_id = await replica.chat("Where is the keeper?")
        await soon(model.reached("summing"))
        await replica.send(chat_id, "And his wife?")
        model.release("summing")
        await replica.until(chat_id, ShownStatus.WAITING)
        assert (await replica.history(chat_id))[-2:] == [
            ("user", "And his wife?"), ("assistant", "In Hamburg."),
        ]  # fmt: skip
        assert [m["content"] for m in model.streamed[1].messages[1:]] == [
            f"{BEGINNING}\n\n{SUMMARY}", "Ada: And his wife?",
        ]  # fmt: skip


async def test_a_history_that_the_provider_refuses_is_summarised_but_for_what_waits(
    database_url: str, model: FakeModel
) -> None:
    """Nobody knows the window here but the provider; the newest message is replayed in its words."""
    model.script(says("He is ill."), [TOO_LONG_400], says("In Hamburg."))
    model.aside_script(summarises())
    async with house(database_url, model, limit=None) as replica:
        chat_id = await replica.chat("Where is the keeper?")
        await replica.until(chat_id, ShownStatus.WAITING)
        await replica.send(chat_id, "And his wife?")
        await replica.until(chat_id, ShownStatus.WAITING)
        assert "And his wife?" not in model.asides[0].last_text
        assert [m["content"] for m in model.streamed[-1].messages[1:]] == [
            f"{BEGINNING}{GO_ON}\n\n{SUMMARY}", "Ada: And his wife?",
        ]  # fmt: skip
        assert (await replica.history(chat_id))[-1] == ("assistant", "In Hamburg.")


async def test_a_summary_is_made_on_request(database_url: str, model: FakeModel) -> None:
    model.aside_script(summarises())
    async with house(database_url, model, threshold=100) as replica:
        chat_id = await replica.chat("Where is the keeper?")
        await replica.until(chat_id, ShownStatus.WAITING)
        await replica.do(chat_id, RequestCompaction())
        await replica.until(chat_id, ShownStatus.WAITING)
        assert await told(replica, chat_id) == [(Role.USER, f"{BEGINNING}\n\n{SUMMARY}")]
        ((call, result),) = await notes(replica, chat_id)
        assert json.loads(call.args)["source"] == "requested"
        assert result.result["usage_percent"] == 2
        await replica.do(chat_id, RequestCompaction())
        await replica.until(chat_id, ShownStatus.WAITING)
        assert len(model.asides) == 1, "what is summarised is not summarised again"
        assert len(model.streamed) == 1


async def test_followers_see_that_a_summary_is_being_made(
    database_url: str, model: FakeModel
) -> None:
    model.script(says("He is ill.", FULL))
    model.aside_script(summarises(at="summing"))
    async with house(database_url, model) as replica:
        chat_id = await replica.chat("Where is the keeper?")
        async with replica.watch(chat_id) as seen:
            await seen.until(lambda seen: bool(live_calls(seen)))
            model.release("summing")
            await seen.until_status(ShownStatus.WAITING)
            (live,) = live_calls(seen)
            ((stored, _),) = await notes(replica, chat_id)
            assert live == stored.tool_call_id
            assert not any(m.visibility is Visibility.MODEL for m in seen.chat.messages)
            assert seen.said == [("user", "Where is the keeper?"), ("assistant", "He is ill.")]


def live_calls(seen: Any) -> list[str]:
    """The ids of the calls that a watcher has seen beginning."""
    parts = [event.part for event in seen.all_of(PartEvent)]
    return [part.tool_call_id for part in parts if isinstance(part, ToolCallDelta)]


async def test_a_summary_gives_way_to_context_that_is_cleared(
    database_url: str, model: FakeModel
) -> None:
    model.script(says("He is ill.", FULL))
    model.aside_script(summarises())
    async with house(database_url, model) as replica:
        chat_id = await replica.chat("Where is the keeper?")
        await replica.until(chat_id, ShownStatus.WAITING)
        await replica.do(chat_id, ClearContext())
        await replica.send(chat_id, "Good evening")
        await replica.until(chat_id, ShownStatus.WAITING)
        assert await told(replica, chat_id) == [
            (Role.USER, "Good evening"), (Role.ASSISTANT, "All right."),
        ]  # fmt: skip


async def test_an_edit_that_forgets_a_summary_restores_the_one_before(
    database_url: str, model: FakeModel
) -> None:
    model.aside_script(summarises("Ada said hello."))
    model.aside_script(summarises())
    async with house(database_url, model) as replica:
        chat_id = await replica.chat("Hello")
        await replica.until(chat_id, ShownStatus.WAITING)
        for text in ("", "Where is the keeper?"):
            if text:
                await replica.send(chat_id, text)
                await replica.until(chat_id, ShownStatus.WAITING)
            await replica.do(chat_id, RequestCompaction())
            await replica.until(chat_id, ShownStatus.WAITING)
        assert await told(replica, chat_id) == [(Role.USER, f"{BEGINNING}\n\n{SUMMARY}")]
        messages = await replica.messages(chat_id)
        asked = next(m for m in messages if text_of(m.content) == "Where is the keeper?")
        edit = EditMessage(message_id=asked.id, content=plain("Where is the light?"))
        await replica.do(chat_id, edit)
        await replica.until(chat_id, ShownStatus.WAITING)
        assert await told(replica, chat_id) == [
            (Role.USER, f"{BEGINNING}\n\nAda said hello."),
            (Role.USER, "Where is the light?"),
            (Role.ASSISTANT, "All right."),
        ]
        (first, *_) = messages
        edit = EditMessage(message_id=first.id, content=plain("Good evening"))
        await replica.do(chat_id, edit)
        await replica.until(chat_id, ShownStatus.WAITING)
        assert await told(replica, chat_id) == [
            (Role.USER, "Good evening"), (Role.ASSISTANT, "All right."),
        ]  # fmt: skip


async def test_a_summary_cannot_be_edited(database_url: str, model: FakeModel) -> None:
    model.script(says("He is ill.", FULL))
    model.aside_script(summarises())
    async with house(database_url, model) as replica:
        chat_id = await replica.chat("Where is the keeper?")
        await replica.until(chat_id, ShownStatus.WAITING)
        hidden = next(m for m in await everything(replica, chat_id) if m.summary_of is not None)
        edit = EditMessage(message_id=hidden.id, content=plain("Forget everything."))
        assert await replica.refused(chat_id, edit) is RefusalReason.MESSAGE_NOT_FOUND


async def test_a_message_answered_after_a_summary_is_still_the_last_of_a_person(
    database_url: str, model: FakeModel
) -> None:
    """The hidden summary is newer than the message that it leaves out, and no person's."""
    model.script(says("He is ill."), [TOO_LONG_400], says("In Hamburg."))
    model.aside_script(summarises())
    async with house(database_url, model, limit=None) as replica:
        chat_id = await replica.chat("Where is the keeper?")
        await replica.until(chat_id, ShownStatus.WAITING)
        await replica.send(chat_id, "And his wife?", source_key="slack:2", busy=BusyBehavior.QUEUE)
        await replica.until(chat_id, ShownStatus.WAITING)
        found = await replica.engine.rows.find_by_source(chat_id, "slack:2")
        assert getattr(found, "is_last_user_message", False)


async def test_nothing_is_read_or_written_more_while_no_summary_is_due(
    database_url: str, model: FakeModel
) -> None:
    """A turn of one step is one read of the history and one commit, whatever the threshold."""
    async with house(database_url, model) as replica:
        chat_id = await replica.chat("Where is the keeper?")
        view = await replica.until(chat_id, ShownStatus.WAITING)
        assert view.versions.snapshot_version == 3, "created, acquired, finished"
