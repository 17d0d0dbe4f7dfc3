"""The runners of one replica: starts them, passes hints on, keeps their leases, gives them back."""

import asyncio
import logging
from collections.abc import Callable

from engine.agent.brain import BrainRequest, Brains, Equipment
from engine.agent.gate import Gate, StopReason
from engine.agent.turn import Turn
from engine.agent.turn_state import TurnPorts
from engine.chat.changes import ChatChange
from engine.chat.ids import ChatId, RunnerId
from engine.chat.snapshot import ChatStatus, Snapshot
from engine.store.leases import AcquiredChat, Renewed
from engine.stream.relay import Subscription
from engine.tools.definition import ToolDefinition
from engine.tools.dynamic import DynamicToolInvalid, parse_dynamic_tools
from engine.tools.registry import ToolSet
from engine.worker.runner import Runner

log = logging.getLogger(__name__)

TOOLS_PATIENCE_SECONDS = 10.0
"""How long a drain waits for tools: half of what a part of the process may take to drain."""


class RunnerManager:
    """Owns the runners' tasks. At most one runner a chat; the newest acquisition wins.

    `on_room` is called when a runner has ended and its place is free.
    """

    def __init__(self, *, ports: TurnPorts, brains: Brains, on_room: Callable[[], None]) -> None:
        self._ports = ports
        self._brains = brains
        self._on_room = on_room
        self._runners: dict[ChatId, tuple[Runner, Subscription]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def count(self) -> int:
        """Chats that are being worked on."""
        return len(self._tasks)

    @property
    def held(self) -> tuple[tuple[ChatId, RunnerId], ...]:
        """Whose leases must be kept."""
        return tuple((chat_id, runner.runner_id) for chat_id, (runner, _) in self._runners.items())

    def has(self, chat_id: ChatId) -> bool:
        """Whether the chat is being worked on here."""
        return chat_id in self._runners

    def start(self, chat: AcquiredChat, group: asyncio.TaskGroup) -> None:
        """Begin to work on a chat that was just acquired."""
        older = self._runners.pop(chat.chat_id, None)
        if older is not None:
            older[0].stop(StopReason.ABANDON)
            older[1].close()
        runner = Runner(_snapshot_of(chat), chat.runner_id, self._turn_maker(chat))
        subscription = self._ports.relay.subscribe(chat.chat_id, on_change=runner.on_change)
        self._runners[chat.chat_id] = (runner, subscription)
        task = group.create_task(self._run(runner), name=f"run {chat.chat_id}")
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def keep(
        self, asked: tuple[tuple[ChatId, RunnerId], ...], renewed: tuple[Renewed, ...]
    ) -> None:
        """Take note of a heartbeat's answer: what is missing is lost, an interrupt is obeyed."""
        standing = {item.chat_id: item for item in renewed}
        for chat_id, runner_id in asked:
            held = self._runners.get(chat_id)
            if held is None or held[0].runner_id != runner_id:
                continue
            item = standing.get(chat_id)
            if item is None:
                held[0].stop(StopReason.ABANDON)
            elif item.status is ChatStatus.INTERRUPTING:
                held[0].on_change(_hint_of(item, runner_id))

    async def drain(self, tools_seconds: float) -> None:
        """Give every chat back unfinished, and return when all are.

        Tools that run are let finish, for so long: one that is cut off may have taken effect.
        """
        await self._stop_all(StopReason.RELEASE, tools_seconds)
        await self._stop_all(StopReason.RELEASE_AT_ONCE, None)

    async def _stop_all(self, reason: StopReason, seconds: float | None) -> None:
        for runner, _ in self._runners.values():
            runner.stop(reason)
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)

    async def _run(self, runner: Runner) -> None:
        try:
            await runner.run(self._ports)
        finally:
            held = self._runners.get(runner.chat_id)
            if held is not None and held[0] is runner:
                del self._runners[runner.chat_id]
                held[1].close()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._on_room()

    def _turn_maker(self, chat: AcquiredChat) -> Callable[[Snapshot, Gate], Turn]:
        own = _dynamic_tools(chat)
        request = BrainRequest(
            bot=chat.bot,
            model=chat.model,
            identity=chat.owner.identity if chat.owner else None,
            chat_id=chat.chat_id,
            organization_id=chat.organization_id,
            records_calls=chat.records_calls,
        )

        async def equip() -> Equipment:
            brain = await self._brains(request)
            tools = ToolSet(brain.local_tools, (*brain.dynamic_tools, *own))
            return Equipment(brain=brain, tools=tools)

        def make(snapshot: Snapshot, gate: Gate) -> Turn:
            return Turn(
                snapshot=snapshot,
                equip=equip,
                gate=gate,
                ports=self._ports,
                yields=chat.is_capped,
                began_at=chat.runnable_since,
            )

        return make


def _dynamic_tools(chat: AcquiredChat) -> tuple[ToolDefinition, ...]:
    try:
        return parse_dynamic_tools(chat.dynamic_tools)
    except DynamicToolInvalid:
        # They were checked when the chat was created; a rule that has become stricter must not
        # make old chats unanswerable.
        extra = {"action": "dynamic_tools_invalid", "chat_id": str(chat.chat_id)}
        log.warning("A chat's own tools are no longer valid and are left out.", extra=extra)
        return ()


def _snapshot_of(chat: AcquiredChat) -> Snapshot:
    change = chat.change
    return Snapshot(
        chat_id=chat.chat_id,
        organization_id=chat.organization_id,
        status=change.status,
        archived=change.archived,
        snapshot_version=change.snapshot_version,
        history_version=change.history_version,
        queue_version=change.queue_version,
        retry_version=change.retry_version,
        generation_attempt=change.generation_attempt,
        runner_id=chat.runner_id,
        lease_live=True,
        open_calls=chat.open_calls,
        compaction_requested=chat.compaction_requested,
    )


def _hint_of(item: Renewed, runner_id: RunnerId) -> ChatChange:
    return ChatChange(
        chat_id=item.chat_id,
        snapshot_version=item.snapshot_version,
        history_version=0,
        queue_version=0,
        retry_version=0,
        generation_attempt=0,
        status=item.status,
        runner_id=runner_id,
        lease_live=True,
    )
