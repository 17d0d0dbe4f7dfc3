"""What the agent view tells, in the newer words and the older ones."""

import json
from pathlib import Path
from typing import Any

import pytest

from adapters.slack.agent_events import ViewEvent, prompts_of, view_event

RECORDINGS = Path(__file__).parents[3] / "recordings" / "slack"
LOOKS = ViewEvent(channel="D1", thread="", user_id="U1", looks_at="C2")


def recorded(name: str) -> dict[str, Any]:
    body: dict[str, Any] = json.loads((RECORDINGS / f"bolt_python__{name}.json").read_text())
    event: dict[str, Any] = body["event"]
    return event


def test_a_started_thread_is_opened_beside_a_channel() -> None:
    seen = view_event(recorded("events_assistant__thread_started_event_body"))
    assert seen == ViewEvent(
        channel="D111",
        thread="1726133698.626339",
        user_id="W222",
        is_opened=True,
        looks_at="C222",
    )


def test_a_changed_context_says_what_is_looked_at() -> None:
    seen = view_event(recorded("events_assistant__thread_context_changed_event_body"))
    assert seen is not None
    assert (seen.channel, seen.looks_at, seen.is_opened) == ("D111", "C333", False)


@pytest.mark.parametrize(
    "context",
    [
        {"channel_id": "C2"},
        {"channel": "C2"},
        {"entities": [{"type": "slack#/types/channel_id", "value": "C2"}]},
        {"entities": ["?", {"type": "canvas", "value": "F1"}, {"type": "channel", "id": "C2"}]},
    ],
)
def test_the_channel_is_found_in_every_shape(context: dict[str, Any]) -> None:
    event = {"type": "app_context_changed", "user": "U1", "channel": "D1", "context": context}
    assert view_event(event) == LOOKS


def test_the_tab_of_messages_is_opened_and_the_home_is_not() -> None:
    event = {"type": "app_home_opened", "user": "U1", "channel": "D1", "tab": "messages"}
    assert view_event(event) == ViewEvent(channel="D1", thread="", user_id="U1", is_opened=True)
    assert view_event(event | {"tab": "home"}) is None


def test_a_title_is_a_persons() -> None:
    event = {
        "type": "agent_session_title_changed",
        "channel": "D1",
        "thread_ts": "1.1",
        "user": "U1",
        "title": "Boats",
    }
    assert view_event(event) == ViewEvent(channel="D1", thread="1.1", user_id="U1", title="Boats")


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"type": "message", "channel": "D1"},
        {"type": "app_home_opened", "user": "U1"},
        {"type": "app_context_changed", "channel": "D1", "context": {"entities": 7}},
        {"type": "agent_session_title_changed", "channel": "D1", "title": 7},
    ],
)
def test_what_lacks_what_matters_is_nothing(event: dict[str, Any]) -> None:
    assert view_event(event) is None


def test_prompts_are_four_at_most_and_have_short_titles() -> None:
    prompts = prompts_of(("Hi?", "x " * 80, "b", "c", "d"))
    assert len(prompts) == 4
    assert prompts[0] == {"title": "Hi?", "message": "Hi?"}
    assert prompts[1]["title"].endswith("…")
    assert len(prompts[1]["title"]) <= 75
