"""One delivery from claim to settlement: makes a thread show its chat, whatever it shows now.

Theory of operation. The deliverer follows the chat, works out what the thread should show, and does the
next thing of the plan that may be done now; then it looks again. So what is sent is always the newest,
and there is never more than one call in flight for a thread. Between two edits it looks at the chat only
now and then: parts cost nothing until they are shown. It stops when everything is shown and the chat
rests, when it is told to, or at once when another replica has taken the delivery over.
"""

import asyncio
import logging
from collections.abc import Callable
from enum import StrEnum
from typing import assert_never

from adapters.contract import Place, Surface
from adapters.delivery.call_gates import APPEND, FIND
from adapters.delivery.call_line import CallLine
from adapters.delivery.call_times import CallTimes
from adapters.delivery.chat_watch import ChatWatch
from adapters.delivery.delivery_plan import Delete, Edit, LookUp, Post, Seal
from adapters.delivery.operation_calls import method_of
from adapters.delivery.page_calls import PageCalls
from adapters.delivery.page_ledger import LeaseLost, PageLedger
from adapters.delivery.page_pieces import Renderer
from adapters.delivery.patience import patiently
from adapters.delivery.reply_streams import ReplyStreams
from adapters.delivery.reply_view import ReplyView
from adapters.delivery.stream_operations import AnyOperation, Finish, Grow, Start
from adapters.delivery.thread_status import OnStatus, StatusTeller
from adapters.delivery.wakeup import Wakeup
from adapters.delivery.wanted_thread import WantedThread
from adapters.errors import (
    Denied,
    FilesRefused,
    Gone,
    MessageTooLong,
    RateLimited,
    StreamOver,
    SurfaceError,
)
from engine.api import Delivery, Engine
from engine.chat.commands import Interrupt
from engine.chat.files import StoredFile
from engine.chat.ids import FileId

logger = logging.getLogger(__name__)

LOOK_SECONDS = 0.2
"""How often a chat is looked at while its next edit must wait, unless its change is told of."""
HURRIED_TEXT_MAX = 200
"""Up to this long, every part of a text may be the one that can be shown first."""
ACTIVITY_SECONDS = 1.5
"""A line about tools that run is no answer: it is posted by itself only if they take this long."""
UNAVAILABLE_SECONDS_MIN = 0.5
UNAVAILABLE_SECONDS_MAX = 30.0
UNAVAILABLE_TRIES_MAX = 8
"""Failed calls in a row after which the delivery is put off."""


class Ended(StrEnum):
    """How a delivery ended."""

    SETTLED = "settled"
    DUE_AGAIN = "due_again"
    STOPPED = "stopped"


class DeliveryFailed(Exception):
    """The platform does not take it, for now. `code` is the platform's."""

    def __init__(self, code: str, *, is_denied: bool) -> None:
        super().__init__(code)
        self.code = code
        self.is_denied = is_denied


