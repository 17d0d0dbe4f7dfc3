"""What of commands, shortcuts and their modals cannot wait: help, opening a modal, checking what was sent.

Theory of operation. A trigger opens a modal for three seconds, so it is opened beside the acknowledgement.
What a modal needs later is in it, so any replica may be sent the submission. All that changes anything
goes through the inbox, see adapters.slack.ordering.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, Final

from adapters.errors import SurfaceError
from adapters.slack.answer_rights import identity_in
from adapters.slack.command_line import CommandLine, Verb, help_text, read_command
from adapters.slack.command_views import (
    BY_DEFAULT,
    View,
    ask_view,
    model_key,
    model_view,
    new_chat_view,
    note_view,
)
from adapters.slack.desk import Desk, House
from adapters.slack.identity import PLATFORM
from adapters.slack.inbound_text import message_text
from adapters.slack.manifest import ASK_CALLBACK, NEW_CHAT_CALLBACK
from adapters.slack.orders import (
    MODEL_BLOCK,
    MODEL_CALLBACK,
    PROMPT_BLOCK,
    FormMemory,
    Whence,
    chosen_option,
    command_whence,
    entered_text,
)
from adapters.slack.private_answer import answer_alone, private_body
from adapters.slack.wire import Json, object_at, text_at
from adapters.slack.workspaces import Workspace
from engine.api import ModelChoice, StoreUnavailable

logger = logging.getLogger(__name__)

OPEN_SECONDS_MAX: Final = 10.0
CHATS_SHOWN_MAX: Final = 100
NOT_OPENED: Final = "I could not open the form just now. Please try again."
NO_CHATS: Final = "You have no chats in this channel. Begin one with `new` and your question."
NO_MODELS: Final = "There is no model to choose."
EMPTY_PROMPT: Final = "Please write what you want to know."
MODEL_GONE: Final = "This model cannot be used any more. Please choose another one."
OURS: Final = frozenset({ASK_CALLBACK, NEW_CHAT_CALLBACK, MODEL_CALLBACK})
Answer = dict[str, Any]


class CommandDesk:
    """Answers at once, in any workspace. Opening never raises: people can ask again."""

    def __init__(self, house: House) -> None:
        self._house = house

    def answer(self, workspace: Workspace, body: Json) -> Answer | None:
        """What a slash command is answered with at once; None where it is stored and carried out."""
        line, at = read_command(text_at(body, "text")), command_whence(body)
        if line.verb is Verb.HELP or not at.user_id:
            said = help_text(text_at(body, "command"), unknown=line.unknown)
            return private_body(said)
        if _opens(line):
            trigger = text_at(body, "trigger_id")
            self._house.spawn(self._open(workspace, trigger, at, FormMemory(), line.verb))
            return {}
        return None

    def open_shortcut(self, workspace: Workspace, body: Json) -> bool:
        """Open what a shortcut of ours stands for. False: it is none of ours."""
        callback = text_at(body, "callback_id")
        at = Whence(
            user_id=text_at(body, "user", "id"),
            channel=text_at(body, "channel", "id"),
            response_url=text_at(body, "response_url"),
        )
        if callback not in (ASK_CALLBACK, NEW_CHAT_CALLBACK) or not at.user_id:
            return False
        message = object_at(body, "message")
        is_message = text_at(body, "type") == "message_action"
        memory = FormMemory()
        if is_message:
            memory = FormMemory(
                thread=text_at(message, "thread_ts")
                or text_at(message, "ts")
                or text_at(body, "message_ts"),
                about=message_text(message, workspace.identity, {}),
            )
        trigger = text_at(body, "trigger_id")
        self._house.spawn(self._open(workspace, trigger, at, memory, None))
        return True

    async def check(self, workspace: Workspace, body: Json) -> Answer:
        """What a modal's submission is answered with: nothing takes it, errors do not."""
        view = object_at(body, "view")
        has_prompt = text_at(view, "callback_id") != MODEL_CALLBACK
        if has_prompt and not entered_text(view, PROMPT_BLOCK).strip():
            return _errors(PROMPT_BLOCK, EMPTY_PROMPT)
        chosen = chosen_option(view, MODEL_BLOCK)
        if chosen and chosen != BY_DEFAULT:
            models = await self._models(workspace, text_at(body, "user", "id"))
            if chosen not in {model_key(each.choice.reference) for each in models}:
                return _errors(MODEL_BLOCK, MODEL_GONE)
        return {}

    async def _open(
        self, workspace: Workspace, trigger: str, at: Whence, memory: FormMemory, verb: Verb | None
    ) -> None:
        try:
            async with asyncio.timeout(OPEN_SECONDS_MAX):
                view = await self._view(workspace, at, memory, verb)
                await workspace.client.open_view(trigger, view)
        except (SurfaceError, StoreUnavailable, TimeoutError) as error:
            reason = error.code if isinstance(error, SurfaceError) else type(error).__name__
            extra = {"action": "slack_form_not_opened", "reason": reason}
            logger.warning("form not opened", extra=extra)
            await answer_alone(Desk(house=self._house, workspace=workspace), at, NOT_OPENED)

    async def _view(
        self, workspace: Workspace, at: Whence, memory: FormMemory, verb: Verb | None
    ) -> View:
        remembered = FormMemory(
            channel=at.channel,
            thread=memory.thread,
            about=memory.about,
            response_url=at.response_url,
        )
        if memory.thread:
            return ask_view(remembered)
        models = await self._models(workspace, at.user_id)
        if verb is not Verb.MODEL:
            return new_chat_view(models, remembered, asks_channel=not at.channel)
        if not models:
            return note_view("Choose a model", NO_MODELS)
        chats = await self._house.engine.thread_chats.of_owner(
            PLATFORM,
            workspace.identity.installation,
            await identity_in(workspace, at.user_id),
            channel=at.channel,
            limit=CHATS_SHOWN_MAX,
        )
        if not chats:
            return note_view("Choose a model", NO_CHATS.replace("`", ""))
        return model_view(chats, models, remembered)

    async def _models(self, workspace: Workspace, user_id: str) -> Sequence[ModelChoice]:
        identity = await identity_in(workspace, user_id)
        choices = await self._house.engine.models.choices(identity)
        return [each for each in choices if each.why_not is None]


def _opens(line: CommandLine) -> bool:
    return line.verb is Verb.MODEL or (line.verb is Verb.NEW and not line.rest)


def is_form_of_ours(body: Json) -> bool:
    """Whether a submission is of a modal that is opened here."""
    return text_at(body, "view", "callback_id") in OURS


def _errors(block: str, text: str) -> Answer:
    return {"response_action": "errors", "errors": {block: text}}
