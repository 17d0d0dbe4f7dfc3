"""Following a chat: what subscribers see while the real worker answers, here and elsewhere."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from engine.chat.commands import Interrupt
from engine.chat.content import text_of
from engine.chat.view import ShownStatus
from engine.stream.events import (
    MessageEvent,
    PartEvent,
    PreviewReset,
    PreviewResetReason,
    StatusEvent,
    TextDelta,
)
from tests.fakes.model_server import Drop, FakeModel, Gate, Hang, Refuse, Say
from tests.fakes.replica import TestReplica, Watcher, soon


@pytest.fixture
async def model() -> AsyncIterator[FakeModel]:
    async with FakeModel.start() as fake:
        yield fake


@pytest.fixture(params=["no bus", "redis"])
def bus(request: pytest.FixtureRequest) -> str | None:
    """The URL of what ties replicas together, or nothing."""
    if request.param == "no bus":
        return None
    url: str = request.getfixturevalue("redis_url")
    return url


def streamed(seen: Watcher) -> str:
    """All text parts so far, joined: what a naive reader would have typed."""
    return "".join(
        event.part.text for event in seen.all_of(PartEvent) if isinstance(event.part, TextDelta)
    )


async def test_every_subscription_begins_with_a_status(database_url: str, model: FakeModel) -> None:
    """E23: the first event of every subscription is a status event, whatever the chat is doing."""
    model.script([Say("Half"), Gate("mid"), Say(" and half.")])
    async with TestReplica.start(database_url, model.url) as replica:
        chat_id = await replica.chat("one")
        for is_done in (False, True):
            if is_done:
                model.release("mid")
                await replica.until(chat_id, ShownStatus.WAITING)
            else:
                await soon(model.reached("mid"))
            for after_id in (0, 1, 10**12):
                async with replica.watch(chat_id, after_id=after_id) as seen:
                    await seen.until(lambda seen: bool(seen.events))
                    assert isinstance(seen.events[0], StatusEvent)


async def test_a_settled_chat_is_told_once(
    database_url: str, model: FakeModel, bus: str | None
) -> None:
    """E28: after things settle, a subscriber gets a snapshot and no live duplicate in 200 ms."""
    async with (
        TestReplica.start(database_url, model.url, redis_url=bus) as a,
        TestReplica.start(database_url, redis_url=bus, works=False) as b,
    ):
        chat_id = await a.chat("one")
        await a.until(chat_id, ShownStatus.WAITING)
        for replica in (a, b):
            async with replica.watch(chat_id) as seen:
                await seen.until(lambda seen: len(seen.events) >= 5)
                assert seen.said == [("user", "one"), ("assistant", "All right.")]
                count = len(seen.events)
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.2):
                        await anext(seen.follower)
                assert len(seen.events) == count
                assert seen.all_of(PartEvent) == []


async def test_a_subscriber_gets_the_messages_after_those_it_has(
    database_url: str, model: FakeModel
) -> None:
    """E29: subscribe(after=0) gives all three messages, after=second gives exactly the third."""
    model.say("two")
    model.script([Hang()])
    async with TestReplica.start(database_url, model.url) as replica:
        chat_id = await replica.chat("one")
        await replica.until(chat_id, ShownStatus.WAITING)
        await replica.send(chat_id, "three")
        await soon(model.wait_for_requests(2))
        ids = [message.id for message in await replica.messages(chat_id)]
        for after_id, texts in ((0, ["one", "two", "three"]), (ids[1], ["three"])):
            async with replica.watch(chat_id, after_id=after_id) as seen:
                await seen.until(lambda seen: bool(seen.chat.messages))
                await seen.until(lambda seen: "QueueEvent" in str(seen.events))
                shown = [event.message for event in seen.all_of(MessageEvent)]
                assert [text_of(message.content) for message in shown] == texts


async def test_everything_is_told_once_on_every_replica(
    database_url: str, model: FakeModel, redis_url: str
) -> None:
    """Parts come once and in order; the message that they become comes right after their reset."""
    words = [f"word{number} " for number in range(300)]
    model.script([Say("".join(words), pieces=tuple(words)), Gate("end")])
    async with (
        TestReplica.start(database_url, model.url, redis_url=redis_url) as a,
        TestReplica.start(database_url, redis_url=redis_url, works=False) as b,
    ):
        chat_id = await a.chat("one")
        async with a.watch(chat_id) as near, b.watch(chat_id) as far:
            for seen in (near, far):
                await seen.until_text("".join(words))
            model.release("end")
            for seen in (near, far):
                await seen.until_status(ShownStatus.WAITING)
                assert streamed(seen) == "".join(words)
                reset = seen.events.index(PreviewReset(reason=PreviewResetReason.COMMITTED))
                message = seen.events[reset + 1]
                assert isinstance(message, MessageEvent)
                assert text_of(message.message.content) == "".join(words)
                assert seen.said == [("user", "one"), ("assistant", "".join(words))]


async def test_late_joiners_see_the_current_attempt_from_its_beginning(
    database_url: str, model: FakeModel, bus: str | None
) -> None:
    """E53: the current attempt's parts from its beginning, and nothing of an attempt that failed."""
    model.script([Say("Wrong beginning"), Drop()])
    model.script([Say("Right beginning"), Gate("mid"), Say(" and end."), Gate("end")])
    async with (
        TestReplica.start(database_url, model.url, redis_url=bus) as a,
        TestReplica.start(database_url, redis_url=bus, works=False) as b,
    ):
        chat_id = await a.chat("one")
        await soon(model.reached("mid"))
        watching = (a, b) if bus else (a,)
        for replica in watching:
            async with replica.watch(chat_id) as seen:
                await seen.until_text("Right beginning")
                assert streamed(seen) == "Right beginning"
                assert seen.chat.retry is None
        async with watching[-1].watch(chat_id) as seen:
            await seen.until_text("Right beginning")
            model.release("mid")
            await seen.until_text("Right beginning and end.")
            assert streamed(seen) == "Right beginning and end."
            model.release("end")
            await seen.until_status(ShownStatus.WAITING)


