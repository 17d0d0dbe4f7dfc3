"""Summaries that fail, are refused or are stopped: the conversation goes on, or says why not."""

from collections.abc import AsyncIterator

import pytest

from engine.agent.compaction import TOO_LONG
from engine.chat.commands import Interrupt, RequestCompaction
from engine.chat.view import ShownStatus
from tests.acceptance.compaction_house import (
    FULL,
    TOO_LONG_400,
    calls,
    house,
    notes,
    says,
    summaries,
    summarises,
)
from tests.fakes.model_server import FakeModel, Hang, Refuse
from tests.fakes.replica import soon


@pytest.fixture
async def model() -> AsyncIterator[FakeModel]:
    async with FakeModel.start() as fake:
        yield fake
        assert fake.refusals == []


async def test_a_message_that_is_too_long_by_itself_ends_in_words(
    database_url: str, model: FakeModel
) -> None:
    model.script([TOO_LONG_400])
    async with house(database_url, model) as replica:
        chat_id = await replica.chat("Everything I know about keepers.")
        view = await replica.until(chat_id, ShownStatus.ERROR)
        assert view.last_error is not None
        assert view.last_error.message == TOO_LONG
        assert model.asides == []


async def test_a_request_for_a_summary_that_is_too_long_is_shortened(
    database_url: str, model: FakeModel
) -> None:
    model.script(says("He is ill. " * 40, FULL))
    model.aside_script([TOO_LONG_400])
    model.aside_script(summarises())
    async with house(database_url, model) as replica:
        chat_id = await replica.chat("Where is the keeper?")
        await replica.until(chat_id, ShownStatus.WAITING)
        first, second = (len(request.last_text) for request in model.asides)
        assert second < first
        assert len(await summaries(replica, chat_id)) == 1


async def test_a_request_that_fails_says_so(database_url: str, model: FakeModel) -> None:
    model.aside_script([Refuse(401, "Incorrect API key provided.")])
    async with house(database_url, model) as replica:
        chat_id = await replica.chat("Where is the keeper?")
        await replica.until(chat_id, ShownStatus.WAITING)
        await replica.do(chat_id, RequestCompaction())
        view = await replica.until(chat_id, ShownStatus.ERROR)
        assert view.last_error is not None
        assert "Authentication" in view.last_error.message
        assert await summaries(replica, chat_id) == []


async def test_a_summary_that_fails_in_mid_turn_does_not_end_the_turn(
    database_url: str, model: FakeModel
) -> None:
    """While the window is not full the turn goes on, and asks for no summary again."""
    model.script(calls(), calls(), says("A grey sail.", FULL))
    model.aside_script([Refuse(400, "no")])
    async with house(database_url, model) as replica:
        chat_id = await replica.chat("Where is the keeper?")
        await replica.until(chat_id, ShownStatus.WAITING)
        assert (await replica.history(chat_id))[-1] == ("assistant", "A grey sail.")
        assert (len(model.streamed), len(model.asides)) == (3, 1)
        assert await summaries(replica, chat_id) == []


async def test_a_summary_that_fails_before_a_full_window_ends_the_turn(
    database_url: str, model: FakeModel
) -> None:
    model.script(calls({**FULL, "prompt_tokens": 1000}))
    model.aside_script([Refuse(401, "Incorrect API key provided.")])
    async with house(database_url, model) as replica:
        chat_id = await replica.chat("Where is the keeper?")
        view = await replica.until(chat_id, ShownStatus.ERROR)
        assert view.last_error is not None
        assert "Authentication" in view.last_error.message
        assert len(model.streamed) == 1


async def test_a_summary_that_fails_at_the_end_leaves_the_answer(
    database_url: str, model: FakeModel
) -> None:
    model.script(says("He is ill.", FULL))
    model.aside_script([Refuse(400, "no")])
    async with house(database_url, model) as replica:
        chat_id = await replica.chat("Where is the keeper?")
        view = await replica.until(chat_id, ShownStatus.WAITING)
        assert view.last_error is None
        assert (await replica.history(chat_id))[-1] == ("assistant", "He is ill.")
        assert await summaries(replica, chat_id) == []


async def test_a_failed_attempt_at_a_summary_is_repeated(
    database_url: str, model: FakeModel
) -> None:
    model.script(says("He is ill.", FULL))
    model.aside_script([Refuse(503, "busy", {"Retry-After": "0"})])
    model.aside_script(summarises())
    async with house(database_url, model) as replica:
        chat_id = await replica.chat("Where is the keeper?")
        await replica.until(chat_id, ShownStatus.WAITING)
        assert len(model.asides) == 2
        assert len(await summaries(replica, chat_id)) == 1


@pytest.mark.parametrize("at_end", [False, True])
async def test_an_interrupt_stops_a_summary_at_once(
    database_url: str, model: FakeModel, *, at_end: bool
) -> None:
    """Nothing of it is stored; the next message is answered."""
    model.script(says("He is ill.", FULL) if at_end else calls(), says("In Hamburg."))
    model.aside_script([*summarises(at="summing")[:1], Hang()])
    model.aside_script(summarises())
    async with house(database_url, model) as replica:
        chat_id = await replica.chat("Where is the keeper?")
        await soon(model.reached("summing"))
        await replica.do(chat_id, Interrupt())
        model.release("summing")
        await soon(model.asides[0].left.wait())
        await replica.until(chat_id, ShownStatus.WAITING)
        assert await summaries(replica, chat_id) == []
        assert await notes(replica, chat_id) == []
        await replica.send(chat_id, "And his wife?")
        await replica.until(chat_id, ShownStatus.WAITING)
        assert (await replica.history(chat_id))[-1] == ("assistant", "In Hamburg.")
