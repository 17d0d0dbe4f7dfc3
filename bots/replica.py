"""The engine of one process, put together: database, relay, front door and, if wanted, a worker."""

import logging
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import uuid4

from bots.bot_models import unanswered_bots
from bots.brains import build_brains
from bots.catalog import Bot, load_bots
from bots.lifecycle import Background
from bots.retention import retention_chores
from bots.settled_models import settled_providers
from bots.side_work import make_side_work, notify_after_seconds
from config.settings import Settings
from engine.agent.brain import Brains
from engine.agent.turn_state import TurnLimits, TurnPorts
from engine.api import Engine
from engine.budgets.budget import Budget
from engine.budgets.memory_budget import MemoryBudget
from engine.budgets.redis_budget import RedisBudget
from engine.budgets.shared_budget import SharedBudget
from engine.models.catalog import ModelCatalog
from engine.models.client import model_session
from engine.store.files import FileLimits
from engine.store.ledger import Ledger
from engine.store.migrate import migrate
from engine.store.pool import Pool, open_pool
from engine.store.vault import Vault
from engine.stream.part_buffer import PartBuffer
from engine.stream.relay import Relay
from engine.stream.relay_memory import MemoryRelay
from engine.stream.relay_redis import RedisRelay
from engine.worker.call_recorder import CallRecorder
from engine.worker.housekeeping import Housekeeper
from engine.worker.patient_store import PatientStore
from engine.worker.side_work import SideWork
from engine.worker.worker import Worker, WorkerPace

Say = Callable[[str], None]
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """What the process's adapters and health checks need. `worker` is None without that role."""

    engine: Engine
    pool: Pool
    relay: Relay
    budget: Budget
    worker: Worker | None


async def open_replica(
    stack: AsyncExitStack,
    tasks: Background,
    settings: Settings,
    database_url: str,
    *,
    say: Say,
    works: bool = True,
    brains: Brains | None = None,
    prepare: Callable[[Engine], Awaitable[None]] | None = None,
) -> Replica:
    """Connect, migrate and start. `stack` closes what was opened, `tasks` runs what must run.

    `prepare` is done before anything works. Raises DatabaseUnavailable and MigrationFailed.
    """
    pool = await open_pool(
        database_url,
        connections_min=settings.database.pool_min,
        connections_max=settings.database.pool_max,
        wait_seconds=settings.database.wait_seconds,
        on_wait=lambda reason: say(f"Waiting for the database: {reason}"),
    )
    stack.push_async_callback(pool.close)
    for name in await migrate(pool):
        say(f"Applied migration {name}.")
    relay = _open_relay(stack, tasks, settings)
    engine = Engine(
        pool,
        relay,
        file_limits=_file_limits(settings),
        vault=Vault(settings.secret_key, settings.secret_key_previous),
        settled=settled_providers(settings),
        shows_reasoning=settings.model.show_reasoning,
    )
    if prepare is not None:
        await prepare(engine)
    tasks.start(engine.stream.run(), name="stream")
    worker = None
    if works:
        if brains is None:
            session = await stack.enter_async_context(model_session())
            bots = load_bots(settings.bots_dir)
            brains = build_brains(settings, bots, session, engine.models)
            # Once in memory, models outlast the database.
            _warn_of_bots(await engine.models.current(), bots.values())
        recorder = CallRecorder(engine.recordings)
        stack.push_async_callback(recorder.drain)
        brains = recorder.recorded(brains)
        side_work = make_side_work(settings, engine, brains)
        tasks.start(side_work.run(), name="side work")
        worker = _make_worker(settings, engine, pool, brains, side_work)
        tasks.start(worker.run(), name="worker")
        housekeeper = Housekeeper(
            engine.leases,
            engine.inbox,
            engine.files,
            engine.notifications,
            chores=retention_chores(settings, engine),
        )
        tasks.start(housekeeper.run(), name="housekeeping")
        tasks.on_drain("worker", worker.drain)
    return Replica(
        engine=engine,
        pool=pool,
        relay=relay,
        budget=_open_budget(stack, settings),
        worker=worker,
    )


def _warn_of_bots(catalog: ModelCatalog, bots: Iterable[Bot]) -> None:
    for bot, why in unanswered_bots(catalog, bots):
        extra = {"action": "bot_model_unusable", "bot": bot}
        log.warning("No model answers for a bot: %s", why, extra=extra)


def _open_relay(stack: AsyncExitStack, tasks: Background, settings: Settings) -> Relay:
    parts = PartBuffer(size_max=settings.stream.buffer_bytes_max)
    stack.callback(parts.close)
    if settings.redis.url is None:
        return MemoryRelay(parts)
    relay = RedisRelay(
        settings.redis.url.reveal(), coalesce_ms=settings.stream.coalesce_ms, parts=parts
    )
    tasks.start(relay.run(), name="relay")
    return relay


def _open_budget(stack: AsyncExitStack, settings: Settings) -> Budget:
    if settings.redis.url is None:
        return MemoryBudget()
    redis = RedisBudget(settings.redis.url.reveal(), replica=uuid4().hex)
    budget = SharedBudget(redis)
    stack.push_async_callback(budget.close)
    return budget


def _file_limits(settings: Settings) -> FileLimits:
    return FileLimits(
        bytes_max=settings.files.bytes_max,
        organization_bytes_max=settings.files.organization_bytes_max,
        retention_days=settings.files.retention_days,
    )


def _make_worker(
    settings: Settings, engine: Engine, pool: Pool, brains: Brains, side_work: SideWork
) -> Worker:
    limits = TurnLimits(
        action_timeout_seconds=settings.tools.action_timeout_seconds,
        attempts_max=settings.worker.retry_attempts_max,
        steps_max=settings.worker.steps_max,
        notify_after_seconds=notify_after_seconds(settings),
    )
    ports = TurnPorts(
        store=PatientStore(engine.machine, engine.rows, Ledger(pool), engine.files),
        relay=engine.relay,
        now=lambda: datetime.now(UTC),
        limits=limits,
    )
    pace = WorkerPace(
        lease_seconds=settings.worker.lease_seconds,
        heartbeat_seconds=settings.worker.heartbeat_seconds,
        poll_seconds=settings.worker.poll_seconds,
        chats_max=settings.worker.chats_max,
    )
    return Worker(
        machine=engine.machine,
        leases=engine.leases,
        ports=ports,
        brains=brains,
        pace=pace,
        on_acquired=side_work.offer,
    )
