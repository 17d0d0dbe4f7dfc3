"""Settings of how growing replies are shown on Slack (pure)."""

from dataclasses import dataclass
from enum import StrEnum

from config.schema import setting
from config.slack_app_settings import SlackAppSettings


class SlackStreaming(StrEnum):
    """How replies grow."""

    AUTO = "auto"
    EDITS = "edits"


class StreamDisplay(StrEnum):
    """How Slack shows the cards of tasks."""

    TIMELINE = "timeline"
    PLAN = "plan"


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackStreamSettings(SlackAppSettings):
    """Native streaming, which is used where Slack lets us."""

    streaming: SlackStreaming = setting(
        SlackStreaming.AUTO,
        "How replies grow: `auto` streams natively where Slack takes it and edits messages elsewhere, "
        "`edits` always edits.",
    )
    stream_display: StreamDisplay = setting(
        StreamDisplay.TIMELINE,
        "How calls of tools are shown in native streams: one by one in the text, or as a plan.",
    )
    stream_interval_ms: int = setting(
        800,
        "Least time between two parts of a streamed message.",
        at_least=100,
        at_most=60_000,
    )
