"""The same random lives, told to the pure model and to Postgres, stay the same in every step."""

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID, uuid4

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from msgspec import structs

from engine.chat.commands import CreateChat
from engine.chat.content import Author, Content, Finish, NewMessage, Role, Usage, Visibility, plain
from engine.chat.decision import Effect, Refusal, RefusalReason
from engine.chat.errors import ChatError, RetryState
from engine.chat.ids import ChatId, MessageId, RunnerId
from engine.chat.notification import NotificationKind
from engine.chat.snapshot import ChatStatus, OpenCall
from engine.chat.writes import ActionState
from engine.store.chat_machine import ChatMachine
from engine.store.leases import Leases
from engine.store.outcomes import Created
from engine.store.pool import Pool, open_pool
from engine.store.rows import ChatRows
from engine.store.stored_json import decode_json, decode_optional
from tests.unit.engine.chat.model import ChatModel, View
from tests.unit.engine.chat.promises import broken_promises
from tests.unit.engine.chat.steps import (
    ADA,
    HARBOUR,
    LATER,
    NOW,
    PEOPLE,
    WORKERS,
    Do,
    Sight,
    Step,
    resolve,
    steps,
)

T = TypeVar("T")
MESSAGES = "SELECT * FROM chat_messages WHERE chat_id = $1 ORDER BY id"
QUEUE = "SELECT * FROM chat_queued_messages WHERE chat_id = $1 ORDER BY position, id"
ACTIONS = "SELECT * FROM required_actions WHERE chat_id = $1 ORDER BY id"
NOTIFICATIONS = "SELECT kind, history_version FROM notifications WHERE chat_id = $1 ORDER BY id"
LEDGER = "SELECT * FROM tool_call_ledger WHERE chat_id = $1 ORDER BY message_id, tool_call_id"
SILENCE = "UPDATE chat_heartbeats SET heartbeat_at = now() - lease - interval '1 second'"
Outcome = RefusalReason | Effect


class Acquired(ChatModel):
    """The model, with what taking a chat does to its episode; that is the store's own rule."""

    def acquire(self, runner_id: RunnerId) -> bool:
        if not ChatModel.acquire(self, runner_id):
            return False
        self.generation_attempt += 1
        if self.row.retry is not None:
            self.row = replace(self.row, retry=None)
            self.retry_version = self.snapshot_version
        return True


class StoredChat:
    """The same chat in Postgres, asked and seen in the same terms."""

    def __init__(self, pool: Pool, create: CreateChat) -> None:
        self.create = create
        self.now = NOW
        self._pool = pool
        self._machine = ChatMachine(pool, lambda _change: None, clock=self._clock)
        self._runners = [RunnerId(UUID(int=0))]

    async def begin(self) -> None:
        assert isinstance(await self._machine.create(self.create), Created)

    async def end(self) -> None:
        await self._fetch("DELETE FROM chats WHERE id = $1", self.create.chat_id)

    async def acquire(self) -> bool:
        chats = await Leases(self._pool).acquire_chats(10, 3600)
        self._runners += [chat.runner_id for chat in chats]
        return bool(chats)

    async def lose_lease(self) -> None:
        await self._fetch(SILENCE)

    async def submit(self, step: Step, text: str) -> Outcome:
        command = resolve(step, await self._sight(), text)
        assert command is not None
        outcome = await self._machine.submit(self.create.chat_id, command)
        assert outcome is not None
        return outcome.reason if isinstance(outcome, Refusal) else outcome.effect

    async def view(self) -> View:
        chat_id = self.create.chat_id
        (chat,) = await self._fetch("SELECT * FROM chats WHERE id = $1", chat_id)
        (change,) = await ChatRows(self._pool).versions_of([chat_id])
        messages = await self._fetch(MESSAGES, chat_id)
        places = {row["id"]: place for place, row in enumerate(messages, start=1)}
        told = await ChatRows(self._pool).read_prompt(chat_id)
        assert told is not None
        queue = await self._fetch(QUEUE, chat_id)
        actions = await self._fetch(ACTIONS, chat_id)
        ledger = await self._fetch(LEDGER, chat_id)
        return View(
            status=ChatStatus(chat["status"]),
            archived=chat["archived"],
            has_runner=chat["runner_id"] is not None,
            lease_live=change.lease_live,
            history=tuple((message_of(row, places), row["deleted"]) for row in messages),
            queue=tuple((decode_json(row["content"], Content), row["source_key"]) for row in queue),
            open_calls=decode_json(chat["open_calls"], tuple[OpenCall, ...]),
            actions=tuple(
                (row["tool_call_id"], ActionState(row["state"]), decode_optional(row["answer"]))
                for row in actions
            ),
            ledger=tuple(row["tool_call_id"] for row in ledger),
            actions_deadline_at=chat["actions_deadline_at"],
            last_error=decode_optional(chat["last_error"], ChatError),
            retry=decode_optional(chat["retry_state"], RetryState),
            compaction_requested=chat["compaction_requested"],
            cleared_after=sum(row["id"] <= chat["context_from_id"] for row in messages),
            prompt=tuple(places[message.id] for message in told.messages),
            notifications=tuple(
                (NotificationKind(row["kind"]), row["history_version"])
                for row in await self._fetch(NOTIFICATIONS, chat_id)
            ),
            snapshot_version=chat["snapshot_version"],
            history_version=chat["history_version"],
            queue_version=chat["queue_version"],
            retry_version=chat["retry_version"],
            generation_attempt=chat["generation_attempt"],
        )

    async def _sight(self) -> Sight:
        chat_id = self.create.chat_id
        (chat,) = await self._fetch("SELECT * FROM chats WHERE id = $1", chat_id)
        actions = await self._fetch(ACTIONS, chat_id)
        return Sight(
            message_ids=tuple(row["id"] for row in await self._fetch(MESSAGES, chat_id)),
            queued_ids=tuple(row["id"] for row in await self._fetch(QUEUE, chat_id)),
            open_action_ids=tuple(row["id"] for row in actions if row["state"] == "open"),
            open_calls=decode_json(chat["open_calls"], tuple[OpenCall, ...]),
            runner_id=chat["runner_id"],
            old_runner_id=self._runners[-2] if len(self._runners) > 1 else self._runners[0],
            history_version=chat["history_version"],
        )

    def _clock(self) -> datetime:
        return self.now

    async def _fetch(self, statement: str, *args: object) -> list[Any]:
        async with self._pool.session() as connection:
            rows: list[Any] = await connection.fetch(statement, *args)
            return rows


