"""What is amiss in a Slack app's settings is found, and nothing in one made from our manifest."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from adapters.slack.app_settings import Wanted, flaws_of
from adapters.slack.manifest import slack_manifest

Manifest = dict[str, Any]
SOCKETS = slack_manifest(name="Wren")
HTTP = slack_manifest(name="Wren", public_url="https://wren.example")
SCOPES = frozenset(SOCKETS["oauth_config"]["scopes"]["bot"])
BY_SOCKET = Wanted(scopes=SCOPES, is_over_http=False, public_url=None, command="/agent")
BY_HTTP = Wanted(
    scopes=SCOPES, is_over_http=True, public_url="https://wren.example/", command="/agent"
)


def test_an_app_made_from_the_manifest_has_no_flaw() -> None:
    assert flaws_of(SOCKETS, BY_SOCKET) == []
    assert flaws_of(HTTP, BY_HTTP) == []


def test_only_what_was_granted_is_missed() -> None:
    few = slack_manifest(name="Wren", features=("channels",))
    granted = frozenset(few["oauth_config"]["scopes"]["bot"])
    wanted = Wanted(scopes=granted, is_over_http=False, public_url=None, command="/agent")
    assert flaws_of(few, wanted) == []


def _set(*path: str, to: object) -> Callable[[Manifest], None]:
    def change(manifest: Manifest) -> None:
        for name in path[:-1]:
            manifest = manifest[name]
        manifest[path[-1]] = to

    return change


FLAWS = [
    (SOCKETS, BY_SOCKET, _set("settings", "socket_mode_enabled", to=False), "Socket Mode is off"),
    (HTTP, BY_HTTP, _set("settings", "socket_mode_enabled", to=True), "Socket Mode is on"),
    (SOCKETS, BY_SOCKET, _set("settings", "interactivity", to={}), "interactivity is off"),
    (
        SOCKETS,
        BY_SOCKET,
        _set("settings", "event_subscriptions", "bot_events", to=["app_mention"]),
        "not subscribed to app_home_opened, app_uninstalled, message.im, tokens_revoked",
    ),
    (
        HTTP,
        BY_HTTP,
        _set("settings", "event_subscriptions", "request_url", to="https://else.example"),
        "another request address than https://wren.example/slack/events",
    ),
    (HTTP, BY_HTTP, _set("settings", "interactivity", "request_url", to=""), "another request"),
]
LESSER = [
    (_set("features", "app_home", "messages_tab_enabled", to=False), "direct messages"),
    (_set("features", "app_home", "messages_tab_read_only_enabled", to=True), "direct messages"),
    (_set("features", "slash_commands", to=[{"command": "/other"}]), "no command /agent"),
    (_set("features", "agent_view", to=None), "agent view is off"),
]


@pytest.mark.parametrize(("manifest", "wanted", "change", "said"), FLAWS)
def test_what_keeps_everything_away_is_essential(
    manifest: Manifest, wanted: Wanted, change: Callable[[Manifest], None], said: str
) -> None:
    changed = copy.deepcopy(manifest)
    change(changed)
    first = flaws_of(changed, wanted)[0]
    assert said in first.what
    assert first.is_essential
    assert first.mend


@pytest.mark.parametrize(("change", "said"), LESSER)
def test_what_takes_something_away_is_named(change: Callable[[Manifest], None], said: str) -> None:
    changed = copy.deepcopy(SOCKETS)
    change(changed)
    (flaw,) = flaws_of(changed, BY_SOCKET)
    assert said in flaw.what
    assert not flaw.is_essential


def test_a_feature_without_its_events_is_named_by_its_purpose() -> None:
    changed = copy.deepcopy(SOCKETS)
    changed["settings"]["event_subscriptions"]["bot_events"].remove("message.channels")
    (flaw,) = flaws_of(changed, BY_SOCKET)
    assert "threads in public channels" in flaw.what
    assert "message.channels" in flaw.mend


@pytest.mark.parametrize("odd", [{}, {"settings": 7, "features": []}, {"settings": {"x": None}}])
def test_whatever_slack_exports_is_looked_at(odd: Manifest) -> None:
    assert flaws_of(odd, BY_SOCKET)
