"""The Slack apps of the settings, and what is wrong with each or between them (pure)."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit

from config.errors import Problem
from config.settings import Role, Settings, SlackSettings
from config.slack_app_settings import InstallPolicy, SlackAppSettings
from config.slack_values import misfits_of_app, misfits_of_slack

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_SECTION: Final = "slack"
_ONE_EACH: Final = ("bot_token", "app_token", "signing_secret", "client_id")


def slack_apps(slack: SlackSettings) -> Mapping[str, SlackAppSettings]:
    """Return the apps by name; the one of `[slack]` itself, if it is set, has none."""
    unnamed = {"": slack} if slack.is_set else {}
    return MappingProxyType({**unnamed, **slack.apps})


def speaks_and_hears(app: SlackAppSettings) -> bool:
    """Whether an app has a token or can get some, and a way to receive events."""
    has_token = app.bot_token is not None or (app.can_be_installed and bool(app.client_secret))
    return has_token and bool(app.app_token or app.signing_secret)


def contradictions_of_slack(settings: Settings) -> Iterator[Problem]:
    """Yield what is wrong with the Slack apps."""
    apps = slack_apps(settings.slack)
    yield from misfits_of_slack(settings.slack)
    if not apps and Role.SLACK in settings.roles:
        yield _no_token(_SECTION)
    for name, app in apps.items():
        where = f"{_SECTION}.apps.{name}" if name else _SECTION
        yield from _flaws_of(app, where)
        yield from misfits_of_app(app, where)
        if app.can_be_installed:
            yield from _flaws_of_installs(app, where)
    if any(app.can_be_installed for app in apps.values()):
        yield from _flaws_around_installs(settings)
    yield from _shared(apps)


def _flaws_of(app: SlackAppSettings, where: str) -> Iterator[Problem]:
    if app.bot_token is None and app.client_id is None:
        yield _no_token(where)
    if (app.bot_token or app.client_id) and not (app.app_token or app.signing_secret):
        sockets, http = _name(where, "app_token"), _name(where, "signing_secret")
        yield Problem(
            where=f"{where}.bot_token" if app.bot_token else f"{where}.client_id",
            what="is set, but no way to receive events is",
            mend=f"set {sockets} (Socket Mode) or {http} (HTTP)",
        )
    if app.bot_token and app.client_id:
        yield Problem(
            where=f"{where}.client_id",
            what="is set together with a bot token, which is of one workspace alone",
            mend="leave out bot_token, for people to install the app, or else client_id",
        )


def _flaws_of_installs(app: SlackAppSettings, where: str) -> Iterator[Problem]:
    if app.client_secret is None:
        yield Problem(
            where=f"{where}.client_secret",
            what="is missing, but there is a client id",
            mend="copy it from Basic Information in the app's settings",
        )
    if app.install is InstallPolicy.LISTED and not app.install_teams:
        yield Problem(
            where=f"{where}.install_teams",
            what="is empty, so nobody can install the app",
            mend=f'list the ids of workspaces (T...), or set {where}.install to "open"',
        )


def _flaws_around_installs(settings: Settings) -> Iterator[Problem]:
    if settings.secret_key is None and settings.database.url is not None:
        yield Problem(
            where="secret_key",
            what="is missing, and seals the tokens of installed Slack apps",
            mend="set THREADWRIGHT_SECRET_KEY to a long random text",
        )
    address = settings.server.public_url
    if address is None:
        yield Problem(
            where="server.public_url",
            what="is missing, and is where Slack sends whoever has installed the app",
            mend="set THREADWRIGHT_SERVER_PUBLIC_URL to the server's https:// address",
        )
    elif urlsplit(address).scheme != "https" and urlsplit(address).hostname not in LOOPBACK:
        yield Problem(
            where="server.public_url",
            what="does not begin with https://, so Slack apps cannot be installed there",
            mend="serve it over https, behind a proxy if need be",
        )


def _shared(apps: Mapping[str, SlackAppSettings]) -> Iterator[Problem]:
    """Two apps of one token would each hear half of what the other should."""
    for key in _ONE_EACH:
        owners: dict[object, str] = {}
        for name, app in apps.items():
            value = getattr(app, key)
            if value is None:
                continue
            path = f"{_SECTION}.apps.{name}.{key}" if name else f"{_SECTION}.{key}"
            if (owner := owners.setdefault(value, path)) != path:
                yield Problem(
                    where=path,
                    what=f"is that of {owner} too",
                    mend="give each app what its own settings in Slack show",
                )


def _no_token(where: str) -> Problem:
    return Problem(
        where=f"{where}.bot_token",
        what="is missing, but Slack is asked for",
        mend=f"set {_name(where, 'bot_token')}; `threadwright init slack` says where to find it",
    )


def _name(where: str, key: str) -> str:
    """What people set: the usual variable for the app without a name, the path for others."""
    return f"SLACK_{key.upper()}" if where == _SECTION else f"{where}.{key}"
