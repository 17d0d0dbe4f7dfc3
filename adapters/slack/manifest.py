"""The Slack app that Threadwright needs, as a manifest to paste into Slack's app settings (pure).

Scopes and events follow from features; `threadwright doctor` compares the installed app's scopes
with the same lists.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """A thing people can do with the app: what it is, and what Slack must allow for it."""

    purpose: str
    scopes: tuple[str, ...]
    events: tuple[str, ...] = ()


# Without this the bot can neither hear nor answer.
ESSENTIALS: Final = Feature(
    purpose="mentions, direct messages, replies",
    scopes=("app_mentions:read", "chat:write", "im:history", "users:read"),
    events=("app_mention", "message.im", "app_home_opened"),
)
FEATURES: Final[Mapping[str, Feature]] = MappingProxyType(
    {
        "agent": Feature(
            purpose="the agent view in direct messages with its status and stop button",
            scopes=("assistant:write",),
            events=("agent_session_stopped", "app_context_changed"),
        ),
        "channels": Feature(
            purpose="threads in public channels",
            scopes=("channels:history", "channels:read"),
            events=("message.channels",),
        ),
        "private": Feature(
            purpose="threads in private channels",
            scopes=("groups:history", "groups:read"),
            events=("message.groups",),
        ),
        "groups": Feature(
            purpose="group direct messages",
            scopes=("mpim:history",),
            events=("message.mpim",),
        ),
        "notifications": Feature(
            purpose="a direct message to whoever waits for a long answer", scopes=("im:write",)
        ),
        "files": Feature(purpose="text files that people attach", scopes=("files:read",)),
        "reactions": Feature(
            purpose="stop by reaction, and a reaction as a receipt",
            scopes=("reactions:read", "reactions:write"),
            events=("reaction_added",),
        ),
    }
)
_NAME_MAX: Final = 35
_DESCRIPTION: Final = "Answers in threads, with people in the loop."
_AGENT_VIEW: Final[Mapping[str, object]] = MappingProxyType(
    {
        "agent_view": {
            "agent_description": _DESCRIPTION,
            "suggested_prompts": [
                {"title": "What can you do?", "message": "What can you help me with?"}
            ],
        }
    }
)


def slack_manifest(
    *, name: str, features: Collection[str] = tuple(FEATURES), public_url: str | None = None
) -> dict[str, object]:
    """Return the manifest of an app called `name` (at most 35 characters, Slack's limit).

    With a `public_url` Slack sends events there over HTTP, else over Socket Mode.
    """
    if not 0 < len(name) <= _NAME_MAX:
        raise ValueError(f"a Slack app's name has 1 to {_NAME_MAX} characters")
    chosen = [ESSENTIALS, *(FEATURES[feature] for feature in features)]
    events: dict[str, object] = {
        "bot_events": sorted(event for each in chosen for event in each.events)
    }
    interactivity: dict[str, object] = {"is_enabled": True}
    if public_url:
        receiver = public_url.rstrip("/") + "/slack/events"
        events = {"request_url": receiver, **events}
        interactivity["request_url"] = receiver
    return {
        "_metadata": {"major_version": 2, "minor_version": 1},
        "display_information": {
            "name": name,
            "description": _DESCRIPTION,
            "background_color": "#1f2937",
        },
        "features": {
            "app_home": {
                "home_tab_enabled": False,
                "messages_tab_enabled": True,
                "messages_tab_read_only_enabled": False,
            },
            "bot_user": {"display_name": name, "always_online": True},
            **(_AGENT_VIEW if "agent" in features else {}),
        },
        "oauth_config": {
            "scopes": {"bot": sorted(scope for each in chosen for scope in each.scopes)}
        },
        "settings": {
            "event_subscriptions": events,
            "interactivity": interactivity,
            "org_deploy_enabled": False,
            "socket_mode_enabled": public_url is None,
            "token_rotation_enabled": False,
        },
    }
