"""What is ordered beside threads, read from any payload whatsoever."""

import json
from typing import Any

import pytest

from adapters.slack.command_line import CommandLine, Verb, help_text, read_command
from adapters.slack.home_view import cursor_of, cursor_text
from adapters.slack.orders import (
    METADATA_MAX,
    Begin,
    FormMemory,
    ShowHome,
    StopMine,
    Tell,
    memory_of,
    memory_text,
    order_of,
)
from adapters.slack.response_url import is_slacks

API = "https://slack.com/api/"


@pytest.mark.parametrize(
    ("text", "verb", "rest"),
    [
        ("", Verb.HELP, ""),
        (" \n ", Verb.HELP, ""),
        ("StOp", Verb.STOP, ""),
        ("new  two  words", Verb.NEW, "two  words"),
        ("new\nline one\nline two", Verb.NEW, "line one\nline two"),
        ("usage please", Verb.USAGE, "please"),
    ],
)
def test_a_command_is_read_in_any_case_and_with_any_space(text: str, verb: Verb, rest: str) -> None:
    assert read_command(text) == CommandLine(verb=verb, rest=rest)


def test_an_unknown_word_is_shown_back_harmless_with_the_nearest_known_one() -> None:
    line = read_command("<!channel>statsu")
    assert line.unknown == "<!channel>statsu"
    assert "<!" not in help_text("/agent", unknown=line.unknown)
    assert "`status`" in help_text("/agent", unknown="statsu").splitlines()[0]
    assert "Did you mean" not in help_text("/agent", unknown="🌊" * 500)


def command(text: str, **fields: Any) -> dict[str, Any]:
    return {"command": "/agent", "text": text, "user_id": "U1", "channel_id": "C1", **fields}


def test_only_what_changes_something_or_is_looked_up_is_an_order() -> None:
    assert isinstance(order_of(command("stop")), StopMine)
    assert isinstance(order_of(command("usage")), Tell)
    assert isinstance(order_of(command("new x")), Begin)
    for text in ("", "help", "nonsense", "new", "model"):
        assert order_of(command(text)) is None
    assert order_of(command("stop", user_id="")) is None


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"type": "block_actions", "actions": [None, 1]},
        {"type": "block_actions", "actions": [{"action_id": "tw:chat:stop", "value": "x"}]},
        {
            "type": "block_actions",
            "user": {"id": "U1"},
            "actions": [{"action_id": "tw:chat:stop", "value": ["x"]}],
        },
        {"type": "view_submission", "view": {"callback_id": "tw:ask", "private_metadata": "["}},
        {"type": "view_submission", "user": {"id": "U1"}, "view": {"callback_id": "tw:model"}},
        {"type": "event_callback", "event": {"type": "app_home_opened", "tab": "home"}},
    ],
)
def test_what_is_no_order_is_none(body: dict[str, Any]) -> None:
    assert order_of(body) is None


def test_the_home_is_ordered_by_opening_its_tab_alone() -> None:
    event = {"type": "app_home_opened", "tab": "home", "user": "U1"}
    assert isinstance(order_of({"type": "event_callback", "event": event}), ShowHome)
    other = {"type": "event_callback", "event": event | {"tab": "messages"}}
    assert order_of(other) is None


@pytest.mark.parametrize("about", ["x" * 9_000, '"\n\\' * 3_000, "🌊" * 9_000, "", "\x00" * 5_000])
def test_what_a_modal_remembers_always_fits(about: str) -> None:
    memory = FormMemory(channel="C1", thread="1.0", about=about, response_url="https://x")
    text = memory_text(memory)
    assert len(text) <= METADATA_MAX
    found = memory_of({"private_metadata": text})
    assert (found.channel, found.thread, found.response_url) == ("C1", "1.0", "https://x")
    assert about.startswith(found.about)
    assert json.loads(text)["about"] == found.about


@pytest.mark.parametrize("page", ["", "|", "now|then", "2026-01-01|x", "9" * 400])
def test_a_page_of_the_home_that_cannot_be_read_is_the_first(page: str) -> None:
    assert cursor_of(page) is None


def test_a_page_of_the_home_is_read_back() -> None:
    text = "2026-12-01T10:00:00+00:00|00000000-0000-0000-0000-000000000001"
    found = cursor_of(text)
    assert found is not None
    assert cursor_text(found) == text


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("https://hooks.slack.com/commands/T1/2/x", True),
        ("https://slack.com/x", True),
        ("http://hooks.slack.com/x", False),
        ("https://hooks.slack.com.evil.example/x", False),
        ("https://evilslack.com/x", False),
        ("https://hooks.slack.com:8443/x", False),
        ("https://slack.com@evil.example/x", False),
        ("https://[::1/x", False),
        ("file:///etc/passwd", False),
        ("", False),
    ],
)
def test_answers_go_to_slacks_own_hosts_alone(url: str, *, allowed: bool) -> None:
    assert is_slacks(url, api_url=API) is allowed


def test_answers_go_to_the_place_of_the_configured_api() -> None:
    api = "http://127.0.0.1:4003/api/"
    assert is_slacks("http://127.0.0.1:4003/response/1", api_url=api)
    assert not is_slacks("http://127.0.0.1:4004/response/1", api_url=api)
