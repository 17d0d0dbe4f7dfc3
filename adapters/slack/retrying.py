"""Answering the last question of a thread anew, when somebody reacts for it."""

from typing import Final

from adapters.slack.desk import Desk
from adapters.slack.translate import Retry
from engine.chat.commands import EditMessage
from engine.chat.content import Message, Role
from engine.chat.decision import Refusal
from engine.chat.ids import ChatId, MessageId
from engine.chat.view import ShownStatus

_AT_REST: Final = (ShownStatus.WAITING, ShownStatus.ERROR)
_NEWEST: Final = MessageId(2**62)
_LOOKED_BACK_MAX: Final = 100
STILL_BUSY: Final = "I am still at it. Stop me first, then I begin anew."


class Retrying:
    """Retries of one workspace."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def retry(self, retry: Retry) -> None:
        """Run the last turn again, for whoever asked it. While it runs nothing is begun."""
        binding = await self._desk.binding_around(retry.channel, retry.message_ts)
        if binding is None:
            return
        thread = binding.thread.thread
        chat = await self._desk.engine.read_chat(binding.chat_id)
        if chat is None:
            return
        if chat.status not in _AT_REST:
            await self._desk.tell(retry.channel, thread, retry.user_id, STILL_BUSY)
            return
        last = await self._last_question(binding.chat_id)
        if last is None:
            return
        command = EditMessage(message_id=last.id, content=last.content, author=last.author)
        outcome = await self._desk.submit(binding.chat_id, command)
        if isinstance(outcome, Refusal):
            await self._desk.explain(outcome, retry.channel, thread, retry.user_id)

    async def _last_question(self, chat_id: ChatId) -> Message | None:
        read = await self._desk.engine.read_messages(
            chat_id, before=_NEWEST, limit=_LOOKED_BACK_MAX
        )
        asked = (message for message in reversed(read) if message.role is Role.USER)
        return next(asked, None)
