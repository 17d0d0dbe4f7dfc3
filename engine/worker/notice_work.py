"""Finds the words of one notification: a model's sentence, the error's, or the question itself."""

from collections.abc import Callable
from typing import Final, assert_never
from uuid import UUID

from engine.agent import notices
from engine.agent.brain import Brains
from engine.chat.notification import NotificationKind
from engine.chat.snapshot import Executor
from engine.store.notifications import Notifications, WordlessNotification
from engine.store.rows import ChatRows
from engine.store.side_work import SideCall, SideWorkRows
from engine.worker.side_request import ask_for_chat

_MESSAGES_LOOKED_AT: Final = 50
WantsNotice = Callable[[str], bool]
"""Whether anybody would be told of chats in this channel (platform:installation:channel)."""


class NoticeMaker:
    """Finds words. Methods raise StoreUnavailable when the database is out of reach."""

    def __init__(
        self,
        *,
        brains: Brains,
        rows: ChatRows,
        side: SideWorkRows,
        notifications: Notifications,
        is_wanted: WantsNotice,
    ) -> None:
        self._brains = brains
        self._rows = rows
        self._side = side
        self._notifications = notifications
        self._is_wanted = is_wanted

    async def find_words(self, item: WordlessNotification, claim: UUID) -> None:
        """Make it ready to be sent, or drop it where there is nobody or nothing to tell any more."""
        words = await self._words(item) if self._is_wanted(item.channel) else None
        if words is None:
            await self._notifications.mark_dropped(item.id, claim)
        else:
            await self._notifications.put_text(item.id, claim, words)

    async def _words(self, item: WordlessNotification) -> str | None:
        match item.kind:
            case NotificationKind.FINISHED:
                return await self._sum_up(item)
            case NotificationKind.FAILED:
                view = await self._rows.read_chat(item.chat.chat_id)
                if view is None or view.last_error is None:
                    # Somebody has spoken since, and knows.
                    return None
                return notices.notice_of(view.last_error.message, notices.FAILED)
            case NotificationKind.NEEDS_ANSWER:
                return await self._question(item)
            case _:
                assert_never(item.kind)

    async def _sum_up(self, item: WordlessNotification) -> str:
        if item.attempts > 1:
            # Whoever had it before may have asked already, and nobody pays for it twice.
            return notices.FINISHED
        messages = await self._rows.read_messages(item.chat.chat_id, limit=_MESSAGES_LOOKED_AT)
        said = notices.last_answer(messages, item.history_version)
        if not said:
            return notices.FINISHED
        sentence = await ask_for_chat(
            self._brains,
            self._side,
            item.chat,
            SideCall.SUMMARY,
            instruction=notices.INSTRUCTION,
            text=said,
            max_output_tokens=notices.TOKENS_MAX,
        )
        return notices.notice_of(sentence or "", notices.FINISHED)

    async def _question(self, item: WordlessNotification) -> str | None:
        """What people are asked; None once it is answered."""
        actions = await self._rows.read_actions(item.chat.chat_id)
        asked = [action for action in actions if action.executor is Executor.PEOPLE]
        if not asked:
            return None
        form = asked[0].form
        return notices.notice_of(form.question if form else "", notices.ASKS)
