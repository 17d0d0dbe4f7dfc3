"""The Slack app that Threadwright needs, as a manifest to paste into Slack's app settings (pure).

Scopes, events and surfaces follow from features; `threadwright doctor` compares the installed app with
the same lists.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

ASK_CALLBACK: Final = "tw:ask"
"""The callback id of the message shortcut."""
NEW_CHAT_CALLBACK: Final = "tw:new"
"""The callback id of the global shortcut."""
DEFAULT_COMMAND: Final = "/agent"
EVENTS_PATH: Final = "/slack/events"
REDIRECT_PATH: Final = "/slack/oauth_redirect"
Manifest = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """A thing people can do with the app: what it is, and what Slack must allow for it."""

    purpose: str
    scopes: tuple[str, ...] = ()
    events: tuple[str, ...] = ()


# Without this the bot can neither hear nor answer.
ESSENTIALS: Final = Feature(
    purpose="mentions, direct messages, replies",
    scopes=("app_mentions:read", "chat:write", "im:history", "users:read"),
    events=("app_mention", "message.im", "app_home_opened", "tokens_revoked", "app_uninstalled"),
)
FEATURES: Final[Mapping[str, Feature]] = MappingProxyType(
    {
        "agent": Feature(
            purpose="the agent view in direct messages with its status and stop button",
            scopes=("assistant:write",),
            events=(
                "agent_session_stopped",
                "agent_session_title_changed",
                "app_context_changed",
            ),
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
            scopes=("mpim:history", "mpim:read"),
            events=("message.mpim",),
        ),
        "commands": Feature(purpose="the slash command and shortcuts", scopes=("commands",)),
        "home": Feature(purpose="the app's home with a person's chats"),
        "notifications": Feature(
            purpose="a direct message to whoever waits for a long answer", scopes=("im:write",)
        ),
        "files": Feature(purpose="files that people attach", scopes=("files:read",)),
        "uploads": Feature(purpose="files that the agent hands out", scopes=("files:write",)),
        "reactions": Feature(
            purpose="stop by reaction, and a reaction as a receipt",
            scopes=("reactions:read", "reactions:write"),
            events=("reaction_added",),
        ),
        "usergroups": Feature(
            purpose="questions that only a user group may answer", scopes=("usergroups:read",)
        ),
    }
)
_NAME_MAX: Final = 35
_DESCRIPTION: Final = "Answers in threads, with people in the loop."
_AGENT_VIEW: Final[Mapping[str, object]] = MappingProxyType(
    {
        "agent_description": _DESCRIPTION,
        "suggested_prompts": [
            {"title": "What can you do?", "message": "What can you help me with?"}
        ],
    }
)


def slack_manifest(
    *,
    name: str,
    features: Collection[str] = tuple(FEATURES),
    public_url: str | None = None,
    command: str = DEFAULT_COMMAND,
    is_distributed: bool = False,
) -> Manifest:
    """Return the manifest of an app called `name` (at most 35 characters, Slack's limit).

    With a `public_url` Slack sends everything there over HTTP, else over Socket Mode. An app that is
    distributed is installed in any number of workspaces by a link, which needs a `public_url`.
    """
    if not 0 < len(name) <= _NAME_MAX:
        raise ValueError(f"a Slack app's name has 1 to {_NAME_MAX} characters")
    if is_distributed and not public_url:
        raise ValueError("an app that is installed by a link needs a public address")
    chosen = [ESSENTIALS, *(FEATURES[feature] for feature in features)]
    base = public_url.rstrip("/") if public_url else None
    receiver = {} if base is None else {"request_url": base + EVENTS_PATH}
    menus = {} if base is None else {"message_menu_options_url": base + EVENTS_PATH}
    redirect = {"redirect_urls": [f"{base}{REDIRECT_PATH}"]} if is_distributed else {}
    return {
        "_metadata": {"major_version": 2, "minor_version": 1},
        "display_information": {
            "name": name,
            "description": _DESCRIPTION,
            "background_color": "#1f2937",
        },
        "features": {
            "app_home": {
                "home_tab_enabled": "home" in features,
                "messages_tab_enabled": True,
                "messages_tab_read_only_enabled": False,
            },
            "bot_user": {"display_name": name, "always_online": True},
            **({"agent_view": dict(_AGENT_VIEW)} if "agent" in features else {}),
            **(_commands(command, base) if "commands" in features else {}),
        },
        "oauth_config": {
            **redirect,
            "scopes": {"bot": sorted({scope for each in chosen for scope in each.scopes})},
        },
        "settings": {
            "event_subscriptions": {
                **receiver,
                "bot_events": sorted({event for each in chosen for event in each.events}),
            },
            "interactivity": {"is_enabled": True, **receiver, **menus},
            "org_deploy_enabled": is_distributed,
            "socket_mode_enabled": base is None,
            "token_rotation_enabled": is_distributed,
        },
    }


def _commands(command: str, base: str | None) -> Manifest:
    url = {} if base is None else {"url": base + EVENTS_PATH}
    return {
        "slash_commands": [
            {
                "command": command,
                **url,
                "description": "Ask the agent, stop it, see what it does and costs.",
                "usage_hint": "help | new | stop | status | model | tools | usage",
                "should_escape": True,
            }
        ],
        "shortcuts": [
            {
                "name": "Ask the agent about this",
                "type": "message",
                "callback_id": ASK_CALLBACK,
                "description": "Begin a chat about this message in its thread.",
            },
            {
                "name": "New chat with the agent",
                "type": "global",
                "callback_id": NEW_CHAT_CALLBACK,
                "description": "Ask the agent something.",
            },
        ],
    }
