"""Debug recordings of model calls: only where they are asked for, redacted, bounded, no part of a turn."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from engine.chat.commands import Interrupt, SendMessage
from engine.chat.content import FilePart, TextPart
from engine.chat.details import DetailsChange
from engine.chat.ids import ChatId
from engine.chat.view import ShownStatus
from engine.store.recordings import CallKind, CallStatus, Recording
from tests.fakes.model_script import Call, Gate, Say
from tests.fakes.model_server import FakeModel
from tests.fakes.replica import ADA, TestReplica, eventually

KEY = "sk-planted0123456789abcdef"


@pytest.fixture
async def replica(database_url: str, model: FakeModel) -> AsyncIterator[TestReplica]:
    async with TestReplica.start(database_url, model.url) as started:
        yield started


async def record(replica: TestReplica, chat_id: ChatId) -> None:
    """Have the chat's calls recorded from the next turn on."""
    assert await replica.engine.change_details(chat_id, DetailsChange(records_calls=True)) is True


async def recorded_chat(replica: TestReplica) -> ChatId:
    """A chat that was answered once, and whose next calls are recorded."""
    chat_id = await replica.chat()
    await replica.until(chat_id, ShownStatus.WAITING)
    await record(replica, chat_id)
    return chat_id


async def calls(replica: TestReplica, chat_id: ChatId, count: int) -> list[Recording]:
    """The chat's recordings, oldest first, once there are so many and all have ended."""
    recordings = replica.engine.recordings

    async def ended() -> list[Recording]:
        listed = await recordings.list_recordings(chat_id)
        return list(listed) if len(listed) == count and all(c.finished_at for c in listed) else []

    found = [await recordings.read_recording(chat_id, call.id) for call in await eventually(ended)]
    return [call for call in reversed(found) if call is not None]


def texts_of(record: Any) -> str:
    """All of a record as text."""
    return json.dumps(record, ensure_ascii=False)


async def test_nothing_is_recorded_unless_it_is_asked_for(
    replica: TestReplica, model: FakeModel
) -> None:
    chat_id = await replica.chat()
    await replica.until(chat_id, ShownStatus.WAITING)
    assert await replica.engine.recordings.list_recordings(chat_id) == []
    await record(replica, chat_id)
    model.say("Recorded.")
    await replica.send(chat_id, "Again")
    (call,) = await calls(replica, chat_id, 1)
    assert call.status is CallStatus.COMPLETED
    assert call.request["system"] == "You are Wren."
    assert [message["role"] for message in call.request["messages"]] == [
        "user",
        "assistant",
        "user",
    ]
    assert call.response["content"] == [{"type": "text", "text": "Recorded."}]
    assert call.response["finish"] == "stop"
    assert call.response["usage"]["output_tokens"] > 0


async def test_each_step_of_a_turn_is_a_call(replica: TestReplica, model: FakeModel) -> None:
    chat_id = await recorded_chat(replica)
    model.script([Call("no_such_tool", {"boat": "red"})], [Say("Done.")])
    await replica.send(chat_id, "Do it")
    first, second = await calls(replica, chat_id, 2)
    assert first.response["finish"] == "tool_calls"
    assert first.response["content"][0]["tool_name"] == "no_such_tool"
    assert second.request["messages"][-1]["role"] == "tool"


async def test_a_title_that_is_asked_for_is_recorded_as_one(
    replica: TestReplica, model: FakeModel
) -> None:
    chat_id = await recorded_chat(replica)
    model.aside("Harbour lights at night")
    assert await replica.engine.request_title(chat_id) is True
    (call,) = await calls(replica, chat_id, 1)
    assert (call.kind, call.status) == (CallKind.TITLE, CallStatus.COMPLETED)
    assert call.response["content"] == [{"type": "text", "text": "Harbour lights at night"}]
    assert "Good morning" in texts_of(call.request)


