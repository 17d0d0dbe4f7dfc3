"""One delivery's pages: what the ledger says of them, and what has been shown since.

Every write is made around a call to the platform, under the delivery's fence: attempted before a post,
delivered after it. Drafts are noted as such once and then edited without writing, since whoever comes
next makes them final anyway. A refused write means that another replica has the delivery.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import TypeVar
from uuid import UUID

from adapters.delivery.delivery_plan import (
    DRAFT_HASH,
    GONE_HASH,
    KnownPage,
    PageState,
    nonce_of,
)
from adapters.delivery.patience import patiently
from adapters.delivery.reply_items import ItemKey
from engine.api import Delivery, Engine, Receipt, ReceiptState

Answer = TypeVar("Answer")
PageId = tuple[ItemKey, int]


class LeaseLost(Exception):
    """Another replica delivers this now. Stop at once."""


class PageLedger:
    """The pages of one delivery, in memory and in the database."""

    __slots__ = ("_attempted_at", "_delivery", "_engine", "_pages", "_patience_seconds")

    def __init__(self, engine: Engine, delivery: Delivery, *, patience_seconds: float) -> None:
        self._engine = engine
        self._delivery = delivery
        self._patience_seconds = patience_seconds
        self._pages: dict[PageId, KnownPage] = {}
        self._attempted_at: dict[PageId, datetime] = {}

    @property
    def pages(self) -> Mapping[PageId, KnownPage]:
        """All pages that were ever attempted and not taken back."""
        return self._pages

    def nonce(self, key: ItemKey, page: int) -> UUID:
        """The mark of a page on the platform."""
        return nonce_of(self._delivery.id, key, page)

    def attempted_at(self, key: ItemKey, page: int) -> datetime | None:
        """When the page was first attempted, by whoever it was; None where nobody has noted it."""
        return self._attempted_at.get((key, page))

    async def load(self) -> None:
        """Read what earlier owners left."""
        receipts = await self._ask(lambda: self._engine.receipts.list_receipts(self._delivery.id))
        for receipt in receipts:
            page = _page_of(receipt)
            if page is not None:
                self._pages[page.key, page.page] = page
                if receipt.attempted_at is not None:
                    self._attempted_at[page.key, page.page] = receipt.attempted_at

    async def attempt(
        self, key: ItemKey, page: int, content_hash: str, *, is_streamed: bool = False
    ) -> None:
        """Note that the page is about to be posted. After this its fate is unknown."""
        self._attempted_at.setdefault((key, page), datetime.now(UTC))
        await self._fenced(
            lambda: self._engine.receipts.put_attempt(
                self._delivery.id,
                self._delivery.fence,
                str(key),
                page,
                nonce=self.nonce(key, page),
                content_hash=content_hash,
                is_streamed=is_streamed,
            )
        )
        self._pages[key, page] = KnownPage(
            key=key, page=page, state=PageState.UNKNOWN, is_streamed=is_streamed
        )

    def not_posted(self, key: ItemKey, page: int) -> None:
        """The platform says that the page was not posted, or does not have it."""
        self._pages[key, page] = KnownPage(key=key, page=page, state=PageState.ABSENT)

    async def posted(
        self, key: ItemKey, page: int, message_id: str, content_hash: str, *, is_draft: bool
    ) -> None:
        """Note that the page is there, showing this."""
        self._pages[key, page] = KnownPage(
            key=key,
            page=page,
            state=PageState.SHOWN,
            message_id=message_id,
            content_hash=content_hash,
        )
        await self._deliver(key, page, message_id, DRAFT_HASH if is_draft else content_hash)
        if not is_draft:
            self._is_sealed(key, page)

    async def unseal(self, key: ItemKey, page: int) -> None:
        """Before a final page becomes a draft again: whoever comes next must look at it."""
        known = self._pages[key, page]
        if known.is_sealed and known.message_id is not None:
            await self._deliver(key, page, known.message_id, DRAFT_HASH)
            self._pages[key, page] = replace(known, is_sealed=False)

    def shows(self, key: ItemKey, page: int, content_hash: str) -> None:
        """The page has been edited to show this."""
        self._pages[key, page] = replace(
            self._pages[key, page], content_hash=content_hash, is_sealed=False
        )

    def may_show_anything(self, key: ItemKey, page: int) -> None:
        """An edit may or may not have arrived."""
        self.shows(key, page, DRAFT_HASH)

    def cut(self, key: ItemKey, page: int, at: int) -> None:
        """End the page where its item has so many characters; the next write notes it."""
        self._pages[key, page] = replace(self._pages[key, page], cut_at=at)

    async def seal(self, key: ItemKey, page: int, content_hash: str) -> None:
        """Note that what is shown is final."""
        message_id = self._pages[key, page].message_id
        if message_id is not None:
            await self._deliver(key, page, message_id, content_hash)
            self._is_sealed(key, page)

    def _is_sealed(self, key: ItemKey, page: int) -> None:
        """The ledger holds what is shown."""
        self._pages[key, page] = replace(self._pages[key, page], is_sealed=True)

    async def gone(self, key: ItemKey, page: int) -> None:
        """People deleted the page; it is left alone from now on."""
        known = self._pages[key, page]
        if known.message_id is not None:
            await self._deliver(key, page, known.message_id, GONE_HASH)
        self._pages[key, page] = replace(known, state=PageState.GONE)

    async def taken_back(self, key: ItemKey, page: int) -> None:
        """The page was deleted by us and may be posted anew."""
        await self._fenced(
            lambda: self._engine.receipts.mark_deleted(
                self._delivery.id, self._delivery.fence, str(key), page
            )
        )
        self._pages.pop((key, page), None)

    async def _deliver(self, key: ItemKey, page: int, message_id: str, content_hash: str) -> None:
        await self._fenced(
            lambda: self._engine.receipts.put_delivered(
                self._delivery.id,
                self._delivery.fence,
                str(key),
                page,
                platform_message_id=message_id,
                content_hash=content_hash,
                cut_at=self._pages[key, page].cut_at,
            )
        )

    async def _fenced(self, write: Callable[[], Awaitable[bool]]) -> None:
        if not await self._ask(write):
            raise LeaseLost

    async def _ask(self, call: Callable[[], Awaitable[Answer]]) -> Answer:
        return await patiently(call, seconds=self._patience_seconds)


def _page_of(receipt: Receipt) -> KnownPage | None:
    key = ItemKey.parse(receipt.item_key)
    if key is None or receipt.state in (ReceiptState.DELETED, ReceiptState.PENDING):
        return None
    if receipt.state is ReceiptState.ATTEMPTING or receipt.platform_message_id is None:
        # An id that is there all the same is of a page that was taken back before.
        return KnownPage(
            key=key,
            page=receipt.page,
            state=PageState.UNKNOWN,
            is_streamed=receipt.is_streamed,
        )
    is_gone = receipt.content_hash == GONE_HASH
    return KnownPage(
        key=key,
        page=receipt.page,
        state=PageState.GONE if is_gone else PageState.SHOWN,
        message_id=receipt.platform_message_id,
        content_hash=receipt.content_hash or DRAFT_HASH,
        is_sealed=bool(receipt.content_hash),
        is_streamed=receipt.is_streamed,
        cut_at=receipt.cut_at,
    )
