"""The Slack app manifest asks for what the adapter uses, and for no more than is chosen."""

from typing import Any

import pytest

from adapters.slack.doctor import missing_essentials, missing_features
from adapters.slack.manifest import FEATURES, slack_manifest


def scopes(manifest: dict[str, Any]) -> list[str]:
    found: list[str] = manifest["oauth_config"]["scopes"]["bot"]
    return found


def test_manifest_has_socket_mode_agent_view_and_interactivity() -> None:
    manifest: dict[str, Any] = slack_manifest(name="Wren")
    assert manifest["settings"]["socket_mode_enabled"] is True
    assert manifest["settings"]["interactivity"] == {"is_enabled": True}
    assert "agent_description" in manifest["features"]["agent_view"]
    assert manifest["features"]["bot_user"]["display_name"] == "Wren"
    events = manifest["settings"]["event_subscriptions"]["bot_events"]
    assert {"app_mention", "message.channels", "message.im", "reaction_added"} <= set(events)
    assert len(scopes(manifest)) == len(set(scopes(manifest)))


def test_public_address_switches_to_http() -> None:
    settings: dict[str, Any] = slack_manifest(name="Wren", public_url="https://wren.example/")[
        "settings"
    ]  # type: ignore[assignment]
    assert settings["socket_mode_enabled"] is False
    for section in ("event_subscriptions", "interactivity"):
        assert settings[section]["request_url"] == "https://wren.example/slack/events"


def test_fewer_features_ask_for_fewer_scopes() -> None:
    least: dict[str, Any] = slack_manifest(name="Wren", features=())
    assert scopes(least) == ["app_mentions:read", "chat:write", "im:history", "users:read"]
    assert "agent_view" not in least["features"]


def test_doctor_finds_nothing_missing_in_an_app_made_from_the_manifest() -> None:
    granted = frozenset(scopes(slack_manifest(name="Wren")))
    assert missing_essentials(granted) == []
    assert missing_features(granted) == {}


def test_doctor_names_what_people_cannot_do() -> None:
    granted = frozenset(scopes(slack_manifest(name="Wren", features=("channels",))))
    lacking = missing_features(granted)
    assert lacking[FEATURES["files"].purpose] == ["files:read"]
    assert FEATURES["channels"].purpose not in lacking


@pytest.mark.parametrize("name", ["", "W" * 36])
def test_name_that_slack_refuses_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="1 to 35 characters"):
        slack_manifest(name=name)
