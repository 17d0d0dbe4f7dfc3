"""The pages of one delivery that are streamed: which are, how far they are, and what is done about them.

Theory of operation. A page that begins while its text still grows is begun as a stream, where the platform
lets us. As long as we know a stream to be open, its edits become growth, and its end closes it. Whatever goes
wrong, the stream is let go of and edits show what there is to show: the page is a draft in the ledger all
the while, so this holds for whoever comes next as well. An edit that is refused since the message is still
being streamed tells of a stream that somebody else has left open: it is closed first.
"""

import logging
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import assert_never

from adapters.contract import Growth, MessageRef, Page, Place, Streaming
from adapters.delivery.delivery_plan import DRAFT_HASH, Delete, Edit, Operation, Post
from adapters.delivery.page_breaks import FULL_ENOUGH, break_in
from adapters.delivery.page_ledger import PageLedger
from adapters.delivery.plain_text import clean
from adapters.delivery.reply_items import ItemKey, ReplyItem
from adapters.delivery.reply_view import ReplyView
from adapters.delivery.stream_operations import AnyOperation, Finish, Grow, Start, StreamOperation
from adapters.delivery.stream_plan import (
    NOTHING,
    Append,
    Close,
    Forget,
    Idle,
    OpenStream,
    Step,
    StreamedPage,
    beginning,
    fullness,
    grown,
    next_step,
)
from adapters.delivery.wanted_thread import PageToSend, WantedThread
from adapters.errors import (
    Gone,
    MessageTooLong,
    RateLimited,
    StreamOver,
    StreamRefused,
    SurfaceError,
    Unavailable,
)

logger = logging.getLogger(__name__)

NEVER = float("inf")