class ThreadDelivery:
    """Delivers one claimed delivery. `stop` and `nudge` may be called at any time."""

    def __init__(
        self,
        delivery: Delivery,
        *,
        engine: Engine,
        surface: Surface,
        renderer: Renderer,
        times: CallTimes,
        patience_seconds: float,
        clock: Callable[[], float],
        on_status: OnStatus | None = None,
    ) -> None:
        self.delivery = delivery
        self._engine = engine
        self._patience_seconds = patience_seconds
        self._clock = clock
        self._place = Place(
            installation=delivery.thread.installation,
            channel=delivery.thread.channel,
            thread=delivery.thread.thread,
        )
        self._status = StatusTeller(self._place, delivery.chat_id, on_status)
        self._ledger = PageLedger(engine, delivery, patience_seconds=patience_seconds)
        self._watch = ChatWatch(engine, delivery, patience_seconds=patience_seconds)
        self._wanted = WantedThread(renderer, surface.limits)
        self._streams = ReplyStreams(
            surface.streaming,
            self._place,
            ledger=self._ledger,
            wanted=self._wanted,
            clock=clock,
        )
        self._calls = PageCalls(
            surface,
            self._place,
            ledger=self._ledger,
            wanted=self._wanted,
            streams=self._streams,
            read_file=self._read_file,
            clock=clock,
        )
        self._wakeup = Wakeup()
        self._line = CallLine(
            times, self._place.installation, self._place.channel, wake=self._wakeup.ring
        )
        self._failures = 0
        self._is_stopping = False

    def nudge(self) -> None:
        """The chat has changed: look now."""
        self._wakeup.ring()

    @property
    def is_nudged(self) -> bool:
        """Whether the chat has changed since the last look."""
        return self._wakeup.is_rung

    def stop(self) -> None:
        """Let go as soon as the call in flight is over."""
        self._is_stopping = True
        self._wakeup.ring()
        self._watch.close()

    async def run(self) -> Ended:
        """Deliver until the chat rests. Raises LeaseLost, DeliveryFailed, or the store's errors."""
        try:
            await self._ledger.load()
            await self._watch.begin()
            while not self._is_stopping:
                self._status.look(self._watch.mirror)
                view = self._watch.view()
                operations = await self._plan(view)
                if operations:
                    await self._next(operations)
                elif view.is_resting and not self._streams.is_waiting:
                    return await self._settle(view)
                else:
                    await self._wait_for_change(until=self._streams.idle_until)
        finally:
            self._watch.close()
            self._line.close()
            self._status.leave()
        await self._release()
        return Ended.STOPPED

    # -- looking ---------------------------------------------------------------------------------

    async def _plan(self, view: ReplyView) -> tuple[AnyOperation, ...]:
        if self._watch.mirror.preview_lost:
            # What follows begins in mid-text: wait for the whole of it.
            return await self._streams.translate(())
        self._streams.end_full_pages(view)
        operations = self._wanted.plan(
            view, self._ledger.pages, known_from=self._watch.known_from, now=self._clock()
        )
        return await self._streams.translate(operations)

    async def _take(self) -> bool:
        self._wakeup.clear()
        return await self._watch.take()

    async def _wait_for_change(self, *, until: float) -> None:
        """Wait for something that could change what is shown; what is held back is not hurried."""
        await self._line.ask({})
        mirror = self._watch.mirror
        mirror.has_changed = False
        if len(mirror.live_text) > HURRIED_TEXT_MAX:
            await self._wait_until(self._clock() + LOOK_SECONDS)
        while not (mirror.has_changed or self._is_stopping or self._clock() >= until):
            await self._watch.wait_for_news(seconds=until - self._clock())
            await self._take()

    async def _next(self, operations: tuple[AnyOperation, ...]) -> None:
        """Do the first operation whose time has come, or wait for the first time."""
        now = self._clock()
        times = [self._due_at(operation, now) for operation in operations]
        wants: dict[str, bool] = {}
        for at, operation in zip(times, operations, strict=True):
            method = method_of(operation)
            if at <= now and method is not None:
                wants[method] = wants.get(method, False) or self._is_urgent(operation)
        allowed_at = await self._line.ask(wants)
        ready = [
            (max(at, allowed_at.get(method_of(operation) or "", at)), operation)
            for at, operation in zip(times, operations, strict=True)
        ]
        for at, operation in ready:
            if at <= now:
                await self._carry_out(operation)
                await self._take()
                return
            if isinstance(operation, Start):
                # There are few starts a minute; an edit is better than waiting for one.
                self._streams.decline(operation.key)
                return
            if isinstance(operation, Finish) and (growth := operation.without_end(now)):
                # People need not wait for the end of a stream to read all of it.
                allowed_at = await self._line.ask({**wants, APPEND: True})
                if allowed_at[APPEND] <= now:
                    await self._carry_out(growth)
                    await self._take()
                    return
        await self._wait_until(min(at for at, _ in ready))
        await self._take()

    async def _wait_until(self, moment: float) -> None:
        """Wait, but return as soon as a call is permitted, or the chat has more than new live text."""
        while (left := moment - self._clock()) > 0 and not self._is_stopping:
            await self._wakeup.wait(min(left, LOOK_SECONDS))
            if await self._take() or self._line.is_permitted:
                return

    def _due_at(self, operation: AnyOperation, now: float) -> float:
        """When an operation should be done, whether or not it may be."""
        match operation:
            case Post(key=key) | Start(key=key):
                since = self._wanted.wordless_since(key)
                return now if since is None else since + ACTIVITY_SECONDS
            case Edit():
                return self._calls.edit_due_at(operation, now)
            case LookUp():
                return self._calls.look_up_due_at(operation, now)
            case Grow(due_at=due_at):
                return due_at
            case Delete() | Seal() | Finish():
                return now
        assert_never(operation)

    def _is_urgent(self, operation: AnyOperation) -> bool:
        """Whether somebody waits for it: for all but what only shows a little more of a text."""
        match operation:
            case Post(key=key, page=page):
                return page == 0 or not self._wanted.page(key, page).is_draft
            case Edit(is_final=is_final) | Grow(is_final=is_final):
                return is_final
            case _:
                return True

    # -- doing -----------------------------------------------------------------------------------

    async def _carry_out(self, operation: AnyOperation) -> None:
        method = method_of(operation)
        if method is not None:
            self._line.spend(method)
        try:
            await self._calls.make(operation)
        except SurfaceError as error:
            await self._make_sense_of(error, method or FIND)
        else:
            self._failures = 0

    async def _make_sense_of(self, error: SurfaceError, method: str) -> None:
        """Decide how to go on after a call that failed; raises when there is no going on."""
        self._log(error, method)
        match error:
            case RateLimited(retry_after_seconds=seconds):
                await self._line.pause(method, seconds)
            case StreamOver(by_person=by_person):
                if by_person:
                    await self._engine.submit(self.delivery.chat_id, Interrupt())
            case MessageTooLong():
                if not self._wanted.use_smaller_pages():
                    raise DeliveryFailed(error.code, is_denied=True) from error
            case FilesRefused():
                self._wanted.use_no_files()
            case Denied() | Gone():
                raise DeliveryFailed(error.code, is_denied=True) from error
            case _:
                self._failures += 1
                if self._failures >= UNAVAILABLE_TRIES_MAX:
                    raise DeliveryFailed(error.code, is_denied=False) from error
                seconds = UNAVAILABLE_SECONDS_MIN * 2 ** (self._failures - 1)
                until = self._clock() + min(seconds, UNAVAILABLE_SECONDS_MAX)
                self._line.hold(method, until=until)

    async def _read_file(self, file_id: FileId) -> StoredFile | None:
        return await patiently(
            lambda: self._engine.read_file(file_id), seconds=self._patience_seconds
        )

    def _log(self, error: SurfaceError, method: str) -> None:
        logger.info(
            "platform call failed",
            extra={
                "action": "delivery_call_failed",
                "method": method,
                "code": error.code,
                "chat_id": str(self.delivery.chat_id),
                "delivery_id": self.delivery.id,
            },
        )

    # -- ending ----------------------------------------------------------------------------------

    async def settle_as_it_is(self) -> None:
        """Give up: what is shown is all that will be shown of the chat as it is now."""
        await self._settle(self._watch.view())

    async def _settle(self, view: ReplyView) -> Ended:
        delivery = self.delivery
        is_due = await patiently(
            lambda: self._engine.deliveries.settle(
                delivery.id, delivery.fence, self._watch.mirror.snapshot_version, view.finished_id
            ),
            seconds=self._patience_seconds,
        )
        if is_due is None:
            raise LeaseLost
        return Ended.DUE_AGAIN if is_due else Ended.SETTLED

    async def _release(self) -> None:
        await asyncio.shield(self._engine.deliveries.release(self.delivery.id, self.delivery.fence))
