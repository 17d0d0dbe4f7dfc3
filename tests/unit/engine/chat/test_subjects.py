"""Who and what a limit or a key can be set for."""

import pytest

from engine.chat.subjects import channel_mistake, person_mistake


@pytest.mark.parametrize(
    "identity",
    ["slack:T1:U1", "discord:12:34", "api:admin", "api:token:7", "console:local", "console:ada b"],
)
def test_whom_adapters_know_is_a_person(identity: str) -> None:
    assert person_mistake(identity) is None


@pytest.mark.parametrize(
    "identity",
    ["ada", "slack:T1", "slack:T1:", "slack::U1", "slack:T1:U1:x", "api:token:ada", "api:x:1",
     "console:", "Slack:T1:U1", "slack:T1:U 1", "user slack:T1:U1"],
)  # fmt: skip
def test_whom_no_adapter_knows_is_refused_with_examples(identity: str) -> None:
    assert person_mistake(identity) == (
        "must be an identity: platform:installation:id such as slack:T012:U345, api:token:7, "
        "api:admin, or console:NAME"
    )


def test_channel_is_one_of_a_platform() -> None:
    assert channel_mistake("slack:T1:C1") is None
    for channel in ("C1", "#harbour", "slack:C1", "api:admin", "console:a:b"):
        assert channel_mistake(channel) == (
            "must be a channel: platform:installation:channel such as slack:T012:C345"
        )
