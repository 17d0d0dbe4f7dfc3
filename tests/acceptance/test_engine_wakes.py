"""Wakes on several replicas: one of many workers is enough, and the others do not even ask."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest

from engine.chat.ids import ChatId
from engine.chat.view import ShownStatus
from tests.fakes.model_server import FakeModel, Gate, Say
from tests.fakes.replica import ONLY_WAKES, TestReplica, eventually, soon

LONG = (3600.0, 3600.0)
CHATS = 8


class Counted:
    """A replica that sees nothing but what it is woken for, and how often it looks for chats."""

    def __init__(self, replica: TestReplica) -> None:
        self.replica = replica
        self.looks = 0
        self._acquire = replica.engine.leases.acquire_chats
        replica.engine.leases.acquire_chats = self._counted  # type: ignore[method-assign]

    async def _counted(self, *args: Any, **options: Any) -> Any:
        self.looks += 1
        return await self._acquire(*args, **options)

    async def settle(self) -> None:
        """Return when it hears of wakes, and its first looks are behind it."""
        relay = self.replica.engine.relay

        async def is_connected() -> bool:
            return relay.healthy

        await eventually(is_connected)
        # A channel that is subscribed later is confirmed later, so wakes are heard by then.
        witness = relay.subscribe(ChatId(uuid4()), on_change=lambda _change: None)
        await witness.wait_until_ready()
        witness.close()
        chat_id = await self.replica.chat("warm up")
        await self.replica.until(chat_id, ShownStatus.WAITING)
        await self.until_calm()

    async def until_calm(self) -> None:
        """Return when it has no chat in mind that it would look for."""
        worker = self.replica.replica.worker
        assert worker is not None

        async def is_calm() -> bool:
            return not worker._wakes._woken

        await eventually(is_calm)


@pytest.fixture
async def pair(
    database_url: str, redis_url: str, model: FakeModel, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Sequence[Counted]]:
    """Two replicas; what is woken at one is left to it by the other for longer than a test takes."""
    monkeypatch.setattr("engine.worker.wakes.ELSEWHERE_SECONDS", LONG)
    model.answer(lambda seen: [Say(seen.last_text)])
    async with AsyncExitStack() as stack:
        counted = [
            Counted(
                await stack.enter_async_context(
                    TestReplica.start(
                        database_url, model.url, redis_url=redis_url, worker=ONLY_WAKES
                    )
                )
            )
            for _ in range(2)
        ]
        for each in counted:
            await each.settle()
        for each in counted:
            await each.until_calm()
        yield counted


async def test_a_worker_that_hears_that_a_chat_is_taken_does_not_ask_for_it(
    pair: Sequence[Counted],
) -> None:
    """E49: the replica that a chat was created at answers it; the other sends no statement."""
    here, there = pair
    looks_here, looks_there = here.looks, there.looks
    for number in range(CHATS):
        chat_id = await here.replica.chat(f"{number}")
        await here.replica.until(chat_id, ShownStatus.WAITING)
    await here.until_calm()
    await there.until_calm()

    assert here.looks - looks_here >= CHATS
    assert there.looks == looks_there


async def test_either_replica_answers_what_it_was_told_itself(pair: Sequence[Counted]) -> None:
    """E50: also a message to a chat that the other one had before."""
    here, there = pair
    chat_id = await here.replica.chat("one")
    await here.replica.until(chat_id, ShownStatus.WAITING)
    looks_here = here.looks
    await there.replica.send(chat_id, "two")
    await there.replica.until(chat_id, ShownStatus.WAITING)
    await here.until_calm()

    assert here.looks == looks_here


async def test_what_a_replica_without_a_worker_is_told_is_answered_without_a_poll(
    database_url: str, redis_url: str, model: FakeModel
) -> None:
    """E49, E50: the workers of others come for it a moment later."""
    model.answer(lambda seen: [Say(seen.last_text)])
    async with (
        TestReplica.start(database_url, redis_url=redis_url, works=False) as api,
        TestReplica.start(
            database_url, model.url, redis_url=redis_url, worker=ONLY_WAKES
        ) as replica,
    ):
        await Counted(replica).settle()
        chat_id = await api.chat("one")
        await api.until(chat_id, ShownStatus.WAITING)
        await api.send(chat_id, "two")
        await api.until(chat_id, ShownStatus.WAITING)


async def test_a_full_replica_leaves_its_chats_to_others_and_looks_when_it_has_room(
    database_url: str, redis_url: str, model: FakeModel
) -> None:
    """E49: it does not ask the database for what it could not take."""
    model.answer(
        lambda seen: [Gate("full"), Say("re")] if "fills" in seen.last_text else [Say("re")]
    )
    narrow = replace(ONLY_WAKES, chats_max=1)
    async with TestReplica.start(
        database_url, model.url, redis_url=redis_url, worker=narrow
    ) as replica:
        full = Counted(replica)
        await full.settle()
        filling = await replica.chat("fills")
        await soon(model.reached("full"))
        looks = full.looks
        async with TestReplica.start(
            database_url, model.url, redis_url=redis_url, worker=ONLY_WAKES
        ) as other:
            await Counted(other).settle()
            chat_id = await replica.chat("for the other")
            await other.until(chat_id, ShownStatus.WAITING)
            assert full.looks == looks
        waiting = await replica.chat("waits")
        assert full.looks == looks
        model.release("full")
        for chat_id in (filling, waiting):
            await replica.until(chat_id, ShownStatus.WAITING)


async def test_a_chat_whose_wake_was_lost_is_found_by_the_poll(
    database_url: str, model: FakeModel
) -> None:
    """Any hint may be lost: without a bus, one replica hears nothing of what another creates."""
    model.answer(lambda seen: [Say(seen.last_text)])
    polls = replace(ONLY_WAKES, poll_seconds=0.05)
    async with (
        TestReplica.start(database_url, works=False) as api,
        TestReplica.start(database_url, model.url, worker=polls) as replica,
    ):
        await replica.until(await replica.chat("warm up"), ShownStatus.WAITING)
        chat_id = await api.chat("one")
        await api.until(chat_id, ShownStatus.WAITING)
