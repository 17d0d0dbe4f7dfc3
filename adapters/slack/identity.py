"""Who we are on Slack, which decides what is addressed to us and what is our own echo (pure)."""

from dataclasses import dataclass

PLATFORM = "slack"


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackIdentity:
    """One app, installed in one workspace or organization, as `auth.test` tells it.

    `team_id` names the installation in every key, whatever team an event's author is from.
    """

    team_id: str
    bot_user_id: str
    bot_id: str

    def identity_of(self, user_id: str) -> str:
        """The stable identity of a person of this workspace, for authors of messages."""
        return f"{PLATFORM}:{self.team_id}:{user_id}"

    def message_key(self, channel: str, ts: str) -> str:
        """The key of a message, the same however it reaches us and for as long as it exists."""
        return f"{self.team_id}:{channel}:{ts}"
