"""What the feedback buttons carry, and what is made of anything else."""

import json
from typing import Any

import pytest

from adapters.slack.feedback import Rated, comment_view, feedback_row, rated_of
from engine.chat.ids import MessageId

PLACE = {"container": {"message_ts": "2.0", "thread_ts": "1.0"}, "channel": {"id": "C1"}}
ADA = {"user": {"id": "U1"}}


def pressed(value: Any, action_id: str = "tw:feedback") -> dict[str, Any]:
    action = {"action_id": action_id, "type": "feedback_buttons", "value": value}
    return {"type": "block_actions", "actions": [action], **PLACE, **ADA}


def sent(metadata: str, said: Any = "slow") -> dict[str, Any]:
    values = {"comment": {"comment": {"type": "plain_text_input", "value": said}}}
    view = {
        "callback_id": "tw:comment",
        "private_metadata": metadata,
        "state": {"values": values},
    }
    return {"type": "view_submission", "view": view, **ADA}


def test_both_buttons_come_back_as_what_they_mean() -> None:
    element = feedback_row(MessageId(7))["elements"][0]
    for name, is_good in (("positive_button", True), ("negative_button", False)):
        rated = rated_of(pressed(element[name]["value"]))
        assert rated == Rated(
            channel="C1", thread="1.0", user_id="U1", turn_id=MessageId(7), is_good=is_good
        )


def test_a_form_brings_the_comment_for_the_answer_that_it_was_opened_for() -> None:
    rated = rated_of(pressed("7:bad"))
    assert rated is not None
    metadata = comment_view(rated)["private_metadata"]
    found = rated_of(sent(metadata))
    assert found is not None
    assert (found.channel, found.thread, found.turn_id) == ("C1", "1.0", 7)
    assert (found.is_good, found.comment) == (False, "slow")
    unsaid = rated_of(sent(metadata, None))
    assert unsaid is not None
    assert unsaid.comment == ""


@pytest.mark.parametrize(
    "value", ["", "7", "7:", "7:fine", "-7:good", "x:good", "9" * 20 + ":good", 7]
)
def test_a_value_that_is_none_of_ours_is_nothing(value: Any) -> None:
    assert rated_of(pressed(value)) is None


@pytest.mark.parametrize("metadata", ["", "{", "[]", "7", json.dumps({"value": "7:bad"})])
def test_a_form_without_its_origin_is_nothing(metadata: str) -> None:
    assert rated_of(sent(metadata)) is None


def test_other_controls_are_left_alone() -> None:
    assert rated_of(pressed("7:good", "tw:stop")) is None
    assert rated_of({}) is None
    assert rated_of({"type": "view_submission", "view": {"callback_id": "tw:form"}}) is None
