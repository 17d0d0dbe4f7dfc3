"""Opens what people and programs reach the engine by: the API, the console, Slack."""

from collections.abc import Awaitable, Callable

from aiohttp import web

from adapters.console.adapter import ConsoleAdapter
from adapters.contract import ChatDefaults
from adapters.http.adapter import HttpAdapter
from adapters.slack.adapter import SlackAdapter
from bots.catalog import DEFAULT_BOT, load_bots
from bots.errors import OperatorError
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
) -> None:
    """Add the routes of every role that is switched on, and start what listens by itself."""
    if Role.API in settings.roles:
        _open_api(settings, replica, application, is_demo=is_demo)
    if Role.SLACK in settings.roles:
        _open_slack(tasks, settings, replica, application)


def _open_api(
    settings: Settings,
    replica: Replica,
    application: web.Application,
    *,
    is_demo: bool,
) -> None:
    names = _bot_names(settings)
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
) -> None:
    if settings.slack.bot_token is None:
        raise OperatorError(
            "the role slack is switched on, but there is no bot token",
            mend="set SLACK_BOT_TOKEN, or leave slack out of the roles",
        )
    if settings.slack.app_token is None and settings.slack.signing_secret is None:
        raise OperatorError(
            "Slack has no way to reach us",
            mend="set SLACK_APP_TOKEN (Socket Mode) or SLACK_SIGNING_SECRET (HTTP)",
        )
    bot = _bot_names(settings)[0]
    slack = SlackAdapter(
        replica.engine,
        settings.slack,
        settings.delivery,
        defaults=ChatDefaults(bot=bot),
        notifications=settings.notifications,
        budget=replica.budget,
    )
    application.add_routes(slack.routes())
    tasks.start(slack.run(), name="slack")
    tasks.on_drain("slack", slack.drain)


def _bot_names(settings: Settings) -> list[str]:
    """All bots, the one that is meant when nobody says which first."""
    return sorted(load_bots(settings.bots_dir), key=lambda name: (name != DEFAULT_BOT, name))


def _closing(close: Callable[[], None]) -> Callable[[web.Application], Awaitable[None]]:
    """End the open streams when the server stops, so that it need not wait for their clients."""

    async def on_shutdown(_application: web.Application) -> None:
        close()

    return on_shutdown
