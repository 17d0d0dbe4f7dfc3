"""Slack's ways of saying that a click is too long ago to open anything."""

from typing import Any

import pytest
from slack_sdk.errors import SlackApiError

from adapters.errors import Denied
from adapters.slack.trigger import is_trigger_over


def refused(code: str, **body: Any) -> Denied:
    """A refusal as the client raises it."""
    error = Denied(code)
    error.__cause__ = SlackApiError("no", {"ok": False, "error": code, **body})
    return error


def said(*messages: Any) -> dict[str, Any]:
    return {"response_metadata": {"messages": list(messages)}}


@pytest.mark.parametrize(
    ("error", "over"),
    [
        (refused("expired_trigger_id"), True),
        (refused("exchanged_trigger_id"), True),
        (refused("invalid_trigger_id"), True),
        (refused("invalid_arguments", **said("[ERROR] `trigger_id` expired")), True),
        (
            refused("invalid_arguments", **said("[ERROR] must be a date [json-pointer:/view]")),
            False,
        ),
        (refused("invalid_arguments", **said(7)), False),
        (refused("invalid_arguments"), False),
        (refused("invalid_arguments", response_metadata=None), False),
        (refused("invalid_arguments", response_metadata={"messages": "trigger_id"}), False),
        (refused("access_denied", **said("[ERROR] `trigger_id` expired")), False),
        (Denied("invalid_arguments"), False),
    ],
)
def test_a_trigger_that_is_over_is_told_from_other_refusals(error: Denied, *, over: bool) -> None:
    """D8: slackapi/bolt-python#886, as a code and as a sentence."""
    assert is_trigger_over(error) is over
