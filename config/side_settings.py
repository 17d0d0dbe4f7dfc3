"""Settings of what is done beside the turns: naming chats, telling their owners (pure)."""

from dataclasses import dataclass
from enum import StrEnum

from config.schema import setting


class SlackNotify(StrEnum):
    """How owners of chats in Slack are told that a long turn has ended."""

    DM = "dm"
    MENTION = "mention"
    OFF = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class TitlesSettings:
    """Names of chats. Until a model has found one, and without one, the first words stand."""

    enabled: bool = setting(default=True, doc="Have a model name new chats that nobody has named.")


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationsSettings:
    """Telling the owner of a chat that a long turn has ended, or asks something."""

    enabled: bool = setting(default=True, doc="Tell owners at all.")
    after_seconds: float = setting(
        60.0,
        "A turn that took this long since its message was sent is told of.",
        at_least=0,
        at_most=86_400,
    )
    poll_seconds: float = setting(
        2.0,
        "How often notifications, and titles that were asked for, are looked for.",
        at_least=0.05,
        at_most=3600,
    )
