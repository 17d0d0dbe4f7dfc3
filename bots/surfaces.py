"""Opens what people and programs reach the engine by: the API, the console, Slack."""

from collections.abc import Awaitable, Callable

from aiohttp import web

from adapters.console.adapter import ConsoleAdapter
from adapters.contract import ChatDefaults
from adapters.http.adapter import HttpAdapter
from adapters.slack.adapter import SlackAdapter
from bots.brains import tools_of
from bots.catalog import bots_of_apps, load_bots, names_of
from bots.lifecycle import Background
from bots.replica import Replica
from config.settings import Role, Settings


def open_surfaces(
    tasks: Background,
    settings: Settings,
    replica: Replica,
    application: web.Application,
    *,
    is_demo: bool,
) -> SlackAdapter | None:
    """Add the routes of every role that is switched on, and start what listens by itself.

    Returns what serves Slack, for whoever asks how it is.
    """
    if Role.API in settings.roles:
        _open_api(settings, replica, application, is_demo=is_demo)
    if Role.SLACK in settings.roles:
        return _open_slack(tasks, settings, replica, application)
    return None


def _open_api(
    settings: Settings,
    replica: Replica,
    application: web.Application,
    *,
    is_demo: bool,
) -> None:
    names = names_of(load_bots(settings.bots_dir))
    http = HttpAdapter(
        replica.engine,
        admin_token=settings.admin.token,
        bots=names,
        body_bytes_max=settings.server.body_max_bytes,
    )
    application.on_shutdown.append(_closing(http.close))
    application.add_routes(http.routes())
    console = ConsoleAdapter(
        replica.engine,
        admin_token=settings.admin.token,
        secret_key=settings.secret_key,
        bots=names,
        open_to_loopback=is_demo,
    )
    application.on_shutdown.append(_closing(console.close))
    application.add_routes(console.routes())


def _open_slack(
    tasks: Background, settings: Settings, replica: Replica, application: web.Application
) -> SlackAdapter:
    bots_there = load_bots(settings.bots_dir)
    names = names_of(bots_there)

    def defaults_of(bot: str) -> ChatDefaults:
        local, dynamic = tools_of(bots_there[bot])
        tools = (*(tool.definition for tool in local), *dynamic)
        return ChatDefaults(
            bot=bot,
            suggested_prompts=bots_there[bot].file.suggested_prompts,
            tools={tool.name: tool.description for tool in tools},
        )

    bots = bots_of_apps(settings.slack, names)
    slack = SlackAdapter(
        replica.engine,
        settings.slack,
        settings.delivery,
        defaults=defaults_of(names[0]),
        app_defaults={app: defaults_of(bot) for app, bot in bots.items()},
        notifications=settings.notifications,
        budget=replica.budget,
        public_url=settings.server.public_url,
    )
    application.add_routes(slack.routes())
    tasks.start(slack.run(), name="slack")
    tasks.on_drain("slack", slack.drain)
    return slack


def _closing(close: Callable[[], None]) -> Callable[[web.Application], Awaitable[None]]:
    """End the open streams when the server stops, so that it need not wait for their clients."""

    async def on_shutdown(_application: web.Application) -> None:
        close()

    return on_shutdown
