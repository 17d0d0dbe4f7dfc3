"""What is put away by itself, and what is removed for good: edges at midnight, batches, and what stays."""

import asyncio
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from engine.chat.changes import ChatChange
from engine.chat.commands import Archive, CreateChat, Unarchive
from engine.chat.content import plain
from engine.chat.decision import Refusal, RefusalReason
from engine.chat.details import DetailsChange
from engine.chat.ids import DEFAULT_ORGANIZATION, ChatId
from engine.store.bindings import Bindings
from engine.store.chat_machine import ChatMachine
from engine.store.details import Details
from engine.store.inbox import Inbox
from engine.store.leases import Leases
from engine.store.outcomes import Created
from engine.store.pool import Pool
from engine.store.reads import Reads
from engine.store.recordings import CallKind, Recordings
from engine.store.retention import Retention
from engine.store.rows import ChatRows
from engine.worker.housekeeping import Chore, Housekeeper
from engine.worker.retention_work import RetentionDays, RetentionWork
from tests.store.story import (
    ADA,
    ask_people,
    force_running,
    harbour,
    new_chat,
    sql,
    submit,
    submit_refused,
    waiting_chat,
)

NOON = datetime(2026, 12, 10, 12, 0, tzinfo=UTC)
MIDNIGHT = datetime(2026, 12, 10, tzinfo=UTC)
TICK = timedelta(microseconds=1)


async def date(pool: Pool, chat_id: ChatId, said_at: datetime) -> None:
    """Let all of a chat have happened then."""
    await sql(pool, "UPDATE chat_messages SET created_at = $2 WHERE chat_id = $1", chat_id, said_at)
    await sql(pool, "UPDATE chats SET created_at = $2 WHERE id = $1", chat_id, said_at)


async def put_away_at(pool: Pool, chat_ids: list[ChatId], at: datetime) -> None:
    """Let these chats have been put away then."""
    await sql(pool, "UPDATE chats SET archived = true WHERE id = ANY ($1)", chat_ids)
    await sql(pool, "UPDATE chats SET archived_at = $2 WHERE id = ANY ($1)", chat_ids, at)


def work_of(machine: ChatMachine, pool: Pool, now: datetime = NOON, **days: int) -> RetentionWork:
    """The work at this time."""
    retention = Retention(pool, lambda _change: None, lambda: now)
    return RetentionWork(machine, retention, Recordings(pool), RetentionDays(**days))


async def archived(pool: Pool) -> set[ChatId]:
    return {row["id"] for row in await sql(pool, "SELECT id FROM chats WHERE archived")}


# -- putting away ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said_at", "now", "goes"),
    [
        (MIDNIGHT - timedelta(days=2) - TICK, NOON, True),
        (MIDNIGHT - timedelta(days=2), NOON, False),
        (MIDNIGHT - timedelta(days=2) - TICK, MIDNIGHT, True),
        (MIDNIGHT - timedelta(days=2) - TICK, MIDNIGHT - TICK, False),
        (MIDNIGHT - timedelta(days=2) - TICK, MIDNIGHT + timedelta(hours=23, minutes=59), True),
        (NOON - timedelta(days=2), NOON, False),
    ],
)
async def test_days_are_counted_from_midnight(
    machine: ChatMachine, pool: Pool, said_at: datetime, now: datetime, *, goes: bool
) -> None:
    chat_id = await waiting_chat(machine, pool)
    await date(pool, chat_id, said_at)
    assert await work_of(machine, pool, now, archive=2).archive_idle() == int(goes)
    assert (chat_id in await archived(pool)) == goes


async def test_never_means_never(machine: ChatMachine, pool: Pool) -> None:
    chat_id = await waiting_chat(machine, pool)
    await date(pool, chat_id, NOON - timedelta(days=4000))
    work = work_of(machine, pool)
    assert await work.archive_idle() == 0
    await put_away_at(pool, [chat_id], NOON - timedelta(days=4000))
    assert await work.delete_archived() == 0


