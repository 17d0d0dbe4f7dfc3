"""Settings of what Slack shows beside a reply: the agent view and feedback (pure)."""

from dataclasses import dataclass
from enum import StrEnum

from config.schema import setting
from config.slack_stream_settings import SlackStreamSettings


class AgentView(StrEnum):
    """Which of Slack's views of an agent is used."""

    AUTO = "auto"
    AGENT = "agent"
    ASSISTANT = "assistant"
    OFF = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackAgentSettings(SlackStreamSettings):
    """What is shown beside replies."""

    agent_view: AgentView = setting(
        AgentView.AUTO,
        "Where a thread's status is shown: in the agent view, in the older assistant view, in "
        "whichever the app has, or nowhere.",
    )
    feedback: bool = setting(
        default=True,
        doc="Whether finished replies have buttons by which people say whether they were good.",
    )
