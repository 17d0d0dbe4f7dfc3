"""Values of Slack settings that Slack would never give or take, told before anything starts (pure)."""

import re
from collections.abc import Iterator
from typing import Final

from config.errors import Problem
from config.settings import SlackSettings
from config.slack_app_settings import SlackAppSettings

_USER: Final = re.compile(r"[UW][A-Z0-9]+")
_TEAM: Final = re.compile(r"(?:T|E)[A-Z0-9]+")
_COMMAND: Final = re.compile(r"/[a-z0-9_-]{1,31}")
_EMOJI: Final = re.compile(r"[a-z0-9_+'-]+(::skin-tone-[2-6])?")
_APP_PREFIXES: Final = ("xapp-",)
_BOT_PREFIXES: Final = ("xoxb-", "xoxe.xoxb-")
_REACTIONS: Final = (
    "stop_reaction",
    "seen_reaction",
    "working_reaction",
    "done_reaction",
    "failed_reaction",
    "retry_reaction",
)


def misfits_of_slack(slack: SlackSettings) -> Iterator[Problem]:
    """Yield what is no name of an emoji and no id of a person."""
    for name in _REACTIONS:
        value = getattr(slack, name)
        if not _EMOJI.fullmatch(value):
            yield Problem(
                where=f"slack.{name}",
                what=f"{value!r} is no name of an emoji",
                mend="write the name without colons, such as octagonal_sign",
            )
    for user in slack.admins:
        if not _USER.fullmatch(user):
            yield Problem(
                where="slack.admins",
                what=f"{user!r} is no id of a person",
                mend="copy the member id (U...) from the person's profile in Slack",
            )


def misfits_of_app(app: SlackAppSettings, where: str) -> Iterator[Problem]:
    """Yield what is no command, no id of a workspace, and tokens that are in each other's place."""
    if not _COMMAND.fullmatch(app.command):
        yield Problem(
            where=f"{where}.command",
            what=f"{app.command!r} is no command",
            mend="write a slash and up to 31 small letters, digits, - or _",
        )
    for team in app.install_teams:
        if not _TEAM.fullmatch(team):
            yield Problem(
                where=f"{where}.install_teams",
                what=f"{team!r} is no id of a workspace or an organization",
                mend="write ids that begin with T or E",
            )
    if app.bot_token and app.bot_token.reveal().startswith(_APP_PREFIXES):
        yield Problem(
            where=f"{where}.bot_token",
            what="is an app-level token (xapp-)",
            mend="set the bot token (xoxb-): Install App in the app's settings",
        )
    if app.app_token and app.app_token.reveal().startswith(_BOT_PREFIXES):
        yield Problem(
            where=f"{where}.app_token",
            what="is a bot token (xoxb-)",
            mend="set the app-level token (xapp-): Basic Information in the app's settings",
        )