async def test_what_is_pinned_at_work_or_asked_about_stays(
    machine: ChatMachine, pool: Pool
) -> None:
    details = Details(pool, lambda _change: None)
    pinned, failed, idle = [await waiting_chat(machine, pool) for _ in range(3)]
    await details.change(pinned, DetailsChange(pin_order=1))
    await sql(pool, "UPDATE chats SET status = 'error' WHERE id = $1", failed)
    asked = await new_chat(machine)
    await ask_people(machine, pool, asked, "call-1", deadline=NOON + timedelta(days=1000))
    running, pending = await new_chat(machine), await new_chat(machine)
    await force_running(pool, running)
    for chat_id in (pinned, failed, idle, asked, running, pending):
        await date(pool, chat_id, NOON - timedelta(days=100))
    assert await work_of(machine, pool, archive=30).archive_idle() == 2
    assert await archived(pool) == {failed, idle}
    assert await work_of(machine, pool, archive=30).archive_idle() == 0


async def test_newest_message_that_stands_decides(machine: ChatMachine, pool: Pool) -> None:
    chat_id = await waiting_chat(machine, pool)
    await date(pool, chat_id, NOON - timedelta(days=100))
    await sql(
        pool,
        "UPDATE chat_messages SET created_at = $2 WHERE chat_id = $1 AND role = 'assistant'",
        chat_id,
        NOON - timedelta(days=1),
    )
    work = work_of(machine, pool, archive=30)
    assert await work.archive_idle() == 0
    await sql(pool, "UPDATE chat_messages SET deleted = true WHERE role = 'assistant'")
    assert await work.archive_idle() == 1


async def test_chat_that_somebody_goes_on_with_meanwhile_is_not_put_away(
    machine: ChatMachine, pool: Pool
) -> None:
    chat_id = await waiting_chat(machine, pool)
    await date(pool, chat_id, NOON - timedelta(days=100))
    (idle,) = await Retention(pool, lambda _change: None, lambda: NOON).idle_chats(30)
    command = Archive(unless_changed_since=idle.snapshot_version)
    await sql(pool, "UPDATE chats SET title = 'Boats' WHERE id = $1", chat_id)
    refused = await submit_refused(machine, chat_id, command)
    assert refused == Refusal(reason=RefusalReason.STATUS_CHANGED, detail="waiting")
    (again,) = await Retention(pool, lambda _change: None, lambda: NOON).idle_chats(30)
    await submit(machine, chat_id, Archive(unless_changed_since=again.snapshot_version))
    assert await archived(pool) == {chat_id}


async def test_a_round_puts_a_thousand_away_at_most(machine: ChatMachine, pool: Pool) -> None:
    await many(pool, 1_003, archived=False)
    work = work_of(machine, pool, archive=30)
    assert await work.archive_idle() == 1_000
    assert await work.archive_idle() == 3


async def many(pool: Pool, count: int, *, archived: bool) -> None:
    """So many chats with a message each, all from a hundred days ago."""
    await sql(pool, _MANY, count, DEFAULT_ORGANIZATION, NOON - timedelta(days=100), archived)


_MANY = """
WITH chat AS (
    INSERT INTO chats (id, organization_id, bot, status, created_at, archived)
    SELECT gen_random_uuid(), $2, 'wren', 'waiting', $3, $4 FROM generate_series(1, $1)
    RETURNING id, organization_id
)
INSERT INTO chat_messages (chat_id, organization_id, role, content, created_at)
SELECT id, organization_id, 'user', '[]', $3 FROM chat
"""


# -- removing -------------------------------------------------------------------------------------


