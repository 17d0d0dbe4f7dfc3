"""Makes one title: reads what was said, asks a model once, and keeps what fits as a generated title."""

import logging
from collections.abc import Awaitable, Callable
from typing import Final

from engine.agent.brain import Brains
from engine.agent.titles import (
    INSTRUCTION,
    TOKENS_MAX,
    conversation,
    first_question,
    title_of,
)
from engine.chat.ids import ChatId, MessageId
from engine.chat.title import fallback_title
from engine.store.rows import ChatRows
from engine.store.side_chat import SideChat
from engine.store.side_work import SideCall, SideWorkRows
from engine.worker.side_request import ask_for_chat

log = logging.getLogger(__name__)

WINDOW_MESSAGES: Final = 50
"""Messages from the beginning, and from the end, that a title is made from (engine reference 3.6)."""
SetTitle = Callable[[ChatId, str], Awaitable[bool]]
"""Keeps a generated title; False where a person has given one, or the chat is gone."""


class TitleMaker:
    """Names chats. Methods raise StoreUnavailable when the database is out of reach."""

    def __init__(
        self, *, brains: Brains, rows: ChatRows, side: SideWorkRows, set_title: SetTitle
    ) -> None:
        self._brains = brains
        self._rows = rows
        self._side = side
        self._set_title = set_title

    async def name_new(self, chat: SideChat) -> None:
        """Name a chat in which one thing was said and nobody has given it a title."""
        view = await self._rows.read_chat(chat.chat_id)
        if view is None or view.archived:
            return
        question = first_question(
            await self._rows.read_messages(chat.chat_id, limit=WINDOW_MESSAGES)
        )
        if question is not None and view.title in (None, fallback_title(question)):
            await self._name(chat, question)

    async def name_anew(self, chat: SideChat) -> None:
        """Name a chat after all that was said, since somebody has asked for it."""
        view = await self._rows.read_chat(chat.chat_id)
        if view is None or view.archived:
            return
        first = await self._rows.read_messages(
            chat.chat_id, after=MessageId(0), limit=WINDOW_MESSAGES
        )
        last = await self._rows.read_messages(chat.chat_id, limit=WINDOW_MESSAGES)
        known = {message.id for message in first}
        said = conversation([*first, *(m for m in last if m.id not in known)])
        if said:
            await self._name(chat, said)

    async def _name(self, chat: SideChat, said: str) -> None:
        answer = await ask_for_chat(
            self._brains,
            self._side,
            chat,
            SideCall.TITLE,
            instruction=INSTRUCTION,
            text=said,
            max_output_tokens=TOKENS_MAX,
        )
        if answer is None:
            return
        title = title_of(answer)
        if title is None:
            extra = {"action": "title_unfit", "chat_id": str(chat.chat_id)}
            log.info("What the model said is no title.", extra=extra)
            return
        await self._set_title(chat.chat_id, title)
