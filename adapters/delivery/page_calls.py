"""The calls by which a thread is made to show its pages, with what the ledger must hear of each.

Each call is made at most once, and its outcome is noted before anything else is done. Raises SurfaceErrors
for the delivery to make sense of, after what is sure about the page has been noted.
"""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import assert_never

from adapters.contract import Document, MessageRef, Outgoing, Place, Surface
from adapters.delivery.delivery_plan import Delete, Edit, LookUp, Post, Seal
from adapters.delivery.pacing import EditPacer, Wait
from adapters.delivery.page_ledger import PageLedger
from adapters.delivery.reply_items import ItemKey
from adapters.delivery.reply_streams import ReplyStreams
from adapters.delivery.stream_operations import AnyOperation, Finish, Grow, Start
from adapters.delivery.wanted_thread import WantedThread
from adapters.errors import Gone, StillStreaming, SurfaceError, Unavailable
from engine.chat.files import StoredFile
from engine.chat.ids import FileId

logger = logging.getLogger(__name__)

ReadFile = Callable[[FileId], Awaitable[StoredFile | None]]

LOOK_UP_AGAIN_SECONDS = 1.0
"""A post that is not found may still be on its way: it is looked up twice, this far apart."""


class PageCalls:
    """Posts, edits, deletes and finds the pages of one delivery."""

    def __init__(
        self,
        surface: Surface,
        place: Place,
        *,
        ledger: PageLedger,
        wanted: WantedThread,
        streams: ReplyStreams,
        read_file: ReadFile,
        clock: Callable[[], float],
    ) -> None:
        self._surface = surface
        self._place = place
        self._ledger = ledger
        self._wanted = wanted
        self._streams = streams
        self._read_file = read_file
        self._clock = clock
        self._pacer = EditPacer(interval_ms_min=surface.limits.edit_interval_ms_min)
        self._pacers: dict[str, EditPacer] = {}
        self._look_ups: dict[tuple[ItemKey, int], float] = {}

    def edit_due_at(self, edit: Edit, now: float) -> float:
        """When a page may be edited again."""
        wanted = self._wanted.page(edit.key, edit.page).content_hash
        pacer = self._pacers.get(edit.message_id, self._pacer)
        pace = pacer.decide(now=now, wanted=wanted, final=edit.is_final)
        return now + pace.seconds if isinstance(pace, Wait) else now

    def look_up_due_at(self, look_up: LookUp, now: float) -> float:
        """When it makes sense to look for a page, again or for the first time."""
        return self._look_ups.get((look_up.key, look_up.page), now)

    async def make(self, operation: AnyOperation) -> None:
        """Do what the plan says."""
        match operation:
            case Start() | Grow() | Finish():
                await self._streams.carry_out(operation)
            case Post():
                await self._post(operation)
            case Edit():
                await self._edit(operation)
            case Delete():
                await self._delete(operation)
            case LookUp():
                await self._look_up(operation)
            case Seal(key=key, page=page, content_hash=content_hash):
                await self._ledger.seal(key, page, content_hash)
            case _:
                assert_never(operation)

    async def _post(self, operation: Post) -> None:
        key, page = operation.key, operation.page
        wanted = self._wanted.page(key, page)
        outgoing = await self._with_bytes(wanted.outgoing)
        await self._ledger.attempt(key, page, wanted.content_hash)
        try:
            message_id = await self._surface.post(
                self._place, outgoing, self._ledger.nonce(key, page)
            )
        except SurfaceError as error:
            if not (isinstance(error, Unavailable) and error.outcome_unknown):
                self._ledger.not_posted(key, page)
            raise
        shown = wanted.content_hash
        self._pacers[message_id] = self._pacer.edited(now=self._clock(), shown=shown)
        await self._ledger.posted(key, page, message_id, shown, is_draft=wanted.is_draft)

    async def _with_bytes(self, outgoing: Outgoing) -> Outgoing:
        """The same, a stored file with what it holds; what is said instead where it is gone."""
        if not isinstance(outgoing, Document) or outgoing.file_id is None:
            return outgoing
        stored = await self._read_file(outgoing.file_id)
        return outgoing.instead if stored is None else replace(outgoing, data=stored.data)

    async def _edit(self, operation: Edit) -> None:
        key, page = operation.key, operation.page
        wanted = self._wanted.page(key, page)
        if wanted.is_draft:
            await self._ledger.unseal(key, page)
        ref = MessageRef(place=self._place, message_id=operation.message_id)
        self._pacers[operation.message_id] = self._pacer.failed(now=self._clock())
        try:
            await self._surface.edit(ref, wanted.outgoing)
        except Gone:
            await self._ledger.gone(key, page)
            return
        except StillStreaming:
            self._streams.adopt(operation.message_id)
            raise
        except Unavailable:
            self._ledger.may_show_anything(key, page)
            raise
        self._ledger.shows(key, page, wanted.content_hash)
        # The distance to the next edit is kept from the answer on, so that the platform sees it too.
        shown = self._pacer.edited(now=self._clock(), shown=wanted.content_hash)
        self._pacers[operation.message_id] = shown
        if not wanted.is_draft:
            self._pacers.pop(operation.message_id, None)
            await self._ledger.seal(key, page, wanted.content_hash)

    async def _delete(self, operation: Delete) -> None:
        ref = MessageRef(place=self._place, message_id=operation.message_id)
        try:
            await self._surface.delete(ref)
        except Gone:
            logger.debug("page already gone", extra={"action": "page_already_gone"})
        await self._ledger.taken_back(operation.key, operation.page)

    async def _look_up(self, operation: LookUp) -> None:
        key, page = operation.key, operation.page
        message_id = await self._surface.find(
            self._place,
            self._ledger.nonce(key, page),
            since=self._ledger.attempted_at(key, page),
        )
        message_id = message_id or await self._streams.find(key, page)
        if message_id is not None:
            self._look_ups.pop((key, page), None)
            await self._ledger.posted(key, page, message_id, "", is_draft=True)
        elif (key, page) in self._look_ups:
            self._look_ups.pop((key, page))
            self._ledger.not_posted(key, page)
        else:
            self._look_ups[key, page] = self._clock() + LOOK_UP_AGAIN_SECONDS