async def test_a_chat_goes_with_all_that_hangs_on_it_and_its_cost_stays(
    machine: ChatMachine, pool: Pool
) -> None:
    chat_id = await new_chat(machine, binding=harbour())
    await ask_people(machine, pool, chat_id, "call-1", deadline=NOON)
    await sql(pool, "UPDATE chat_messages SET cost_micros = 7 WHERE role = 'assistant'")
    await sql(
        pool,
        "INSERT INTO usage_records (organization_id, chat_id, bot, cost_micros) VALUES ($1, $2, 'wren', 7)",
        DEFAULT_ORGANIZATION,
        chat_id,
    )
    await Reads(pool).mark_read(chat_id, "ada")
    await Recordings(pool).begin(
        chat_id, DEFAULT_ORGANIZATION, kind=CallKind.STEP, model="m", request={}
    )
    other = await new_chat(machine)
    assert await Retention(pool, lambda _change: None).delete_chat(chat_id)
    for table in (
        "chat_messages",
        "required_actions",
        "bindings",
        "deliveries",
        "chat_reads",
        "model_call_recordings",
    ):
        rows = await sql(pool, f"SELECT chat_id FROM {table}")  # noqa: S608 - a fixed list
        assert {row["chat_id"] for row in rows} <= {other}, table
    (spent,) = await sql(pool, "SELECT sum(cost_micros) AS micros FROM usage_records")
    assert spent["micros"] == 7
    assert not await Retention(pool, lambda _change: None).delete_chat(chat_id)


async def test_many_chats_go_in_batches(machine: ChatMachine, pool: Pool) -> None:
    await many(pool, 2_500, archived=True)
    await sql(pool, "UPDATE chats SET archived_at = $1", NOON - timedelta(days=90))
    young = await waiting_chat(machine, pool)
    await put_away_at(pool, [young], MIDNIGHT - timedelta(days=30))
    retention = Retention(pool, lambda _change: None, lambda: NOON)
    batches = []
    while done := await retention.delete_archived(30):
        batches.append(done)
    assert batches == [1_000, 1_000, 500]
    assert [row["id"] for row in await sql(pool, "SELECT id FROM chats")] == [young]
    assert {row["chat_id"] for row in await sql(pool, "SELECT chat_id FROM chat_messages")} == {
        young
    }


async def test_a_batch_is_bounded_by_messages_but_always_gets_on(pool: Pool) -> None:
    await many(pool, 5, archived=True)
    await sql(pool, "UPDATE chats SET archived_at = created_at")
    retention = Retention(pool, lambda _change: None, lambda: NOON)
    assert await retention.delete_archived(30, messages_max=2) == 2
    assert await retention.delete_archived(30, messages_max=1) == 1
    await sql(pool, "INSERT INTO chat_messages (chat_id, organization_id, role, content)"
              " SELECT id, organization_id, 'user', '[]' FROM chats, generate_series(1, 9)")  # fmt: skip
    assert await retention.delete_archived(30, messages_max=1) == 1


async def test_what_was_put_away_at_the_edge_of_the_window_goes_at_its_midnight(
    machine: ChatMachine, pool: Pool
) -> None:
    chat_id = await waiting_chat(machine, pool)
    await put_away_at(pool, [chat_id], MIDNIGHT - timedelta(days=30) - TICK)

    def retention(now: datetime) -> Retention:
        return Retention(pool, lambda _change: None, lambda: now)

    assert await retention(MIDNIGHT - TICK).delete_archived(30) == 0
    assert await retention(MIDNIGHT).delete_archived(30) == 1


async def test_chat_that_is_taken_out_again_stays(machine: ChatMachine, pool: Pool) -> None:
    chat_id = await waiting_chat(machine, pool)
    await put_away_at(pool, [chat_id], NOON - timedelta(days=90))
    await submit(machine, chat_id, Unarchive())
    retention = Retention(pool, lambda _change: None, lambda: NOON)
    assert await retention.delete_archived(30) == 0
    await submit(machine, chat_id, Archive())
    assert await retention.delete_archived(30) == 0


