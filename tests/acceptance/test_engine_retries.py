"""What is asked again and what is not, and what people see of it (E55)."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import pytest

from engine.chat.commands import Interrupt
from engine.chat.content import Finish
from engine.chat.errors import ErrorKind
from engine.chat.view import ShownStatus
from engine.stream.events import PartEvent, PreviewReset, PreviewResetReason, RetryEvent
from tests.fakes.model_server import (
    Drop,
    FakeModel,
    Gate,
    Hang,
    Raw,
    Refuse,
    Reset,
    Say,
    Step,
    Stop,
)
from tests.fakes.replica import FAST, TestReplica, Watcher, soon


@pytest.fixture
async def model() -> AsyncIterator[FakeModel]:
    async with FakeModel.start() as fake:
        yield fake


RETRIED: dict[str, tuple[Sequence[Step], ErrorKind]] = {
    "429": ([Refuse(429, "Rate limit reached", {"Retry-After": "1"})], ErrorKind.RATE_LIMIT),
    "503": ([Refuse(503, "The server is down")], ErrorKind.TIMEOUT),
    "529": ([Refuse(529, "Overloaded")], ErrorKind.OVERLOADED),
    "reset at once": ([Reset()], ErrorKind.TIMEOUT),
    "reset": ([Say("Half an"), Gate("sent"), Reset()], ErrorKind.TIMEOUT),
    "dropped": ([Say("Half an"), Gate("sent"), Drop()], ErrorKind.TIMEOUT),
    "no end": ([Say("Half an"), Gate("sent"), Stop()], ErrorKind.TIMEOUT),
    "stalled": ([Say("Half an"), Gate("sent"), Hang()], ErrorKind.TIMEOUT),
}


@pytest.mark.parametrize("case", RETRIED)
async def test_a_passing_failure_is_retried_and_shown(
    database_url: str, model: FakeModel, redis_url: str, case: str
) -> None:
    """E55: retried after its backoff, shown as a retry, the failed attempt's text taken back."""
    script, kind = RETRIED[case]
    model.script(script)
    model.say("The whole answer.")
    async with (
        TestReplica.start(database_url, model.url, redis_url=redis_url, silence_seconds=0.3) as a,
        TestReplica.start(database_url, redis_url=redis_url, works=False) as b,
    ):
        chat_id = await a.chat("one")
        async with a.watch(chat_id) as near, b.watch(chat_id) as far:
            if len(script) > 1:
                for seen in (near, far):
                    await seen.until_text("Half an")
                model.release("sent")
            await asyncio.gather(*(sees_the_retry(seen, kind) for seen in (near, far)))
        view = await a.view(chat_id)
        assert view.retry is None
        assert view.last_error is None
        assert len(model.requests) == 2
        assert len(await a.messages(chat_id)) == 2


async def sees_the_retry(seen: Watcher, kind: ErrorKind) -> None:
    """Follow the turn to its end: what was streamed is taken back, the retry shown, then over."""
    await seen.until(lambda seen: seen.chat.retry is not None)
    assert seen.chat.retry is not None
    assert (seen.chat.retry.attempt, seen.chat.retry.error.kind) == (1, kind)
    assert seen.chat.retry.delay_ms == 1000
    assert seen.chat.preview.text == ""
    if seen.all_of(PartEvent):
        assert seen.all_of(PreviewReset)[0].reason is PreviewResetReason.RETRY
    await seen.until_status(ShownStatus.WAITING)
    assert seen.all_of(RetryEvent)[-1].retry is None
    assert seen.said == [("user", "one"), ("assistant", "The whole answer.")]


async def test_a_provider_is_given_the_time_it_asks_for(
    database_url: str, model: FakeModel
) -> None:
    """E55: at least Retry-After is waited, and the time of the next attempt is told."""
    model.refuse(429, "Rate limit reached", headers={"Retry-After": "7"})
    async with TestReplica.start(database_url, model.url) as replica:
        chat_id = await replica.chat("one")
        view = await replica.until(chat_id, lambda view: view.retry is not None)
        assert view.retry is not None
        assert view.retry.delay_ms == 7000
        assert view.retry.error.message == "Fake Provider is rate limiting requests."
        assert view.status is ShownStatus.RUNNING