class ReplyStreams:
    """The streams of one delivery. Without `streaming` there are none."""

    def __init__(
        self,
        streaming: Streaming | None,
        place: Place,
        *,
        ledger: PageLedger,
        wanted: WantedThread,
        clock: Callable[[], float],
    ) -> None:
        self._streaming = streaming
        self._place = place
        self._ledger = ledger
        self._wanted = wanted
        self._clock = clock
        self._open: dict[str, OpenStream] = {}
        # How much of its item's text there was when a stream last grew.
        self._source_at: dict[str, int] = {}
        # Replies that go on by edits, and those that a person has stopped.
        self._edited: set[ItemKey] = set()
        self._stopped: set[ItemKey] = set()
        # Cards that an earlier page of their reply has brought to their end.
        self._ended: dict[ItemKey, set[str]] = {}
        self._lengths: dict[ItemKey, int] = {}
        self.idle_until = NEVER

    # -- planning --------------------------------------------------------------------------------

    def end_full_pages(self, view: ReplyView) -> None:
        """End pages that are nearly full where a good place has come, before they are planned."""
        items = {item.key: item for item in view.items if isinstance(item, ReplyItem)}
        self._lengths = {key: len(item.markdown) for key, item in items.items()}
        for (key, page), known in tuple(self._ledger.pages.items()):
            stream = self._open.get(known.message_id or "")
            item = items.get(key)
            if stream is None or item is None or known.cut_at is not None:
                continue
            full = self._fullness(key, page, stream)
            if item.is_growing and full >= FULL_ENOUGH:
                text = clean(item.markdown, final=False)
                after = self._source_at.get(stream.message_id, 0)
                at = break_in(text, after=after, fullness=full)
                if at is not None:
                    self._ledger.cut(key, page, at)

    async def translate(self, operations: Iterable[Operation]) -> tuple[AnyOperation, ...]:
        """The same plan, with growth in place of posts and edits where pages are streamed.

        What a stream has nothing to send for is left out; `idle_until` tells when to look again.
        """
        self.idle_until = NEVER
        now = self._clock()
        found = [await self._translated(operation, now) for operation in operations]
        return tuple(operation for operation in found if operation is not None)

    @property
    def is_waiting(self) -> bool:
        """Whether a stream must be waited for, although nothing more comes of the chat."""
        return self.idle_until < NEVER

    def decline(self, key: ItemKey) -> None:
        """Go on with a reply by edits."""
        self._edited.add(key)

    async def _translated(self, operation: Operation, now: float) -> AnyOperation | None:
        match operation:
            case Edit(key=key, page=page) | Post(key=key, page=page) if (
                key in self._stopped and self._wanted.is_draft(key, page)
            ):
                # It says nothing more before it is known how far it came.
                return None
            case Post(key=key, page=page) if await self._may_begin(key, page):
                return Start(key=key, page=page)
            case Edit(message_id=message_id) if message_id in self._open:
                return self._of_open(operation, self._open[message_id], now)
            case Delete(key=key, page=page, message_id=message_id) if message_id in self._open:
                return Finish(
                    key=key, page=page, message_id=message_id, growth=NOTHING, is_whole=False
                )
            case _:
                return operation

    async def _may_begin(self, key: ItemKey, page: int) -> bool:
        wanted = self._wanted.page(key, page)
        if self._streaming is None or key in self._edited or not wanted.is_draft:
            return False
        streamed = self._page(key, wanted)
        if streamed is None or beginning(streamed, self._streaming.limits) == NOTHING:
            return False
        if not await self._streaming.is_possible(self._place, streamed.reader):
            self.decline(key)
            return False
        return True

    def _of_open(self, edit: Edit, stream: OpenStream, now: float) -> AnyOperation | None:
        wanted = self._wanted.page(edit.key, edit.page)
        page, streaming = self._page(edit.key, wanted), self._required()
        if page is None:
            step: Step = Close(growth=NOTHING, is_whole=False)
        else:
            step = next_step(
                stream, page, is_draft=wanted.is_draft, now=now, limits=streaming.limits
            )
        match step:
            case Append(growth=growth, due_at=due_at):
                return Grow(
                    key=edit.key,
                    page=edit.page,
                    message_id=edit.message_id,
                    growth=growth,
                    due_at=due_at,
                    is_final=edit.is_final,
                )
            case Close(growth=growth, is_whole=is_whole):
                return Finish(
                    key=edit.key,
                    page=edit.page,
                    message_id=edit.message_id,
                    growth=growth,
                    is_whole=is_whole,
                )
            case Forget():
                self._let_go(edit.message_id)
                return edit
            case Idle(until=until):
                self.idle_until = min(self.idle_until, until)
                return None
        assert_never(step)

    def _page(self, key: ItemKey, wanted: PageToSend) -> StreamedPage | None:
        """The page without the cards that have come to their end before."""
        page = wanted.streamed
        ended = self._ended.get(key)
        if page is None or not ended:
            return page
        return replace(page, tasks=tuple(card for card in page.tasks if card.id not in ended))

    def _fullness(self, key: ItemKey, page: int, stream: OpenStream) -> float:
        if self._streaming is None or not self._wanted.is_draft(key, page):
            return 0.0
        full = fullness(stream, now=self._clock(), limits=self._streaming.limits)
        return max(full, self._wanted.filled_share(key, page))

    # -- calling ---------------------------------------------------------------------------------

    async def carry_out(self, operation: StreamOperation) -> None:
        """Do what the plan says, and note what came of it."""
        match operation:
            case Start():
                await self._start(operation)
            case Grow():
                await self._grow(operation)
            case Finish():
                await self._finish(operation)
            case _:
                assert_never(operation)

    async def _start(self, operation: Start) -> None:
        """Begin a page as a stream; where that is refused, its reply goes on by edits."""
        key, page = operation.key, operation.page
        wanted = self._wanted.page(key, page)
        streamed = self._page(key, wanted)
        if self._streaming is None or streamed is None:
            raise ValueError("only a page that may be streamed is started")
        growth = beginning(streamed, self._streaming.limits)
        await self._ledger.attempt(key, page, wanted.content_hash, is_streamed=True)
        try:
            message_id = await self._streaming.start(self._place, growth, streamed.reader)
        except SurfaceError as error:
            if not (isinstance(error, Unavailable) and error.outcome_unknown):
                self._ledger.not_posted(key, page)
            self.decline(key)
            if isinstance(error, StreamRefused):
                logger.info(
                    "no stream", extra={"action": "delivery_stream_refused", "code": error.code}
                )
                return
            raise
        now = self._clock()
        stream = OpenStream(message_id=message_id, started_at=now, sent_at=now)
        self._has_grown(key, stream, growth, now)
        await self._ledger.posted(key, page, message_id, DRAFT_HASH, is_draft=True)

    async def _grow(self, operation: Grow) -> None:
        """Let a page grow. What cannot be shown so is left to an edit."""
        stream, streaming = self._open[operation.message_id], self._required()
        try:
            await streaming.append(self._ref(operation.message_id), operation.growth)
        except (RateLimited, StreamOver, Gone) as error:
            await self._lost(operation, error)
        except Unavailable as error:
            if error.outcome_unknown:
                self._open[stream.message_id] = replace(stream, is_doubtful=True)
            raise
        except SurfaceError as error:
            self._log(error)
            self._open[stream.message_id] = replace(stream, is_doubtful=True)
        else:
            self._has_grown(operation.key, stream, operation.growth, self._clock())

    async def _finish(self, operation: Finish) -> None:
        """Close a page's stream; a page that is whole then is sealed."""
        message_id, key, page = operation.message_id, operation.key, operation.page
        nonce = self._ledger.nonce(key, page)
        growth, is_whole = self._with_ending(operation)
        try:
            await self._required().close(self._ref(message_id), growth, nonce)
        except (RateLimited, StreamOver, Gone) as error:
            await self._lost(operation, error)
            return
        except Unavailable as error:
            if error.outcome_unknown:
                # An edit will tell whether it is still open.
                self._let_go(message_id)
            raise
        except SurfaceError as error:
            self._log(error)
            self._could_not_close(operation, is_too_long=isinstance(error, MessageTooLong))
            return
        self._let_go(message_id)
        if is_whole:
            content_hash = self._wanted.page(key, page).content_hash
            self._ledger.shows(key, page, content_hash)
            await self._ledger.seal(key, page, content_hash)

    def _with_ending(self, operation: Finish) -> tuple[Growth, bool]:
        """The last growth with what stands below the page, and whether the page is whole then."""
        if not operation.is_whole:
            return operation.growth, False
        outgoing = self._wanted.page(operation.key, operation.page).outgoing
        rates = outgoing.rates if isinstance(outgoing, Page) else None
        if rates is not None and self._open[operation.message_id].closes_bare:
            # It may have been that which was refused; an edit adds it.
            return operation.growth, False
        return replace(operation.growth, rates=rates), True

    def adopt(self, message_id: str) -> None:
        """A message is being streamed that we thought was not: it is closed before it is edited."""
        now = self._clock()
        self._open[message_id] = OpenStream(
            message_id=message_id, started_at=now, sent_at=now, is_doubtful=True
        )

    async def find(self, key: ItemKey, page: int) -> str | None:
        """The message that a page was begun as, when it is not known whether it arrived."""
        if self._streaming is None or not self._ledger.pages[key, page].is_streamed:
            return None
        since = self._ledger.attempted_at(key, page)
        if since is None:
            return None
        known = {one.message_id for one in self._ledger.pages.values() if one.message_id}
        return await self._streaming.find(self._place, since=since, known=known)

    # -- keeping ---------------------------------------------------------------------------------

    def _has_grown(self, key: ItemKey, stream: OpenStream, growth: Growth, now: float) -> None:
        self._open[stream.message_id] = grown(stream, growth, now=now)
        self._source_at[stream.message_id] = self._lengths.get(key, 0)
        over = {card.id for card in growth.tasks if card.is_over}
        if over:
            self._ended.setdefault(key, set()).update(over)

    async def _lost(self, operation: Grow | Finish, error: RateLimited | StreamOver | Gone) -> None:
        """Let go of a stream that is none any more; raises what the delivery must know of."""
        match error:
            case Gone():
                self._let_go(operation.message_id)
                await self._ledger.gone(operation.key, operation.page)
                return
            case StreamOver(by_person=by_person):
                self._let_go(operation.message_id)
                if by_person:
                    self._stopped.add(operation.key)
        raise error

    def _could_not_close(self, operation: Finish, *, is_too_long: bool) -> None:
        stream = self._open[operation.message_id]
        if is_too_long and operation.growth != NOTHING:
            stream = replace(stream, is_doubtful=True)
        elif stream.closes_bare or stream.is_doubtful:
            stream = replace(stream, is_unclosable=True)
        else:
            stream = replace(stream, closes_bare=True)
        self._open[operation.message_id] = stream

    def _let_go(self, message_id: str) -> None:
        self._open.pop(message_id, None)
        self._source_at.pop(message_id, None)

    def _required(self) -> Streaming:
        if self._streaming is None:
            raise ValueError("nothing is streamed here")
        return self._streaming

    def _ref(self, message_id: str) -> MessageRef:
        return MessageRef(place=self._place, message_id=message_id)

    @staticmethod
    def _log(error: SurfaceError) -> None:
        logger.info(
            "a stream took no more",
            extra={"action": "delivery_stream_failed", "code": error.code},
        )
