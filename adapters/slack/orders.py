"""What people ask for beside threads: by the slash command, in its modals, in the app's home (pure).

A form carries what it needs in Slack's own payload, so that any replica can go on with it at any time.
"""

import json
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from adapters.slack.command_line import Verb, read_command
from adapters.slack.manifest import ASK_CALLBACK, NEW_CHAT_CALLBACK
from adapters.slack.wire import Json, object_at, objects_at, text_at
from engine.chat.ids import ChatId

MODEL_CALLBACK: Final = "tw:model"
STOP_CHAT_ID: Final = "tw:chat:stop"
OPEN_CHAT_ID: Final = "tw:chat:open"
HOME_PAGE_PREFIX: Final = "tw:home:page:"
PROMPT_BLOCK: Final = "tw:prompt"
MODEL_BLOCK: Final = "tw:model"
CHAT_BLOCK: Final = "tw:chat"
CHANNEL_BLOCK: Final = "tw:channel"
VALUE_ID: Final = "value"
METADATA_MAX: Final = 2_900
"""Characters of what a form remembers; Slack takes 3,000."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Whence:
    """Who asked, and where an answer for them alone goes. `response_url` is good for half an hour."""

    user_id: str
    channel: str = ""
    response_url: str = ""
    is_in_home: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StopMine:
    """Stop what runs for this person in this channel."""

    at: Whence


@dataclass(frozen=True, slots=True, kw_only=True)
class StopChat:
    """Stop this chat of theirs."""

    at: Whence
    chat_id: ChatId


@dataclass(frozen=True, slots=True, kw_only=True)
class Tell:
    """Tell them their status, their usage or the tools."""

    at: Whence
    verb: Verb


@dataclass(frozen=True, slots=True, kw_only=True)
class Begin:
    """Begin a chat, or go on with the one of `thread`. `about`: a message that it is about.

    Without a channel it begins in the person's own conversation with us. `is_escaped`: the text is as
    Slack writes text, with entities and mentions, and not just as it was typed.
    """

    at: Whence
    text: str
    is_escaped: bool = False
    thread: str = ""
    about: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChooseModel:
    """Have another model answer in this chat of theirs. `model`: see command_views.model_key."""

    at: Whence
    chat_id: ChatId
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowHome:
    """Show them the app's home, from `page` on."""

    at: Whence
    page: str = ""


Order = StopMine | StopChat | Tell | Begin | ChooseModel | ShowHome


@dataclass(frozen=True, slots=True, kw_only=True)
class FormMemory:
    """What a modal remembers: where it was opened and how to answer there, and what it is about."""

    channel: str = ""
    thread: str = ""
    about: str = ""
    response_url: str = ""


def order_of(body: Json) -> Order | None:
    """What a delivery orders; None where it is something else, or is answered at once. Never raises."""
    match text_at(body, "type"):
        case "":
            return _order_of_command(body) if "command" in body else None
        case "block_actions":
            return _order_of_press(body)
        case "view_submission":
            return _order_of_form(body)
        case "event_callback":
            return _order_of_event(object_at(body, "event"))
        case _:
            return None


def command_whence(body: Json) -> Whence:
    """Where a slash command was given."""
    return Whence(
        user_id=text_at(body, "user_id"),
        channel=text_at(body, "channel_id"),
        response_url=text_at(body, "response_url"),
    )


def memory_text(memory: FormMemory) -> str:
    """What a modal remembers, as it is stored in it; what it is about is cut to what Slack takes."""
    about = memory.about
    while True:
        stored = {
            "channel": memory.channel,
            "thread": memory.thread,
            "about": about,
            "response_url": memory.response_url,
        }
        text = json.dumps(stored, ensure_ascii=False)
        if len(text) <= METADATA_MAX or not about:
            return text
        about = about[: len(about) // 2]


def memory_of(view: Json) -> FormMemory:
    """What a modal remembers; nothing where it is not readable."""
    try:
        stored: Any = json.loads(text_at(view, "private_metadata"))
    except ValueError:
        return FormMemory()
    return FormMemory(
        channel=text_at(stored, "channel"),
        thread=text_at(stored, "thread"),
        about=text_at(stored, "about"),
        response_url=text_at(stored, "response_url"),
    )


def entered_text(view: Json, block: str) -> str:
    """What was typed into an input of a modal of ours."""
    return text_at(view, "state", "values", block, VALUE_ID, "value")


def chosen_option(view: Json, block: str) -> str:
    """What was chosen in a menu of a modal of ours."""
    return text_at(view, "state", "values", block, VALUE_ID, "selected_option", "value")


def _order_of_command(body: Json) -> Order | None:
    at, line = command_whence(body), read_command(text_at(body, "text"))
    if not at.user_id:
        return None
    match line.verb:
        case Verb.STOP:
            return StopMine(at=at)
        case Verb.STATUS | Verb.USAGE | Verb.TOOLS:
            return Tell(at=at, verb=line.verb)
        case Verb.NEW:
            return Begin(at=at, text=line.rest, is_escaped=True) if line.rest else None
        case Verb.HELP | Verb.MODEL:
            return None


def _order_of_press(body: Json) -> Order | None:
    pressed = next(iter(objects_at(body, "actions")), None)
    control, value = text_at(pressed, "action_id"), text_at(pressed, "value")
    at = Whence(
        user_id=text_at(body, "user", "id"),
        channel=text_at(body, "channel", "id") or text_at(body, "container", "channel_id"),
        response_url=text_at(body, "response_url"),
        is_in_home=text_at(body, "view", "type") == "home",
    )
    if not at.user_id:
        return None
    if control.startswith(HOME_PAGE_PREFIX):
        return ShowHome(at=at, page=value)
    chat_id = _chat_id(value) if control == STOP_CHAT_ID else None
    return None if chat_id is None else StopChat(at=at, chat_id=chat_id)


def _order_of_form(body: Json) -> Order | None:
    view = object_at(body, "view")
    memory, kind = memory_of(view), text_at(view, "callback_id")
    chosen = text_at(view, "state", "values", CHANNEL_BLOCK, VALUE_ID, "selected_conversation")
    at = Whence(
        user_id=text_at(body, "user", "id"),
        channel=memory.channel or chosen,
        response_url=memory.response_url,
    )
    if not at.user_id:
        return None
    if kind in (ASK_CALLBACK, NEW_CHAT_CALLBACK):
        text = entered_text(view, PROMPT_BLOCK).strip()
        if not text:
            return None
        return Begin(
            at=at,
            text=text,
            thread=memory.thread,
            about=memory.about,
            model=chosen_option(view, MODEL_BLOCK),
        )
    chat_id = _chat_id(chosen_option(view, CHAT_BLOCK))
    if kind != MODEL_CALLBACK or chat_id is None:
        return None
    return ChooseModel(at=at, chat_id=chat_id, model=chosen_option(view, MODEL_BLOCK))


def _order_of_event(event: Json) -> Order | None:
    if text_at(event, "type") != "app_home_opened" or text_at(event, "tab") != "home":
        return None
    user_id = text_at(event, "user")
    return ShowHome(at=Whence(user_id=user_id, is_in_home=True)) if user_id else None


def _chat_id(text: str) -> ChatId | None:
    try:
        return ChatId(UUID(text))
    except ValueError:
        return None