async def test_secrets_and_bytes_of_files_are_not_recorded(
    replica: TestReplica, model: FakeModel
) -> None:
    chat_id = await recorded_chat(replica)
    model.say(f"Your key is {KEY}.")
    encoded = "iVBORw0KGgo" * 200
    await replica.send(
        chat_id,
        f"My key: {KEY}; password=hunter22\nAuthorization: Bearer abc.def.ghi123\n{encoded}",
    )
    (call,) = await calls(replica, chat_id, 1)
    told = texts_of(call.request) + texts_of(call.response)
    for secret in (KEY, "planted", "hunter22", "abc.def", encoded[:300]):
        assert secret not in told
    assert "My key" in told


async def test_an_interrupted_call_keeps_what_had_come(
    replica: TestReplica, model: FakeModel
) -> None:
    chat_id = await recorded_chat(replica)
    model.script([Say("Half"), Gate("held"), Say(" and half.")])
    await replica.send(chat_id, "Go on")
    await model.reached("held")
    (open_call,) = await eventually(lambda: replica.engine.recordings.list_recordings(chat_id))
    assert open_call.status is CallStatus.IN_PROGRESS
    await replica.do(chat_id, Interrupt())
    (call,) = await calls(replica, chat_id, 1)
    assert call.status is CallStatus.INTERRUPTED
    assert call.response["content"] == [{"type": "text", "text": "Half"}]


async def test_a_refused_call_says_why(replica: TestReplica, model: FakeModel) -> None:
    chat_id = await recorded_chat(replica)
    model.refuse(401, f"Incorrect API key provided: {KEY}")
    await replica.send(chat_id, "Go on")
    await replica.until(chat_id, ShownStatus.ERROR)
    (call,) = await calls(replica, chat_id, 1)
    assert call.status is CallStatus.ERROR
    assert call.error is not None
    assert call.error.kind == "auth"
    assert KEY not in texts_of(call.response) + str(call.error)


async def test_a_recorder_that_fails_harms_no_turn(replica: TestReplica, model: FakeModel) -> None:
    chat_id = await recorded_chat(replica)
    async with replica.replica.pool.session() as connection:
        await connection.execute("ALTER TABLE model_call_recordings RENAME TO away")
    model.say("All the same.")
    await replica.send(chat_id, "Go on")
    await replica.until(chat_id, ShownStatus.WAITING)
    assert (await replica.history(chat_id))[-1] == ("assistant", "All the same.")


async def test_a_chat_that_is_not_recorded_costs_no_statement(replica: TestReplica) -> None:
    plain, recorded = await replica.chat(), await recorded_chat(replica)
    await replica.until(plain, ShownStatus.WAITING)
    pool = replica.replica.pool
    written: list[str] = []
    original = pool.fetch_one

    async def watched(query: Any, *args: object) -> Any:
        written.append(query.name)
        return await original(query, *args)

    pool.fetch_one = watched  # type: ignore[method-assign]
    await replica.send(plain, "Again")
    await replica.until(plain, lambda view: view.status is ShownStatus.WAITING)
    assert "recordings.begin" not in written
    await replica.send(recorded, "Again")
    await calls(replica, recorded, 1)
    assert written.count("recordings.begin") == 1


async def test_named_files_are_recorded_by_name(replica: TestReplica, model: FakeModel) -> None:
    chat_id = await recorded_chat(replica)
    model.say("I see.")
    content = (TextPart(text="Look"), FilePart(name="a.png", media_type="image/png", size=3))
    await replica.do(chat_id, SendMessage(content=content, author=ADA))
    (call,) = await calls(replica, chat_id, 1)
    assert call.request["messages"][-1]["content"][1]["name"] == "a.png"
    assert call.request["files"] == []


async def test_what_has_ended_is_written_down_before_the_process_ends(
    database_url: str, model: FakeModel
) -> None:
    async with TestReplica.start(database_url, model.url) as first:
        chat_id = await recorded_chat(first)
        model.script([Say("Half"), Gate("held")])
        await first.send(chat_id, "Go on")
        await model.reached("held")
    async with TestReplica.start(database_url, model.url, works=False) as second:
        (call,) = await calls(second, chat_id, 1)
        assert call.status is CallStatus.INTERRUPTED
