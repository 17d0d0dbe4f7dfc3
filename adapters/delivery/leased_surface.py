"""A surface as the holder of a lease may use it: nothing is said any more once the lease may be over.

Whoever was stopped for a while, with the machine or by it, does not know that another replica has taken
over, and would replace its final text by an older one. Platforms know no fences, so the clock must do.
"""

from collections.abc import Callable, Collection
from datetime import datetime
from uuid import UUID

from adapters.contract import (
    Growth,
    MessageRef,
    Outgoing,
    Place,
    Streaming,
    StreamLimits,
    Surface,
    SurfaceLimits,
)
from adapters.delivery.page_ledger import LeaseLost


class LeasedSurface:
    """The same surface, whose calls raise LeaseLost unless `is_held`."""

    def __init__(self, surface: Surface, is_held: Callable[[], bool]) -> None:
        self._surface = surface
        self._is_held = is_held

    @property
    def platform(self) -> str:
        """The platform's name."""
        return self._surface.platform

    @property
    def limits(self) -> SurfaceLimits:
        """What the platform allows."""
        return self._surface.limits

    @property
    def streaming(self) -> Streaming | None:
        """The platform's streams, while the lease lasts."""
        streaming = self._surface.streaming
        return None if streaming is None else LeasedStreaming(streaming, self._check)

    async def post(self, place: Place, outgoing: Outgoing, nonce: UUID) -> str:
        """Post, while the lease lasts."""
        self._check()
        return await self._surface.post(place, outgoing, nonce)

    async def edit(self, ref: MessageRef, outgoing: Outgoing) -> None:
        """Edit, while the lease lasts."""
        self._check()
        await self._surface.edit(ref, outgoing)

    async def delete(self, ref: MessageRef) -> None:
        """Delete, while the lease lasts."""
        self._check()
        await self._surface.delete(ref)

    async def find(self, place: Place, nonce: UUID, *, since: datetime | None) -> str | None:
        """Look, which anybody may."""
        return await self._surface.find(place, nonce, since=since)

    def _check(self) -> None:
        if not self._is_held():
            raise LeaseLost


class LeasedStreaming:
    """The same streams, after a `check` that raises where the lease may be over."""

    def __init__(self, streaming: Streaming, check: Callable[[], None]) -> None:
        self._streaming = streaming
        self._check = check

    @property
    def limits(self) -> StreamLimits:
        """What the platform allows."""
        return self._streaming.limits

    async def is_possible(self, place: Place, reader: str) -> bool:
        """Ask, which anybody may."""
        return await self._streaming.is_possible(place, reader)

    async def start(self, place: Place, growth: Growth, reader: str) -> str:
        """Start, while the lease lasts."""
        self._check()
        return await self._streaming.start(place, growth, reader)

    async def append(self, ref: MessageRef, growth: Growth) -> None:
        """Append, while the lease lasts."""
        self._check()
        await self._streaming.append(ref, growth)

    async def close(self, ref: MessageRef, growth: Growth, nonce: UUID) -> None:
        """Close, while the lease lasts."""
        self._check()
        await self._streaming.close(ref, growth, nonce)

    async def find(self, place: Place, *, since: datetime, known: Collection[str]) -> str | None:
        """Look, which anybody may."""
        return await self._streaming.find(place, since=since, known=known)
