"""The modals of the command and the shortcuts, as payloads (pure). What people write in them stays text."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Final

from adapters.slack import limits
from adapters.slack.chat_cards import UNTITLED
from adapters.slack.manifest import ASK_CALLBACK, NEW_CHAT_CALLBACK
from adapters.slack.markup_inline import escape
from adapters.slack.orders import (
    CHANNEL_BLOCK,
    CHAT_BLOCK,
    MODEL_BLOCK,
    MODEL_CALLBACK,
    PROMPT_BLOCK,
    VALUE_ID,
    FormMemory,
    memory_text,
)
from adapters.slack.plain_labels import distinct_labels, label_of, plain_object, plain_text
from adapters.slack.question_blocks import section
from engine.api import ModelChoice, ThreadChat

ABOUT_SHOWN_MAX: Final = 600
PROMPT_HINT: Final = "It is posted where everybody in the channel can read it."
BY_DEFAULT: Final = "default"
"""In place of a model: whichever the bot uses."""
View = dict[str, Any]
Option = dict[str, Any]


def model_key(reference: str) -> str:
    """What a model is called in a menu, whose values are short."""
    return sha256(reference.encode("utf-8", "surrogatepass")).hexdigest()


def new_chat_view(
    models: Sequence[ModelChoice], memory: FormMemory, *, asks_channel: bool = False
) -> View:
    """The modal that begins a chat: where, if that is not known, with which model, and the question."""
    blocks = [_channel_input()] if asks_channel else []
    blocks.append(_prompt_input("Your question", hint=PROMPT_HINT))
    if models:
        blocks.append(_model_input(models) | {"optional": True})
    return _modal("New chat", "Ask", NEW_CHAT_CALLBACK, memory, blocks)


def ask_view(memory: FormMemory) -> View:
    """The modal that asks about a message."""
    about = label_of(memory.about, ABOUT_SHOWN_MAX) if memory.about else "a message without text"
    shown = section(f"*About:* {about}")
    blocks = [shown, _prompt_input("What do you want to know?", hint=PROMPT_HINT)]
    return _modal("Ask about a message", "Ask", ASK_CALLBACK, memory, blocks)


def model_view(
    chats: Sequence[ThreadChat], models: Sequence[ModelChoice], memory: FormMemory
) -> View:
    """The modal that has another model answer in one of a person's chats."""
    titles = [each.chat.title or UNTITLED for each in chats[: limits.OPTIONS_MAX]]
    labels = distinct_labels(titles, limits.OPTION_TEXT_MAX)
    options = [
        {"text": plain_text(label), "value": str(each.chat.id)}
        for label, each in zip(labels, chats, strict=False)
    ]
    chat_input = _menu_input(CHAT_BLOCK, "Chat", options)
    if len(options) == 1:
        chat_input["element"]["initial_option"] = options[0]
    blocks = [chat_input, _model_input(models)]
    return _modal("Choose a model", "Use it", MODEL_CALLBACK, memory, blocks)


def note_view(title: str, text: str) -> View:
    """A modal that says something and asks nothing."""
    return {
        "type": "modal",
        "title": plain_object(title, limits.MODAL_TITLE_MAX),
        "close": plain_object("Close", limits.MODAL_TITLE_MAX),
        "blocks": [section(escape(text))],
    }


def _modal(
    title: str, submit: str, callback: str, memory: FormMemory, blocks: list[dict[str, Any]]
) -> View:
    return {
        "type": "modal",
        "callback_id": callback,
        "private_metadata": memory_text(memory),
        "title": plain_object(title, limits.MODAL_TITLE_MAX),
        "submit": plain_object(submit, limits.MODAL_TITLE_MAX),
        "close": plain_object("Cancel", limits.MODAL_TITLE_MAX),
        "blocks": blocks,
    }


def _prompt_input(label: str, *, hint: str) -> dict[str, Any]:
    element = {
        "type": "plain_text_input",
        "action_id": VALUE_ID,
        "multiline": True,
        "max_length": limits.INPUT_TEXT_MAX,
    }
    hinted = {"hint": plain_object(hint, limits.INPUT_HINT_MAX)}
    return _input(PROMPT_BLOCK, label, element) | hinted


def _channel_input() -> dict[str, Any]:
    element = {
        "type": "conversations_select",
        "action_id": VALUE_ID,
        "default_to_current_conversation": True,
        "filter": {"include": ["public", "private", "mpim"], "exclude_bot_users": True},
    }
    hint = {"hint": plain_object("Without one we talk alone.", limits.INPUT_HINT_MAX)}
    return _input(CHANNEL_BLOCK, "Channel", element) | hint | {"optional": True}


def _model_input(models: Sequence[ModelChoice]) -> dict[str, Any]:
    shown = models[: limits.OPTIONS_MAX - 1]
    names = [each.choice.model.display_name or each.choice.reference for each in shown]
    options = [
        {"text": plain_text(label), "value": model_key(each.choice.reference)}
        for label, each in zip(distinct_labels(names, limits.OPTION_TEXT_MAX), shown, strict=True)
    ]
    usual = {"text": plain_object("As usual", limits.OPTION_TEXT_MAX), "value": BY_DEFAULT}
    return _menu_input(MODEL_BLOCK, "Model", [usual, *options])


def _menu_input(block: str, label: str, options: list[Option]) -> dict[str, Any]:
    element = {
        "type": "static_select",
        "action_id": VALUE_ID,
        "placeholder": plain_object("Choose…", limits.PLACEHOLDER_MAX),
        "options": options,
    }
    return _input(block, label, element)


def _input(block: str, label: str, element: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "input",
        "block_id": block,
        "label": plain_object(label, limits.INPUT_LABEL_MAX),
        "element": element,
    }
