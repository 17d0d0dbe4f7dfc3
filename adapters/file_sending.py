"""Sends stored files, so many at a time: what files on their way hold in memory is bounded."""

import asyncio
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from aiohttp import web

from adapters.file_headers import headers_of
from engine.api import Engine
from engine.chat.ids import FileId

DOWNLOADS_MAX: Final = 16
"""Files that are read and sent at a time."""
WAIT_SECONDS: Final = 30.0
"""How long a request waits for its turn."""
SEND_SECONDS: Final = 300.0
"""How long a client may take to read one file; one that takes longer is cut off."""


class TooManyDownloads(Exception):
    """No turn came in time; nothing was sent."""


class FileSender:
    """One for each adapter of a process. A turn lasts until the client has the bytes."""

    def __init__(
        self,
        engine: Engine,
        *,
        at_once: int = DOWNLOADS_MAX,
        wait_seconds: float = WAIT_SECONDS,
        send_seconds: float = SEND_SECONDS,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """`headers` go with every file, but for those that files have themselves."""
        self._engine = engine
        self._turns = asyncio.Semaphore(at_once)
        self._wait_seconds = wait_seconds
        self._send_seconds = send_seconds
        self._headers = headers

    async def send(self, request: web.Request, file_id: FileId) -> web.StreamResponse | None:
        """The answer, sent already. None: there is no such file. Raises TooManyDownloads."""
        try:
            async with asyncio.timeout(self._wait_seconds):
                await self._turns.acquire()
        except TimeoutError:
            raise TooManyDownloads from None
        try:
            stored = await self._engine.read_file(file_id)
            if stored is None:
                return None
            headers = {**self._headers, **headers_of(stored.info)}
            response = web.Response(body=stored.data, headers=headers)
            await self._send(request, response)
            return response
        finally:
            self._turns.release()

    async def _send(self, request: web.Request, response: web.Response) -> None:
        try:
            async with asyncio.timeout(self._send_seconds):
                await response.prepare(request)
                await response.write_eof()
        except ConnectionError:
            # The client has left; the server notices by itself.
            return
        except TimeoutError:
            if request.transport is not None:
                request.transport.abort()
