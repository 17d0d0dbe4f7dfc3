"""Owns files on their way to fake Slack, which are nowhere to be seen before they are completed."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.fakes.slack_state import BotInstall, Channel, Message, Workspace


@dataclass(slots=True, kw_only=True)
class Upload:
    """A file on its way; `content` once its bytes have come."""

    team: Workspace
    bot: BotInstall
    name: str
    length: int
    content: bytes | None = None


@dataclass(slots=True, kw_only=True)
class Share:
    """A message that shows completed files."""

    team: Workspace
    channel: Channel
    message: Message


@dataclass(slots=True)
class Uploads:
    """The uploads of one fake Slack. While `holds_shares`, completed files wait to be shown."""

    pending: dict[str, Upload] = field(default_factory=dict)
    holds_shares: bool = False
    held: list[Share] = field(default_factory=list)