async def test_waits_double_until_the_attempts_are_used_up(
    database_url: str, model: FakeModel
) -> None:
    """E55: the second wait is twice the first; after the last attempt the chat is in error."""
    model.answer(lambda _request: (Refuse(503, "The server is down"),))
    worker = replace(FAST, retry_attempts_max=3)
    async with TestReplica.start(database_url, model.url, worker=worker) as replica:
        chat_id = await replica.chat("one")
        async with replica.watch(chat_id) as seen:
            await seen.until_status(ShownStatus.ERROR)
            delays = [event.retry.delay_ms for event in seen.all_of(RetryEvent) if event.retry]
            assert delays == [1000, 2000]
            assert seen.chat.error is not None
            assert seen.chat.error.kind is ErrorKind.TIMEOUT
    assert len(model.requests) == 3


@pytest.mark.parametrize(
    ("status", "words", "kind"),
    [
        (401, "Incorrect API key provided: sk-test-key", ErrorKind.AUTH),
        (400, "Unknown model", ErrorKind.CONFIG),
        (403, "Forbidden", ErrorKind.AUTH),
        (404, "No such model", ErrorKind.CONFIG),
    ],
)
async def test_a_lasting_failure_is_not_retried(
    database_url: str, model: FakeModel, status: int, words: str, kind: ErrorKind
) -> None:
    """E55: 401 and 400 are not retried; the error is fit for people and shows no key."""
    model.refuse(status, words)
    async with TestReplica.start(database_url, model.url) as replica:
        chat_id = await replica.chat("one")
        async with replica.watch(chat_id) as seen:
            await seen.until_status(ShownStatus.ERROR)
            assert seen.all_of(RetryEvent) == []
            assert seen.chat.error is not None
            assert seen.chat.error.kind is kind
            assert seen.chat.error.status_code == status
            assert "sk-test-key" not in str(seen.chat.error)
        assert len(model.requests) == 1
        await replica.send(chat_id, "two")
        await replica.until(chat_id, ShownStatus.WAITING)
    assert len(model.requests) == 2


async def test_a_cancelled_request_is_not_retried(database_url: str, model: FakeModel) -> None:
    """E55: cancel is not retried."""
    model.script([Say("Half an"), Gate("mid"), Hang()])
    async with TestReplica.start(database_url, model.url) as replica:
        chat_id = await replica.chat("one")
        await soon(model.reached("mid"))
        async with replica.watch(chat_id) as seen:
            await replica.do(chat_id, Interrupt())
            await seen.until_status(ShownStatus.WAITING)
            assert seen.all_of(RetryEvent) == []
        await soon(model.requests[0].left.wait())
    assert len(model.requests) == 1


async def test_a_failure_in_the_stream_keeps_what_came(database_url: str, model: FakeModel) -> None:
    """A stream that ends for good in an error leaves its partial text in the history."""
    broken = b'data: {"choices":[{"index":0,"delta":{"content":"Half an"}}]}\n\n'
    error = b'data: {"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}\n\n'
    model.script([Raw(broken + error)])
    async with TestReplica.start(database_url, model.url) as replica:
        chat_id = await replica.chat("one")
        view = await replica.until(chat_id, ShownStatus.ERROR)
        assert view.last_error is not None
        assert view.last_error.kind is ErrorKind.AUTH
        assert await replica.history(chat_id) == [("user", "one"), ("assistant", "Half an")]
        (_, answer) = await replica.messages(chat_id)
        assert answer.finish in (Finish.ERROR, Finish.INCOMPLETE)
        await replica.send(chat_id, "two")
        await replica.until(chat_id, ShownStatus.WAITING)
    assert model.refusals == []
