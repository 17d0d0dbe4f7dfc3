"""Who we are on Slack, which decides what is addressed to us and what is our own echo (pure)."""

from dataclasses import dataclass

PLATFORM = "slack"
_OF_APP = "@"


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackIdentity:
    """One app, installed in one workspace or organization, as `auth.test` tells it.

    `team_id`: the workspace, or the organization that the app is installed in as a whole.
    `app`: the app's name in the settings, empty for the one that has none.
    """

    team_id: str
    bot_user_id: str
    bot_id: str
    app: str = ""

    @property
    def installation(self) -> str:
        """Names the installation in every key, whatever team an event's author is from."""
        return installation_of(self.team_id, self.app)

    def identity_of(self, user_id: str, team_id: str = "") -> str:
        """The stable identity of a person, for authors of messages. `team_id`: of another workspace."""
        return f"{PLATFORM}:{team_id or self.team_id}:{user_id}"

    def message_key(self, channel: str, ts: str) -> str:
        """The key of a message, the same however it reaches us and for as long as it exists."""
        return f"{self.installation}:{channel}:{ts}"


def installation_of(team_id: str, app: str) -> str:
    """The key of an app's installation in a workspace. No colon is in it, since keys have them."""
    return f"{team_id}{_OF_APP}{app}" if app else team_id


def team_of(installation: str) -> str:
    """The workspace or organization of an installation."""
    return installation.partition(_OF_APP)[0]


def app_of(installation: str) -> str:
    """The name of the installation's app in the settings."""
    return installation.partition(_OF_APP)[2]


def is_app(author_id: str) -> bool:
    """Whether the author of a message is an app, known by its bot id. People are U... or W..."""
    return author_id.startswith("B")
