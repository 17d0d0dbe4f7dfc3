"""A wire to Postgres that takes its time: everything a client says arrives late.

async with slow_postgres(database_url, seconds=0.2) as url:
    ...                                    # a pool on url waits so long for every round trip
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

_SOCKET = ".s.PGSQL.5432"
_PIECE_BYTES = 65_536


@asynccontextmanager
async def slow_postgres(database_url: str, *, seconds: float) -> AsyncIterator[str]:
    """The same database by a slow wire; its URL, until the block ends."""
    parts = urlsplit(database_url)
    upstream = Path(parse_qs(parts.query)["host"][0]) / _SOCKET
    wires: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        wires.add(task)
        with suppress(OSError, asyncio.CancelledError):
            server_reader, server_writer = await asyncio.open_unix_connection(str(upstream))
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(_carry(reader, server_writer, seconds))
                    group.create_task(_carry(server_reader, writer, 0))
            finally:
                server_writer.close()
                writer.close()
        wires.discard(task)

    with tempfile.TemporaryDirectory(prefix="threadwright-slow-") as folder:
        server = await asyncio.start_unix_server(serve, str(Path(folder) / _SOCKET))
        try:
            yield f"postgresql://postgres@{parts.path}?host={quote(folder, safe='')}"
        finally:
            server.close()
            for wire in tuple(wires):
                wire.cancel()
            if wires:
                await asyncio.wait(wires)


async def _carry(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seconds: float
) -> None:
    while piece := await reader.read(_PIECE_BYTES):
        if seconds:
            await asyncio.sleep(seconds)
        writer.write(piece)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()
