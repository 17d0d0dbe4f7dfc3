"""The composition root: the only place where concrete things meet. One function per command."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack

import click
from aiohttp import web

from adapters.slack.adapter import SlackAdapter
from bots.embedded_database import database_address
from bots.errors import OperatorError
from bots.health import Check, health_routes
from bots.lifecycle import Background, background, stop_signals
from bots.metrics import Metrics
from bots.providers_file import apply_providers
from bots.replica import Replica, open_replica
from bots.secret_key import with_secret_key
from bots.surfaces import open_surfaces
from config.settings import Role, Settings
from engine.api import Engine
from engine.store.catalog_file import FileEntry
from engine.store.errors import StoreError
from engine.store.migrate import migrate
from engine.store.pool import open_pool

Say = Callable[[str], None]
Providers = Sequence[FileEntry] | None
"""What a providers file says; None: there is no such file, and the database is left alone."""
log = logging.getLogger(__name__)


async def run_demo(settings: Settings, providers: Providers = None) -> None:
    """Run everything in this process, for people to try; the console is open on this machine."""
    await _run(settings, providers, is_demo=True)


async def run_serve(settings: Settings, providers: Providers = None) -> None:
    """Run one replica with the roles of the settings until it is told to stop."""
    if settings.database.url is None and settings.redis.url is not None:
        raise OperatorError(
            "there is a Redis for several replicas, but no database that they could share",
            mend="set DATABASE_URL",
        )
    await _run(settings, providers, is_demo=False)


async def run_migrate(settings: Settings) -> None:
    """Bring the schema up to date and say what was done."""
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(database_address(settings, _say))
        pool = await open_pool(url, wait_seconds=settings.database.wait_seconds, on_wait=_say)
        stack.push_async_callback(pool.close)
        applied = await migrate(pool)
        _say(f"Applied {', '.join(applied)}." if applied else "The schema is up to date.")


async def _run(settings: Settings, providers: Providers, *, is_demo: bool) -> None:
    settings = with_secret_key(settings)
    async with AsyncExitStack() as stack:
        stop = await stack.enter_async_context(stop_signals())
        url = await stack.enter_async_context(database_address(settings, _say))
        async with background() as tasks:
            await _serve(stack, tasks, settings, url, providers, is_demo=is_demo)
            await stop.wait()
            _say("Stopping ...")
            await tasks.drain()
    _say("Stopped.")


async def _serve(
    stack: AsyncExitStack,
    tasks: Background,
    settings: Settings,
    url: str,
    providers: Providers,
    *,
    is_demo: bool,
) -> None:
    async def prepare(engine: Engine) -> None:
        if providers is not None:
            name = settings.providers_file or "the providers file"
            for change in await apply_providers(engine.catalog, providers, name):
                _say(f"Providers: {change.verb.value} {change.reference}.")

    replica = await open_replica(
        stack,
        tasks,
        settings,
        url,
        say=_say,
        works=Role.WORKER in settings.roles,
        prepare=prepare,
    )
    metrics = _metrics(replica)
    handler = metrics.count_logs()
    logging.getLogger().addHandler(handler)
    stack.callback(logging.getLogger().removeHandler, handler)
    application = web.Application(client_max_size=settings.server.body_max_bytes)
    slack = open_surfaces(tasks, settings, replica, application, is_demo=is_demo)
    checks, notes = _checks(replica, slack)
    application.add_routes(health_routes(checks, metrics, notes=notes))
    await _listen(stack, tasks, settings, application, is_demo=is_demo)


async def _listen(
    stack: AsyncExitStack,
    tasks: Background,
    settings: Settings,
    application: web.Application,
    *,
    is_demo: bool,
) -> None:
    # Streams end with the process, so nobody waits for them longer than for a request.
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=2.0)
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    host, port = settings.server.host, settings.server.port
    site = web.TCPSite(runner, host, port)
    await site.start()
    tasks.on_drain("web server", site.stop)
    address = f"http://{_host_for_people(host)}:{runner.addresses[0][1]}"
    roles = ", ".join(role.value for role in settings.roles)
    log.info("Listening.", extra={"action": "listening", "address": address, "roles": roles})
    if is_demo:
        _say(f"\n  Threadwright is at {address}\n  Ctrl-C stops it.\n")
    else:
        _say(f"Serving {roles} at {address}")


def _host_for_people(host: str) -> str:
    if host in ("0.0.0.0", "::", ""):  # noqa: S104 - compared, not bound
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


def _checks(
    replica: Replica, slack: SlackAdapter | None
) -> tuple[dict[str, Check], dict[str, Check]]:
    """What must be right for this process to be ready, and what is only told."""

    async def database() -> str | None:
        try:
            async with asyncio.timeout(5):
                await replica.engine.rows.versions_of([])
        except (StoreError, TimeoutError) as error:
            return str(error) or "no answer"
        return None

    if slack is None:
        return {"database": database}, {}

    async def slack_trouble() -> str | None:
        return slack.trouble

    async def slack_weakness() -> str | None:
        return slack.weakness

    return {"database": database, "slack": slack_trouble}, {"slack": slack_weakness}


def _metrics(replica: Replica) -> Metrics:
    worker = replica.worker
    return Metrics(
        {
            "chats_running": (
                "Chats that this replica works on.",
                lambda: worker.running_count if worker else 0,
            ),
            "followers": (
                "Subscribers of chats at this replica.",
                lambda: replica.engine.stream.follower_count,
            ),
            "database_statements": (
                "Statements sent to the database since the start.",
                lambda: replica.pool.statement_count,
            ),
            "relay_healthy": (
                "Whether hints and parts travel between replicas.",
                lambda: float(replica.relay.healthy),
            ),
        }
    )


def _say(line: str) -> None:
    click.echo(line, err=True)