async def test_late_joiners_see_a_retry_in_progress_and_no_old_one(
    database_url: str, model: FakeModel
) -> None:
    """E53: a retry in progress is shown to whoever joins, and not to those who join after it."""
    model.script([Refuse(503, "busy", {"Retry-After": "3600"})])
    async with (
        TestReplica.start(database_url, model.url) as a,
        TestReplica.start(database_url, works=False) as b,
    ):
        chat_id = await a.chat("one")
        await a.until(chat_id, lambda view: view.retry is not None)
        for replica in (a, b):
            async with replica.watch(chat_id) as seen:
                await seen.until(lambda seen: seen.chat.retry is not None)
                assert seen.chat.retry is not None
                assert seen.chat.retry.attempt == 1
        await a.do(chat_id, Interrupt())
        await a.until(chat_id, ShownStatus.WAITING)
        async with b.watch(chat_id) as seen:
            await seen.until(lambda seen: "ActionsEvent" in str(seen.events))
            assert seen.chat.retry is None


async def test_a_subscriber_that_never_reads_slows_nobody(
    database_url: str, model: FakeModel, redis_url: str
) -> None:
    """E52: the turn ends while nobody reads; what was too much is told as a reset and then in full."""
    words = "wave " * 300_000
    model.script(
        [Say(words, pieces=tuple(words[i : i + 5000] for i in range(0, len(words), 5000)))]
    )
    async with (
        TestReplica.start(database_url, model.url, redis_url=redis_url) as a,
        TestReplica.start(database_url, redis_url=redis_url, works=False) as b,
    ):
        chat_id = await a.chat("one")
        async with a.watch(chat_id) as near, b.watch(chat_id) as far:
            for seen in (near, far):
                await seen.until(lambda seen: bool(seen.events))
            await a.until(chat_id, ShownStatus.WAITING)
            for seen in (near, far):
                await seen.until_status(ShownStatus.WAITING)
                assert seen.said == [("user", "one"), ("assistant", words)]
                assert len(seen.events) < 100


async def test_an_overflow_is_an_explicit_reset(database_url: str, model: FakeModel) -> None:
    """E52: a reader that was too slow is told that the beginning is gone, never a gap in silence."""
    words = "wave " * 300_000
    pieces = (*(words[i : i + 5000] for i in range(0, len(words), 5000)), "Land!")
    model.script([Say("Ahoy. "), Gate("begun"), Say("", pieces=pieces), Gate("end")])
    async with TestReplica.start(database_url, model.url) as replica:
        chat_id = await replica.chat("one")
        async with replica.watch(chat_id) as slow, replica.watch(chat_id) as quick:
            await slow.until_text("Ahoy. ")
            model.release("begun")
            await quick.until(lambda seen: seen.chat.preview.text.endswith("Land!"))
            await slow.until(lambda seen: seen.chat.preview.text.endswith("Land!"))
            assert slow.all_of(PreviewReset)[0].reason is PreviewResetReason.OVERFLOW
            assert slow.chat.preview.in_mid_text
            model.release("end")
            await slow.until_status(ShownStatus.WAITING)
            assert slow.said == [("user", "one"), ("assistant", f"Ahoy. {words}Land!")]
