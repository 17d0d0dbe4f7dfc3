"""What our buttons, menus and forms carry, so that any replica at any time can tell what one means (pure).

A control names the required action and the option in its value; the database knows the rest.
"""

import json
from dataclasses import dataclass
from typing import Any

from adapters.slack.wire import Json, object_at, objects_at, text_at
from engine.chat.form import Field, FieldKind, Form
from engine.chat.ids import ActionId

ANSWER_PREFIX = "tw:answer:"
CHOOSE_PREFIX = "tw:choose:"
OPEN_PREFIX = "tw:open:"
STOP_ID = "tw:stop"
FORM_CALLBACK = "tw:form"
FIELD_PREFIX = "tw:field:"
VALUE_ID = "value"
_ID_MAX = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Pressed:
    """Where a control was pressed and by whom. `thread` is the message's own id outside a thread."""

    user_id: str
    channel: str
    thread: str
    message_ts: str
    trigger_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPressed:
    """An option was chosen."""

    action_id: ActionId
    option: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPressed:
    """The form should be opened."""

    action_id: ActionId


@dataclass(frozen=True, slots=True, kw_only=True)
class StopPressed:
    """The reply should stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignPressed:
    """Not a control of ours, or of none that we still know."""


Press = AnswerPressed | OpenPressed | StopPressed | ForeignPressed


@dataclass(frozen=True, slots=True, kw_only=True)
class FormOrigin:
    """What an open form remembers: the question, where it was asked, and which page of it is shown."""

    action_id: ActionId
    channel: str
    thread: str
    message_ts: str
    page: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionsWanted:
    """Somebody looks for an option, of the question itself or of the form's `field`-th field."""

    action_id: ActionId
    typed: str
    field: int | None = None


def answer_value(action_id: ActionId, option: int) -> str:
    """The value of a button or menu option."""
    return f"{action_id}:{option}"


def press_of(payload: Json) -> Press:
    """What a block_actions payload asks for."""
    actions = objects_at(payload, "actions")
    if not actions:
        return ForeignPressed()
    pressed = actions[0]
    control = text_at(pressed, "action_id")
    if control == STOP_ID:
        return StopPressed()
    if control.startswith(OPEN_PREFIX):
        opened = _number(control.removeprefix(OPEN_PREFIX))
        return ForeignPressed() if opened is None else OpenPressed(action_id=ActionId(opened))
    if not control.startswith((ANSWER_PREFIX, CHOOSE_PREFIX)):
        return ForeignPressed()
    value = text_at(pressed, "value") or text_at(pressed, "selected_option", "value")
    action, _, option = value.partition(":")
    action_id, index = _number(action), _number(option)
    if action_id is None or index is None:
        return ForeignPressed()
    return AnswerPressed(action_id=ActionId(action_id), option=index)


def place_of_press(payload: Json) -> Pressed:
    """Where a block_actions payload comes from."""
    message_ts = text_at(payload, "container", "message_ts") or text_at(payload, "message", "ts")
    thread = text_at(payload, "container", "thread_ts") or text_at(payload, "message", "thread_ts")
    return Pressed(
        user_id=text_at(payload, "user", "id"),
        channel=text_at(payload, "channel", "id") or text_at(payload, "container", "channel_id"),
        thread=thread or message_ts,
        message_ts=message_ts,
        trigger_id=text_at(payload, "trigger_id"),
    )


def metadata_of_form(origin: FormOrigin) -> str:
    """What is stored in a form while it is open. Slack allows 3000 characters."""
    return json.dumps(
        {
            "action": origin.action_id,
            "channel": origin.channel,
            "thread": origin.thread,
            "message": origin.message_ts,
            "page": origin.page,
        }
    )


def origin_of_form(payload: Json) -> FormOrigin | None:
    """What a view_submission answers; None when the form is not ours."""
    view = object_at(payload, "view")
    if text_at(view, "callback_id") != FORM_CALLBACK:
        return None
    try:
        stored = json.loads(text_at(view, "private_metadata"))
    except ValueError:
        return None
    action_id = _whole(stored, "action")
    if action_id is None:
        return None
    return FormOrigin(
        action_id=ActionId(action_id),
        channel=text_at(stored, "channel"),
        thread=text_at(stored, "thread"),
        message_ts=text_at(stored, "message"),
        page=_whole(stored, "page") or 0,
    )


def options_wanted(payload: Json) -> OptionsWanted | None:
    """What a block_suggestion looks for; None when the menu is not ours."""
    typed = text_at(payload, "value")
    if (origin := origin_of_form(payload)) is not None:
        field = _number(text_at(payload, "block_id").removeprefix(FIELD_PREFIX))
        if field is None:
            return None
        return OptionsWanted(action_id=origin.action_id, typed=typed, field=field)
    control = text_at(payload, "action_id")
    chosen_of = _number(control.removeprefix(CHOOSE_PREFIX))
    if not control.startswith(CHOOSE_PREFIX) or chosen_of is None:
        return None
    return OptionsWanted(action_id=ActionId(chosen_of), typed=typed)


def field_id(index: int) -> str:
    """The block id of a form's field: names may be longer than Slack allows."""
    return f"{FIELD_PREFIX}{index}"


def values_of_form(payload: Json, form: Form, *, offset: int = 0) -> dict[str, Any]:
    """What was filled in, by field name, for `answer_of_fields`. Empty inputs are left out.

    `form` may be a page of the whole form, whose first field is that one's `offset`-th.
    """
    state = object_at(payload, "view", "state", "values")
    values: dict[str, Any] = {}
    for index, field in enumerate(form.fields, start=offset):
        raw = _raw_value(object_at(state, field_id(index), VALUE_ID), field)
        if raw is not None:
            values[field.name] = raw
    return values


def _raw_value(element: Json, field: Field) -> Any:
    match text_at(element, "type"):
        case "datepicker":
            return text_at(element, "selected_date") or None
        case "users_select":
            return text_at(element, "selected_user") or None
        case "multi_users_select":
            users = element.get("selected_users")
            listed = users if isinstance(users, list) else []
            return [user for user in listed if isinstance(user, str)] or None
        case "multi_static_select" | "multi_external_select":
            chosen = objects_at(element, "selected_options")
            return [_option_value(text_at(item, "value"), field) for item in chosen] or None
        case "static_select" | "external_select" | "radio_buttons":
            return _option_value(text_at(element, "selected_option", "value"), field)
        case _:
            return text_at(element, "value") or None


def _option_value(raw: str, field: Field) -> Any:
    """Options travel by index, since a value may be any JSON; booleans travel by name."""
    if not raw or field.kind is FieldKind.BOOLEAN:
        return raw or None
    index = _number(raw)
    if index is None or index >= len(field.options):
        return raw
    return field.options[index].value


def _whole(stored: Any, name: str) -> int | None:
    number = stored.get(name) if isinstance(stored, dict) else None
    return number if isinstance(number, int) and not isinstance(number, bool) else None


def _number(text: str) -> int | None:
    if not (text.isascii() and text.isdecimal() and len(text) <= 19):
        return None
    number = int(text)
    return number if number <= _ID_MAX else None
