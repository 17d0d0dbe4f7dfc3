"""Settings of reactions on Slack, and of who may see how channels are set (pure)."""

from dataclasses import dataclass
from typing import Final

from config.schema import setting
from config.slack_agent_settings import SlackAgentSettings

OFF: Final = "off"
"""In place of a reaction: none. No emoji is called so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackSurfaceSettings(SlackAgentSettings):
    """What is shown at messages, and to whom in the app's home."""

    seen_reaction: str = setting(
        "eyes",
        "Put on a message that was taken, until another reaction tells how it went; `off` is none.",
    )
    working_reaction: str = setting(
        OFF,
        "Put on the message that is being answered; `off` is none. Slack allows few removals of "
        "reactions, so in a busy workspace it may stay a while.",
    )
    done_reaction: str = setting(
        "white_check_mark", "Put on a message that was answered; `off` is none."
    )
    failed_reaction: str = setting(
        "warning", "Put on a message whose answer failed; `off` is none."
    )
    retry_reaction: str = setting(
        "repeat",
        "A reaction with this emoji on a question or its reply has the thread's last question "
        "answered anew; `off` is none.",
    )
    admins: tuple[str, ...] = setting(
        (), "Ids of users who see in the app's home which channels have chats and how they are set."
    )


def emoji(name: str) -> str:
    """The name of a reaction as Slack takes it; empty for none."""
    bare = name.strip().strip(":")
    return "" if bare == OFF else bare
