"""The buttons by which people say whether a reply was good, and the form for why not (pure).

A button names the message that the reply answers; which chat that is in is told by where it was pressed.
"""

import json
from dataclasses import dataclass
from typing import Any, Final

from adapters.slack import limits
from adapters.slack.buttons import place_of_press
from adapters.slack.plain_labels import plain_object
from adapters.slack.wire import Json, object_at, objects_at, text_at
from engine.chat.ids import MessageId

FEEDBACK_ID: Final = "tw:feedback"
COMMENT_CALLBACK: Final = "tw:comment"
_COMMENT_BLOCK: Final = "comment"
_GOOD, _BAD = "good", "bad"
_ID_DIGITS_MAX: Final = 19


@dataclass(frozen=True, slots=True, kw_only=True)
class Rated:
    """Somebody said what they think of the reply to `turn_id`. `comment`: None where none was asked for."""

    channel: str
    thread: str
    user_id: str
    turn_id: MessageId
    is_good: bool
    comment: str | None = None


def feedback_row(turn_id: MessageId) -> dict[str, Any]:
    """The block below a finished reply."""
    return {
        "type": "context_actions",
        "block_id": FEEDBACK_ID,
        "elements": [
            {
                "type": "feedback_buttons",
                "action_id": FEEDBACK_ID,
                "positive_button": _button("Good answer", f"{turn_id}:{_GOOD}"),
                "negative_button": _button("Bad answer", f"{turn_id}:{_BAD}"),
            }
        ],
    }


def rated_of(payload: Json) -> Rated | None:
    """What a press of one of the buttons, or a sent form, says; None for anything else."""
    if text_at(payload, "type") == "view_submission":
        return _rated_of_form(payload)
    actions = objects_at(payload, "actions")
    if not actions or text_at(actions[0], "action_id") != FEEDBACK_ID:
        return None
    place = place_of_press(payload)
    return _rated(
        text_at(actions[0], "value"), place.channel, place.thread, text_at(payload, "user", "id")
    )


def comment_view(rated: Rated) -> dict[str, Any]:
    """The form that asks what was wrong. Nothing need be said."""
    origin = {
        "value": f"{rated.turn_id}:{_BAD}",
        "channel": rated.channel,
        "thread": rated.thread,
    }
    return {
        "type": "modal",
        "callback_id": COMMENT_CALLBACK,
        "private_metadata": json.dumps(origin),
        "title": plain_object("What was wrong?", limits.MODAL_TITLE_MAX),
        "submit": plain_object("Send", limits.MODAL_TITLE_MAX),
        "close": plain_object("Skip", limits.MODAL_TITLE_MAX),
        "blocks": [
            {
                "type": "input",
                "block_id": _COMMENT_BLOCK,
                "optional": True,
                "label": plain_object("In your words", limits.INPUT_LABEL_MAX),
                "element": {
                    "type": "plain_text_input",
                    "action_id": _COMMENT_BLOCK,
                    "multiline": True,
                    "max_length": limits.INPUT_TEXT_MAX,
                },
            }
        ],
    }


def _rated_of_form(payload: Json) -> Rated | None:
    view = object_at(payload, "view")
    if text_at(view, "callback_id") != COMMENT_CALLBACK:
        return None
    try:
        origin = json.loads(text_at(view, "private_metadata"))
    except ValueError:
        return None
    said = text_at(view, "state", "values", _COMMENT_BLOCK, _COMMENT_BLOCK, "value")
    return _rated(
        text_at(origin, "value"),
        text_at(origin, "channel"),
        text_at(origin, "thread"),
        text_at(payload, "user", "id"),
        comment=said,
    )


def _rated(
    value: str, channel: str, thread: str, user_id: str, *, comment: str | None = None
) -> Rated | None:
    turn, _, verdict = value.partition(":")
    is_number = turn.isascii() and turn.isdecimal() and len(turn) <= _ID_DIGITS_MAX
    if not (is_number and verdict in (_GOOD, _BAD) and channel and thread and user_id):
        return None
    return Rated(
        channel=channel,
        thread=thread,
        user_id=user_id,
        turn_id=MessageId(int(turn)),
        is_good=verdict == _GOOD,
        comment=comment,
    )


def _button(label: str, value: str) -> dict[str, Any]:
    return {
        "text": plain_object(label, limits.BUTTON_TEXT_MAX),
        "value": value,
        "accessibility_label": label,
    }
