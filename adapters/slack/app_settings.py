"""What is amiss in a Slack app's settings, and where to click, compared with what is needed (pure).

Slack shows an app's settings only to whoever has an app configuration token, as a manifest.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from adapters.slack.manifest import ESSENTIALS, EVENTS_PATH, FEATURES, Feature
from adapters.slack.wire import object_at, objects_at, text_at

INSTALL_AGAIN: Final = 'then "Install App" > "Reinstall to Workspace"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the app's settings must fit. `public_url`: where Slack reaches us, if it is known."""

    scopes: Collection[str]
    is_over_http: bool
    public_url: str | None
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """What is amiss, what people miss by it, and what to click."""

    what: str
    mend: str
    is_essential: bool = False


def flaws_of(manifest: Mapping[str, Any], wanted: Wanted) -> list[Flaw]:
    """Compare an exported manifest with what is needed. Never raises, whatever the manifest holds."""
    settings = object_at(manifest, "settings")
    return [
        *_event_flaws(settings, wanted),
        *_way_flaws(settings, wanted),
        *_surface_flaws(object_at(manifest, "features"), wanted),
    ]


def granted_features(scopes: Collection[str]) -> dict[str, Feature]:
    """The features that the app has every scope for. One that needs none is not among them."""
    return {
        name: feature
        for name, feature in FEATURES.items()
        if feature.scopes and set(feature.scopes) <= set(scopes)
    }


def _event_flaws(settings: Mapping[str, Any], wanted: Wanted) -> list[Flaw]:
    listed = object_at(settings, "event_subscriptions").get("bot_events")
    events = {str(event) for event in listed} if isinstance(listed, list) else set()
    flaws = []
    for feature in (ESSENTIALS, *granted_features(wanted.scopes).values()):
        if missing := sorted(set(feature.events) - events):
            where = '"Event Subscriptions" > "Subscribe to bot events" > "Add Bot User Event"'
            flaws.append(
                Flaw(
                    what=f"no {feature.purpose}: not subscribed to {', '.join(missing)}",
                    mend=f"app settings: {where}: {', '.join(missing)}, {INSTALL_AGAIN}",
                    is_essential=feature is ESSENTIALS,
                )
            )
    return flaws


def _way_flaws(settings: Mapping[str, Any], wanted: Wanted) -> list[Flaw]:
    flaws = []
    has_sockets = settings.get("socket_mode_enabled") is True
    interactivity = object_at(settings, "interactivity")
    if not wanted.is_over_http and not has_sockets:
        flaws.append(
            Flaw(
                what="Socket Mode is off, so nothing reaches us",
                mend='app settings: "Socket Mode" > "Enable Socket Mode"; or set '
                "SLACK_SIGNING_SECRET and leave SLACK_APP_TOKEN out to be reached over HTTP",
                is_essential=True,
            )
        )
    if wanted.is_over_http and has_sockets:
        flaws.append(
            Flaw(
                what="Socket Mode is on, so Slack sends nothing over HTTP",
                mend='app settings: "Socket Mode", switch it off; or set SLACK_APP_TOKEN',
                is_essential=True,
            )
        )
    if interactivity.get("is_enabled") is not True:
        flaws.append(
            Flaw(
                what="interactivity is off, so buttons and forms do nothing",
                mend='app settings: "Interactivity & Shortcuts", switch it on',
                is_essential=True,
            )
        )
    if wanted.public_url is not None and wanted.is_over_http and not has_sockets:
        flaws += _address_flaws(settings, wanted.public_url)
    return flaws


def _address_flaws(settings: Mapping[str, Any], public_url: str) -> list[Flaw]:
    receiver = public_url.rstrip("/") + EVENTS_PATH
    pages = {
        "event_subscriptions": "Event Subscriptions",
        "interactivity": "Interactivity & Shortcuts",
    }
    flaws = []
    for section, page in pages.items():
        if object_at(settings, section).get("request_url") != receiver:
            flaws.append(
                Flaw(
                    what=f'"{page}" has another request address than {receiver}',
                    mend=f'app settings: "{page}" > "Request URL": {receiver}',
                    is_essential=True,
                )
            )
    return flaws


def _surface_flaws(features: Mapping[str, Any], wanted: Wanted) -> list[Flaw]:
    flaws = []
    home = object_at(features, "app_home")
    if home.get("messages_tab_enabled") is not True or (
        home.get("messages_tab_read_only_enabled") is True
    ):
        flaws.append(
            Flaw(
                what="people cannot write direct messages to the bot",
                mend='app settings: "App Home" > "Messages Tab", and allow users to send messages',
            )
        )
    known = [text_at(command, "command") for command in objects_at(features, "slash_commands")]
    if "commands" in granted_features(wanted.scopes) and wanted.command not in known:
        flaws.append(
            Flaw(
                what=f"the app has no command {wanted.command}",
                mend='app settings: "Slash Commands" > "Create New Command"; or set slack.command '
                "to the one that it has",
            )
        )
    if "agent" in granted_features(wanted.scopes) and not object_at(features, "agent_view"):
        flaws.append(
            Flaw(
                what="the agent view is off, so direct messages have no status and no stop button",
                mend='app settings: "Agents & AI Apps", switch it on',
            )
        )
    return flaws
