"""The floor: a bare loop that writes the same rows and parses the same bytes, and does nothing else.

No leases, no fences, no queue, no recovery, nobody can watch or stop it. It is what any system that
keeps its chats must at least do.
"""

import asyncio
from dataclasses import dataclass
from uuid import uuid4

import aiohttp
import asyncpg
import msgspec

from tests.benchmarks.load import Load, Measured
from tests.benchmarks.meter import Meter

ORGANIZATION = "00000000-0000-4000-8000-000000000001"


class _Delta(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    delta: _Delta
    finish_reason: str | None = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] = []


_DECODER = msgspec.json.Decoder(_Chunk)


@dataclass(slots=True)
class _Bench:
    load: Load
    pool: asyncpg.Pool
    session: aiohttp.ClientSession
    meter: Meter
    statements: int = 0


async def run_floor(load: Load) -> Measured:
    """Answer all chats at once with the bare loop."""
    pool = await asyncpg.create_pool(load.database_url, min_size=2, max_size=10, reset=no_reset)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:
        meter = Meter(load)
        bench = _Bench(load=load, pool=pool, session=session, meter=meter)
        sampler = asyncio.create_task(meter.sample_memory())
        async with asyncio.TaskGroup() as group:
            for number in range(load.chats):
                group.create_task(_answer(number, bench))
        sampler.cancel()
        result = meter.result(bench.statements)
    await pool.close()
    return result


async def _answer(number: int, bench: _Bench) -> None:
    bench.meter.begin(number)
    chat_id = uuid4()
    async with bench.pool.acquire() as connection, connection.transaction():
        await connection.execute(
            "INSERT INTO chats (id, organization_id, bot, status) VALUES ($1, $2, 'wren', 'running')",
            chat_id,
            ORGANIZATION,
        )
        await connection.execute(INSERT, chat_id, ORGANIZATION, "user", '[{"text":"Hello"}]')
    async with bench.pool.acquire() as connection:
        rows = await connection.fetch(
            "SELECT role, content FROM chat_messages WHERE chat_id = $1 ORDER BY id", chat_id
        )
    body = {"model": "m", "stream": True, "messages": [{"role": r["role"]} for r in rows]}
    bench.meter.asked(number)
    text = await stream_text(bench.session, bench.load.model_url, msgspec.json.encode(body))
    content = msgspec.json.encode([{"type": "text", "text": text}]).decode()
    async with bench.pool.acquire() as connection, connection.transaction():
        await connection.execute(INSERT, chat_id, ORGANIZATION, "assistant", content)
        await connection.execute("UPDATE chats SET status = 'waiting' WHERE id = $1", chat_id)
    bench.statements += 9
    bench.meter.ended(number)


async def stream_text(session: aiohttp.ClientSession, url: str, body: bytes) -> str:
    """The text of one streamed answer, by the least parsing that finds it."""
    texts: list[str] = []
    rest = b""
    headers = {"Content-Type": "application/json"}
    async with session.post(f"{url}/chat/completions", data=body, headers=headers) as response:
        async for piece in response.content.iter_any():
            *events, rest = (rest + piece).split(b"\n\n")
            for event in events:
                data = event[6:]
                if data == b"[DONE]":
                    continue
                choices = _DECODER.decode(data).choices
                texts.extend(choice.delta.content or "" for choice in choices)
    return "".join(texts)


async def no_reset(_connection: object) -> None:
    """The pool's reset would be one more round trip."""


INSERT = (
    "INSERT INTO chat_messages (chat_id, organization_id, role, content) VALUES ($1, $2, $3, $4)"
)
