"""Pages, questions and forms as Slack's payloads (pure). Nothing that a model wrote can ping in them.

A page is plain mrkdwn text, since text can be edited up to 4,000 characters and a section cannot. As
long as the page is short enough for one section it can carry the stop button as well.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from adapters.contract import MessageRef, Outgoing, Page, Place, Question
from adapters.slack import limits
from adapters.slack.buttons import (
    ANSWER_PREFIX,
    CHOOSE_PREFIX,
    FORM_CALLBACK,
    OPEN_PREFIX,
    STOP_ID,
    FormOrigin,
    answer_value,
    metadata_of_form,
)
from adapters.slack.form_inputs import input_blocks
from adapters.slack.markup import render_mrkdwn
from adapters.slack.markup_inline import escape
from adapters.slack.plain_labels import label_of, plain_object
from engine.chat.form import Form, FormKind
from engine.chat.writes import ActionState

METADATA_EVENT = "threadwright_page"
OUTCOME_MAX = 600
"""Characters of what became of a question; with the question they stay editable."""
Payload = dict[str, Any]

_QUESTION_MARK = "❓ "
_OUTCOME_MARKS = {
    ActionState.ANSWERED: "✅ ",
    ActionState.EXPIRED: "⌛ ",
    ActionState.CANCELLED: "✖️ ",
}


def post_arguments(place: Place, outgoing: Outgoing, nonce: UUID) -> Payload:
    """The arguments of chat.postMessage; `metadata` is what the message is found by again."""
    blocks = _blocks(outgoing)
    arguments: Payload = {
        "channel": place.channel,
        "thread_ts": place.thread,
        "text": _text(outgoing),
        "metadata": page_metadata(nonce),
        "unfurl_links": False,
        "unfurl_media": False,
    }
    return arguments | ({"blocks": blocks} if blocks else {})


def edit_arguments(ref: MessageRef, outgoing: Outgoing) -> Payload:
    """The arguments of chat.update. Blocks are always named: those left out would stay."""
    return {
        "channel": ref.place.channel,
        "ts": ref.message_id,
        "text": _text(outgoing),
        "blocks": _blocks(outgoing),
    }


def page_metadata(nonce: UUID) -> Payload:
    """What a page is found by again."""
    return {"event_type": METADATA_EVENT, "event_payload": {"nonce": str(nonce)}}


def nonce_of_message(message: Mapping[str, Any]) -> str | None:
    """The nonce that a message of ours was posted with."""
    metadata = message.get("metadata")
    if not isinstance(metadata, Mapping) or metadata.get("event_type") != METADATA_EVENT:
        return None
    payload = metadata.get("event_payload")
    nonce = payload.get("nonce") if isinstance(payload, Mapping) else None
    return nonce if isinstance(nonce, str) else None


def form_view(form: Form, origin: FormOrigin) -> Payload:
    """The modal that a question's button opens."""
    return {
        "type": "modal",
        "callback_id": FORM_CALLBACK,
        "private_metadata": metadata_of_form(origin),
        "title": plain_object("Your answer", limits.MODAL_TITLE_MAX),
        "submit": plain_object("Send", limits.MODAL_TITLE_MAX),
        "close": plain_object("Cancel", limits.MODAL_TITLE_MAX),
        "blocks": [_section(_question_text(form)), *input_blocks(form)],
    }


def notice_view(text: str) -> Payload:
    """The modal that takes a form's place when there is nothing to answer any more."""
    return {
        "type": "modal",
        "title": plain_object("Your answer", limits.MODAL_TITLE_MAX),
        "close": plain_object("Close", limits.MODAL_TITLE_MAX),
        "blocks": [_section(escape(text))],
    }


def _text(outgoing: Outgoing) -> str:
    """What notifications, search and screen readers get."""
    match outgoing:
        case Page(text=text):
            return text
        case Question(form=form, outcome=outcome):
            question = _QUESTION_MARK + _question_text(form)
            return f"{question}\n{label_of(outcome, OUTCOME_MAX)}" if outcome else question


def _blocks(outgoing: Outgoing) -> list[Payload]:
    match outgoing:
        case Page(text=text, can_stop=can_stop):
            if not can_stop or len(text) > limits.SECTION_TEXT_MAX:
                return []
            return [_section(text) | {"expand": True}, _stop_row()]
        case Question(state=ActionState.OPEN):
            return [_section(_QUESTION_MARK + _question_text(outgoing.form)), _controls(outgoing)]
        case Question():
            mark = _OUTCOME_MARKS.get(outgoing.state, "")
            said = mark + label_of(outgoing.outcome, OUTCOME_MAX)
            outcome = {"type": "mrkdwn", "text": said, "verbatim": True}
            section = _section(_QUESTION_MARK + _question_text(outgoing.form))
            return [section, {"type": "context", "elements": [outcome]}]


def _question_text(form: Form) -> str:
    text = render_mrkdwn(form.question) or "What do you say?"
    longest = limits.SECTION_TEXT_MAX - len(_QUESTION_MARK)
    # Cut text is shown as it is, since a cut may leave markup or an entity open.
    return text if len(text) <= longest else label_of(form.question, longest)


def _section(text: str) -> Payload:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text, "verbatim": True}}


def _stop_row() -> Payload:
    return {
        "type": "actions",
        "block_id": STOP_ID,
        "elements": [_button(STOP_ID, "Stop", "stop")],
    }


def _controls(question: Question) -> Payload:
    action_id, form = question.action_id, question.form
    match form.kind:
        case FormKind.BUTTONS:
            options = form.options[: limits.ACTIONS_ELEMENTS_MAX]
            elements = [
                _button(
                    f"{ANSWER_PREFIX}{action_id}:{index}",
                    option.label,
                    answer_value(action_id, index),
                )
                for index, option in enumerate(options)
            ]
        case FormKind.SELECT:
            elements = [_menu(question)]
        case FormKind.MODAL:
            opener = _button(f"{OPEN_PREFIX}{action_id}", "Answer…", str(action_id))
            elements = [opener | {"style": "primary"}]
    return {"type": "actions", "block_id": f"tw:controls:{action_id}", "elements": elements}


def _button(action_id: str, label: str, value: str) -> Payload:
    return {
        "type": "button",
        "action_id": action_id,
        "text": plain_object(label, limits.BUTTON_TEXT_MAX),
        "value": value,
    }


def _menu(question: Question) -> Payload:
    options = question.form.options[: limits.OPTIONS_MAX]
    return {
        "type": "static_select",
        "action_id": f"{CHOOSE_PREFIX}{question.action_id}",
        "placeholder": plain_object("Choose…", limits.PLACEHOLDER_MAX),
        "options": [
            {
                "text": plain_object(option.label, limits.OPTION_TEXT_MAX),
                "value": answer_value(question.action_id, index),
            }
            for index, option in enumerate(options)
        ],
    }