def message_of(row: Any, places: dict[int, int]) -> NewMessage:
    """A stored message as it was inserted, but that it names a message by its place."""
    summary_of = row["summary_of"]
    return NewMessage(
        role=Role(row["role"]),
        content=decode_json(row["content"], Content),
        visibility=Visibility(row["visibility"]),
        author=decode_optional(row["author"], Author),
        source_key=row["source_key"],
        model=row["model"],
        finish=Finish(row["finish"]) if row["finish"] else None,
        usage=decode_optional(row["usage"], Usage),
        cost_micros=row["cost_micros"],
        runtime_ms=row["runtime_ms"],
        summary_of=None if summary_of is None else MessageId(places[summary_of]),
    )


class TwoLives(RuleBasedStateMachine):
    """One chat, lived twice."""

    def __init__(self, runner: asyncio.Runner, pool: Pool) -> None:
        super().__init__()
        self._runner = runner
        self._pool = pool
        self.stored: StoredChat | None = None

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)

    @initialize(backlog=st.sampled_from([0, 0, 1, 19, 20]))
    def create(self, backlog: int) -> None:
        chat_id = ChatId(uuid4())
        create = CreateChat(
            chat_id=chat_id,
            content=plain("text 0"),
            author=ADA,
            system_prompt="Wren.",
            binding=structs.replace(HARBOUR, thread=str(chat_id)),
        )
        self.count = 0
        self.runners = [RunnerId(UUID(int=0))]
        self.chat = Acquired(create)
        self.stored = StoredChat(self._pool, create)
        self.wait(self.stored.begin())
        for _ in range(backlog):
            self.live(Step(do=Do.SEND))
        self.live(Step(do=Do.ACQUIRE))

    @rule(step=steps(PEOPLE))
    def people_act(self, step: Step) -> None:
        self.live(step)

    @rule(step=steps(WORKERS))
    def workers_act(self, step: Step) -> None:
        self.live(step)

    @rule(
        step=steps((Do.COMMIT, Do.ASK, Do.ANSWER, Do.FINISH, Do.SUMMARISE, Do.FINISH_INTERRUPTION))
    )
    def the_turn_goes_on(self, step: Step) -> None:
        self.live(Step(do=Do.ACQUIRE))
        self.live(step)

    def live(self, step: Step) -> None:
        """Take the step in both, and compare them."""
        assert self.stored is not None
        self.count += 1
        if step.do is Do.ACQUIRE:
            assert self.acquire_in_model() == self.wait(self.stored.acquire())
        elif step.do is Do.LOSE_LEASE:
            self.chat.lose_lease()
            self.wait(self.stored.lose_lease())
        else:
            now = self.stored.now = LATER if step.pick % 2 else NOW
            text = f"text {self.count}"
            told = self.submit_to_model(step, text, now)
            assert told == self.wait(self.stored.submit(step, text))
        view = self.wait(self.stored.view())
        assert view == self.chat.view()
        assert broken_promises(view) == []

    def acquire_in_model(self) -> bool:
        runner_id = RunnerId(UUID(int=len(self.runners)))
        acquired = self.chat.acquire(runner_id)
        self.runners += [runner_id] if acquired else []
        return acquired

    def submit_to_model(self, step: Step, text: str, now: datetime) -> Outcome:
        command = resolve(step, self.sight_of_model(), text)
        assert command is not None
        outcome = self.chat.submit(command, now)
        return outcome.reason if isinstance(outcome, Refusal) else outcome.effect

    def sight_of_model(self) -> Sight:
        chat = self.chat
        return Sight(
            message_ids=tuple(stored.id for stored in chat.history),
            queued_ids=tuple(waiting.id for waiting in chat.queue),
            open_action_ids=tuple(a.id for a in chat.actions if a.state is ActionState.OPEN),
            open_calls=chat.row.open_calls,
            runner_id=chat.runner_id,
            old_runner_id=self.runners[-2] if len(self.runners) > 1 else self.runners[0],
            history_version=chat.history_version,
        )

    def teardown(self) -> None:
        if self.stored is not None:
            self.wait(self.stored.end())


def test_postgres_and_the_pure_core_live_alike(database_url: str) -> None:
    """E58: random command sequences keep the invariants in the pure core and in Postgres alike."""
    with asyncio.Runner() as runner:
        pool = runner.run(open_pool(database_url))
        try:
            run_state_machine_as_test(
                lambda: TwoLives(runner, pool),  # type: ignore[arg-type] # a factory will do
                settings=settings(max_examples=25, stateful_step_count=40, deadline=None),
            )
        finally:
            runner.run(pool.close())
