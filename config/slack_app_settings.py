"""Settings of one Slack app: the unnamed one of `[slack]`, and each of `[slack.apps.NAME]` (pure)."""

from dataclasses import dataclass
from enum import StrEnum

from config.schema import setting
from config.secret import Secret


class InstallPolicy(StrEnum):
    """Who may install an app that people install by themselves."""

    LISTED = "listed"
    OPEN = "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackAppSettings:
    """One Slack app. An app-level token means Socket Mode, a signing secret means HTTP.

    With a bot token it is at home in one workspace; with a client id people install it in theirs.
    """

    bot_token: Secret | None = setting(None, "Bot token (xoxb-).", aliases=("SLACK_BOT_TOKEN",))
    app_token: Secret | None = setting(
        None, "App-level token (xapp-) for Socket Mode.", aliases=("SLACK_APP_TOKEN",)
    )
    config_token: Secret | None = setting(
        None,
        "App configuration token (xoxe.xoxp-), with which doctor reads the app's settings.",
        aliases=("SLACK_CONFIG_TOKEN",),
    )
    command: str = setting("/agent", "The slash command that the app has.")
    sockets: int = setting(
        2,
        "Socket Mode connections of each replica. Slack allows ten of an app in all; those that it "
        "does not take are tried again now and then.",
        at_least=1,
        at_most=10,
    )
    signing_secret: Secret | None = setting(
        None, "Signing secret for requests to /slack/events.", aliases=("SLACK_SIGNING_SECRET",)
    )
    client_id: str | None = setting(
        None,
        "Client id, in place of a bot token, of an app that people install in their workspaces at "
        "/slack/install.",
        aliases=("SLACK_CLIENT_ID",),
    )
    client_secret: Secret | None = setting(
        None, "Client secret that goes with the client id.", aliases=("SLACK_CLIENT_SECRET",)
    )
    scopes: tuple[str, ...] = setting(
        (), "Scopes to ask for at an installation; empty means those of the manifest."
    )
    install: InstallPolicy = setting(
        InstallPolicy.LISTED,
        "Who may install it: the workspaces of install_teams, or anyone with the link.",
    )
    install_teams: tuple[str, ...] = setting(
        (), "Ids of workspaces (T...) and organizations (E...) that may install it."
    )
    bot: str | None = setting(
        None, "Folder of the bot that answers; empty means assistant, else the first by name."
    )

    @property
    def is_set(self) -> bool:
        """Whether there is anything by which Slack could know it."""
        return any((self.bot_token, self.app_token, self.signing_secret, self.client_id))

    @property
    def can_be_installed(self) -> bool:
        """Whether people install it by themselves."""
        return self.client_id is not None and self.bot_token is None
