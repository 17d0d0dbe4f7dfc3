"""Work beside the turns: titles of new chats, titles that were asked for, words of notifications.

Theory of operation. A turn never waits for any of it and never learns that it failed. Titles of new
chats are offered by the worker and kept in memory: one that is lost with its process is made when the
chat is taken over, or never, and then the first words stand. What people have asked for and what owners
are to be told is in the database; any replica takes it by a claim that ends by itself.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final
from uuid import uuid4

from engine.chat.ids import ChatId
from engine.chat.snapshot import ChatStatus
from engine.store.errors import StoreUnavailable
from engine.store.leases import AcquiredChat
from engine.store.notifications import Notifications
from engine.store.side_chat import SideChat
from engine.store.side_work import SideWorkRows
from engine.worker.notice_work import NoticeMaker
from engine.worker.title_work import TitleMaker

log = logging.getLogger(__name__)

AT_ONCE: Final = 4
"""Titles of new chats, titles that were asked for, and notifications, of each so many at a time."""
TITLES_WAITING_MAX: Final = 1000
"""New chats that wait for a title. What is more keeps its first words."""
CLAIM_SECONDS: Final = 60.0
"""How long nobody else looks at what was claimed: a side request takes half of that at most."""
FIRST_HISTORY: Final = 1
"""The history version of a chat in which nothing has happened but its creation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SidePace:
    """How often side work is looked for, and whether new chats are named by a model."""

    poll_seconds: float = 2.0
    makes_titles: bool = True


class SideWork:
    """Runs until it is cancelled. Whatever goes wrong in it is logged and harms nobody."""

    def __init__(
        self,
        *,
        titles: TitleMaker,
        notices: NoticeMaker,
        side: SideWorkRows,
        notifications: Notifications,
        pace: SidePace,
    ) -> None:
        self._titles = titles
        self._notices = notices
        self._side = side
        self._notifications = notifications
        self._pace = pace
        self._new_chats: asyncio.Queue[SideChat] = asyncio.Queue(TITLES_WAITING_MAX)
        # Invariant: new chats that wait or are being named, so that none is named twice at a time.
        self._offered: set[ChatId] = set()
        self._has_title_requests = asyncio.Event()
        self._has_notifications = asyncio.Event()

    def offer(self, chat: AcquiredChat) -> None:
        """Have a chat named, if it is a new one. Returns at once."""
        is_new = chat.change.history_version == FIRST_HISTORY
        is_answered = chat.change.status is ChatStatus.RUNNING
        if not (self._pace.makes_titles and is_new and is_answered) or chat.has_human_title:
            return
        if chat.chat_id in self._offered:
            return
        side_chat = SideChat(
            chat_id=chat.chat_id,
            organization_id=chat.organization_id,
            bot=chat.bot,
            model=chat.model,
            owner=chat.owner,
            records_calls=chat.records_calls,
        )
        try:
            self._new_chats.put_nowait(side_chat)
        except asyncio.QueueFull:
            extra = {"action": "title_left_out", "chat_id": str(chat.chat_id)}
            log.warning("Too many new chats wait for a title.", extra=extra)
        else:
            self._offered.add(chat.chat_id)

    async def run(self) -> None:
        """Work on what is there, again and again."""
        async with asyncio.TaskGroup() as group:
            for number in range(AT_ONCE):
                group.create_task(self._name_new_chats(), name=f"titles {number}")
            for due, work, name in (
                (self._has_title_requests, self._name_on_request, "titles on request"),
                (self._has_notifications, self._find_words, "notices"),
            ):
                group.create_task(self._whenever(due, work), name=name)
            group.create_task(self._look(), name="side work")

    async def _name_new_chats(self) -> None:
        while True:
            chat = await self._new_chats.get()
            try:
                await _harmlessly(lambda: self._titles.name_new(chat))  # noqa: B023 - awaited here
            finally:
                self._offered.discard(chat.chat_id)

    async def _look(self) -> None:
        """See again and again what there is to do; the two kinds of it do not wait for each other."""
        while True:
            await _harmlessly(self._survey)
            await asyncio.sleep(self._pace.poll_seconds)

    async def _survey(self) -> None:
        survey = await self._side.survey()
        if survey.has_title_requests:
            self._has_title_requests.set()
        if survey.has_notifications:
            self._has_notifications.set()

    async def _whenever(self, due: asyncio.Event, work: Callable[[], Awaitable[bool]]) -> None:
        """Work when there is something to do, and again at once after a full round."""
        while True:
            await due.wait()
            due.clear()
            while await _harmlessly(work):
                pass

    async def _name_on_request(self) -> bool:
        claim = uuid4()
        chats = await self._side.claim_title_requests(claim, AT_ONCE, CLAIM_SECONDS)

        async def name(chat: SideChat) -> None:
            await self._titles.name_anew(chat)
            await self._side.finish_title_request(chat.chat_id, claim)

        async with asyncio.TaskGroup() as group:
            for chat in chats:
                group.create_task(_run_harmlessly(name(chat)))
        return len(chats) == AT_ONCE

    async def _find_words(self) -> bool:
        claim = uuid4()
        items = await self._notifications.claim_new(claim, AT_ONCE, CLAIM_SECONDS)
        async with asyncio.TaskGroup() as group:
            for item in items:
                group.create_task(_run_harmlessly(self._notices.find_words(item, claim)))
        return len(items) == AT_ONCE


async def _harmlessly(work: Callable[[], Awaitable[bool | None]]) -> bool:
    """What the work says; False where it fails, which is logged."""
    try:
        return bool(await work())
    except StoreUnavailable as error:
        log.warning("The database is away: %s", error, extra={"action": "store_away"})
    except Exception:
        log.exception("Side work failed.", extra={"action": "side_work_failed"})
    return False


async def _run_harmlessly(work: Awaitable[None]) -> None:
    await _harmlessly(lambda: work)
