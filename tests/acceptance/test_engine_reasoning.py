"""What a model thought is kept for the model, and shown to people only where it is switched on."""

from dataclasses import replace

import pytest

from config.settings import Settings
from engine.chat.content import ReasoningPart
from engine.chat.view import ShownStatus
from engine.store.rows import ChatRows
from engine.stream.events import PartEvent, ReasoningDelta
from tests.fakes.model_server import FakeModel, Gate, Say, Think
from tests.fakes.replica import TestReplica, soon
from tests.fakes.replica_settings import settings_for

THOUGHT = ReasoningPart(text="Hm. Which light?", provider="openai")


@pytest.mark.parametrize("is_on", [False, True])
async def test_reasoning_is_stored_but_shown_only_where_it_is_switched_on(
    database_url: str, model: FakeModel, *, is_on: bool
) -> None:
    model.script([Think(THOUGHT.text), Gate("mid"), Say("The harbour light.")])
    settings = settings_for(show_reasoning=is_on)
    settings = replace(settings, model=replace(settings.model, base_url=model.url))
    async with TestReplica.start(database_url, settings=settings) as replica:
        chat_id = await replica.chat("Which?")
        async with replica.watch(chat_id) as seen:
            await soon(model.reached("mid"))
            model.release("mid")
            await seen.until_status(ShownStatus.WAITING)
            parts = [event.part for event in seen.all_of(PartEvent)]
            assert any(isinstance(part, ReasoningDelta) for part in parts) is is_on
            assert seen.said == [("user", "Which?"), ("assistant", "The harbour light.")]
            told = [part for message in seen.chat.messages for part in message.content]
            assert any(isinstance(part, ReasoningPart) for part in told) is is_on
        read = [part for message in await replica.messages(chat_id) for part in message.content]
        assert any(isinstance(part, ReasoningPart) for part in read) is is_on
        stored = await ChatRows(replica.replica.pool).read_prompt(chat_id)
        assert stored is not None
        kept = [part for message in stored.messages for part in message.content]
        assert THOUGHT.text in [part.text for part in kept if isinstance(part, ReasoningPart)]


def test_it_is_off_unless_somebody_switches_it_on() -> None:
    assert not Settings().model.show_reasoning
