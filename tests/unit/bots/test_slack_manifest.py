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
    settings = slack_manifest(name="Wren", public_url="https://wren.example/")["settings"]
    assert settings["socket_mode_enabled"] is False
    for section in ("event_subscriptions", "interactivity"):
        assert settings[section]["request_url"] == "https://wren.example/slack/events"
    menus = settings["interactivity"]["message_menu_options_url"]
    assert menus == "https://wren.example/slack/events"


def test_a_distributed_app_can_be_installed_by_a_link() -> None:
    with pytest.raises(ValueError, match="public address"):
        slack_manifest(name="Wren", is_distributed=True)
    manifest = slack_manifest(name="Wren", public_url="https://wren.example", is_distributed=True)
    redirects = manifest["oauth_config"]["redirect_urls"]
    assert redirects == ["https://wren.example/slack/oauth_redirect"]
    assert manifest["settings"]["token_rotation_enabled"] is True
    assert "redirect_urls" not in slack_manifest(name="Wren")["oauth_config"]


def test_commands_and_home_come_with_their_features() -> None:
    features = slack_manifest(name="Wren", command="/wren", public_url="https://wren.example")[
        "features"
    ]
    (command,) = features["slash_commands"]
    assert (command["command"], command["url"]) == ("/wren", "https://wren.example/slack/events")
    assert [shortcut["type"] for shortcut in features["shortcuts"]] == ["message", "global"]
    assert features["app_home"]["home_tab_enabled"] is True
    least = slack_manifest(name="Wren", features=())["features"]
    assert "slash_commands" not in least
    assert least["app_home"]["home_tab_enabled"] is False


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