async def test_row_that_somebody_holds_is_passed_over(machine: ChatMachine, pool: Pool) -> None:
    held, free = [await waiting_chat(machine, pool) for _ in range(2)]
    await put_away_at(pool, [held, free], NOON - timedelta(days=90))
    retention = Retention(pool, lambda _change: None, lambda: NOON)
    async with pool.transaction(locked_chat=held):
        assert await retention.delete_archived(30) == 1
    assert [row["id"] for row in await sql(pool, "SELECT id FROM chats")] == [held]


async def test_what_a_worker_reports_of_a_chat_that_is_gone_is_nothing(
    machine: ChatMachine, pool: Pool
) -> None:
    chat_id = await new_chat(machine)
    held = await force_running(pool, chat_id)
    await Retention(pool, lambda _change: None).delete_chat(chat_id)
    assert await machine.submit(chat_id, Archive()) is None
    assert await Leases(pool).renew_chats([(chat_id, held.runner_id)], 30.0) == ()


async def test_thread_whose_chat_is_gone_gets_a_new_one(machine: ChatMachine, pool: Pool) -> None:
    first = await new_chat(machine, binding=harbour())
    await Retention(pool, lambda _change: None).delete_chat(first)
    second = CreateChat(
        chat_id=ChatId(uuid4()),
        content=plain("hello again"),
        author=ADA,
        source_key="1.0",
        binding=harbour(),
    )
    created = await machine.create(second)
    assert isinstance(created, Created)
    (bound,) = await Bindings(pool).bindings_of(second.chat_id)
    assert bound.thread == harbour()


async def test_what_goes_is_published_as_newer_than_anything_known(
    machine: ChatMachine, pool: Pool
) -> None:
    chat_id = await waiting_chat(machine, pool)
    (stood,) = await ChatRows(pool).versions_of([chat_id])
    told: list[ChatChange] = []
    await Retention(pool, told.append).delete_chat(chat_id)
    (change,) = told
    assert change.chat_id == chat_id
    assert change.history_version == change.snapshot_version == stood.snapshot_version + 1


# -- housekeeping ---------------------------------------------------------------------------------


async def test_two_replicas_put_each_chat_away_once(machine: ChatMachine, pool: Pool) -> None:
    await many(pool, 20, archived=False)
    work = work_of(machine, pool, archive=30)
    done = await asyncio.gather(work.archive_idle(), work.archive_idle())
    assert sum(done) == 20
    (versions,) = await sql(pool, "SELECT max(snapshot_version) AS most FROM chats")
    (before,) = await sql(pool, "SELECT min(snapshot_version) AS least FROM chats")
    assert versions["most"] == before["least"]


async def test_a_chore_that_fails_keeps_no_other_from_being_done(pool: Pool) -> None:
    async def fail() -> int:
        rows = await sql(pool, "SELECT nothing FROM nowhere")
        return len(rows)

    left = [2, 1]

    async def work() -> int:
        return left.pop() if left else 0

    chores = (Chore(name="fails", work=fail), Chore(name="works", work=work))
    housekeeper = Housekeeper(Leases(pool), Inbox(pool), chores=chores)
    assert await housekeeper.clean_up() == 3


async def test_recordings_go_after_their_days(machine: ChatMachine, pool: Pool) -> None:
    chat_id = await new_chat(machine)
    recordings = Recordings(pool)
    for _ in range(2):
        await recordings.begin(
            chat_id, DEFAULT_ORGANIZATION, kind=CallKind.STEP, model="m", request={}
        )
    await sql(
        pool,
        "UPDATE model_call_recordings SET started_at = now() - interval '8 days'"
        " WHERE id = (SELECT min(id) FROM model_call_recordings)",
    )
    assert await work_of(machine, pool).purge_recordings() == 1
    assert await work_of(machine, pool).end_recordings() == 0
    await sql(pool, "UPDATE model_call_recordings SET started_at = now() - interval '2 days'")
    assert await work_of(machine, pool).end_recordings() == 1
    (call,) = await recordings.list_recordings(chat_id)
    assert call.status == "interrupted"
