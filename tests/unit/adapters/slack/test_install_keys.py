"""Which installation a delivery is for, whatever shape it has."""

import json
from pathlib import Path
from typing import Any

import pytest

from adapters.slack.install_keys import keys_of

RECORDINGS = Path(__file__).parents[3] / "recordings" / "slack"


def recorded(name: str) -> Any:
    return json.loads((RECORDINGS / name).read_text())


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # The event's own team is another than that of the installation.
        ("bolt_python__events_shared_channels__event_body.json", ("T_INSTALLED",)),
        ("bolt_python__events_shared_channels__valid_event_body.json", ("T_INSTALLED",)),
        ("bolt_python__events_shared_channels__tokens_revoked_body.json", ("T_INSTALLED",)),
        # The organization has installed it as a whole.
        ("bolt_python__events_org_apps__event_payload.json", ("E111",)),
        ("bolt_python__events_org_apps__event_payload_4.json", ("E111",)),
        ("bolt_python__events_token_revocations__event_payload_2.json", ("E111",)),
        ("vercel_chat__slack-multi-workspace-team1__mention.json", ("T0A8YAUUGMU",)),
        ("vercel_chat__modals-slack__action.json", ("T00FAKE00BB",)),
    ],
)
def test_recorded_deliveries_are_for_the_installation_that_got_them(
    name: str, expected: tuple[str, ...]
) -> None:
    assert keys_of(recorded(name), "") == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            {"team": None, "user": {"team_id": "T1"}, "enterprise": {"id": "E1"},
             "is_enterprise_install": True},
            ("E1",),
        ),
        ({"team": None, "user": {"team_id": "T1"}, "is_enterprise_install": False}, ("T1",)),
        (
            {"team": {"id": "T_GUEST"}, "view": {"app_installed_team_id": "T_OURS",
                                                 "team_id": "T_GUEST"}},
            ("T_OURS", "T_GUEST"),
        ),
        # Somebody of another workspace presses a control of ours in a shared channel.
        ({"team": {"id": "T_GUEST"}, "message": {"team": "T_OURS"}}, ("T_OURS", "T_GUEST")),
        ({"team_id": "T1", "enterprise_id": "E1", "is_enterprise_install": "false"}, ("T1",)),
        ({"team_id": "T1", "enterprise_id": "E1", "is_enterprise_install": "true"}, ("E1",)),
        ({"team_id": "T1", "enterprise_id": "E1"}, ("T1", "E1")),
        ({"team": "T1"}, ("T1",)),
        ({"team": {"id": "T1", "enterprise_id": "E1"}}, ("T1", "E1")),
        (
            {"team_id": "T9", "authorizations": [
                {"team_id": None, "enterprise_id": "E1", "is_enterprise_install": False}]},
            ("E1",),
        ),
        ({}, ()),
        ({"authorizations": [], "team_id": "T1"}, ("T1",)),
        ({"authorizations": "x", "team": 3, "enterprise": [], "view": "y", "user": None}, ()),
    ],
)  # fmt: skip
def test_the_likeliest_installation_comes_first(
    body: dict[str, Any], expected: tuple[str, ...]
) -> None:
    assert keys_of(body, "") == expected


def test_a_named_app_has_installations_of_its_own() -> None:
    assert keys_of({"team_id": "T1"}, "tugboat") == ("T1@tugboat",)


@pytest.mark.parametrize("path", sorted(RECORDINGS.glob("*.json")), ids=lambda path: path.stem)
def test_no_recorded_body_is_a_fault(path: Path) -> None:
    body = json.loads(path.read_text())
    if isinstance(body, dict):
        assert all(isinstance(key, str) and key for key in keys_of(body, ""))
