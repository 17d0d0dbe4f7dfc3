"""A surface as the holder of a lease may use it: nothing is said any more once the lease may be over.

Whoever was stopped for a while, with the machine or by it, does not know that another replica has taken
over, and would replace its final text by an older one. Platforms know no fences, so the clock must do.
"""

from collections.abc import Callable
from datetime import datetime
from uuid import UUID

from adapters.contract import MessageRef, Outgoing, Place, Surface, SurfaceLimits
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
