"""Settings of what is heard on Slack beside words said to the agent: files, earlier messages, apps (pure)."""

from dataclasses import dataclass

from config.schema import setting
from config.slack_surface_settings import SlackSurfaceSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackInboundSettings(SlackSurfaceSettings):
    """What goes with a message, and whose messages count."""

    files_max: int = setting(
        10,
        "Files of one message that are taken, each as large as `files.bytes_max` allows.",
        at_least=0,
        at_most=50,
    )
    context_messages: int = setting(
        50,
        "Earlier messages of a thread that are quoted to the agent when it is first mentioned there, and "
        "later ones that were not said to it; 0 is none.",
        at_least=0,
        at_most=500,
    )
    answer_bots: bool = setting(
        default=False,
        doc="Whether other apps that mention the agent are answered. Its own words never are.",
    )
    bot_turns_max: int = setting(
        3,
        "Messages of other apps in a row that are answered in a thread, until a person writes there.",
        at_least=1,
        at_most=100,
    )
