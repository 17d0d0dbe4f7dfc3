"""The floor of a scale run: the same chats, turns, rows and bytes by a loop that does nothing else."""

import asyncio
import time
from dataclasses import dataclass
from uuid import uuid4

import aiohttp
import asyncpg
import msgspec

from tests.benchmarks.floor import INSERT, ORGANIZATION, no_reset, stream_text
from tests.benchmarks.load import cpu_seconds, rss_kib
from tests.benchmarks.scale.load import ScaleLoad, ScaleMeasured

STATEMENTS_FIRST, STATEMENTS_LATER = 9, 8


@dataclass(slots=True)
class _Loop:
    load: ScaleLoad
    pool: asyncpg.Pool
    session: aiohttp.ClientSession
    to_request_ms: list[float]
    turn_ms: list[float]
    statements: int = 0


async def run_floor(load: ScaleLoad) -> ScaleMeasured:
    """Drive the own chats through their turns with the bare loop."""
    pool = await asyncpg.create_pool(load.database_url, min_size=2, max_size=10, reset=no_reset)
    before_kib, before_cpu, began = rss_kib(), cpu_seconds(), time.perf_counter()
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        loop = _Loop(load=load, pool=pool, session=session, to_request_ms=[], turn_ms=[])
        await asyncio.gather(*(_talk(loop, number) for number in load.own))
    result = ScaleMeasured(
        turns=len(loop.turn_ms),
        cpu_seconds=cpu_seconds() - before_cpu,
        wall_seconds=time.perf_counter() - began,
        statements=loop.statements,
        heartbeats=0,
        memory_kib=rss_kib() - before_kib,
        to_request_ms=loop.to_request_ms,
        to_follower_ms=[],
        turn_ms=loop.turn_ms,
    )
    await pool.close()
    return result


async def _talk(loop: _Loop, number: int) -> None:
    load, chat_id = loop.load, uuid4()
    await asyncio.sleep(load.pause_seconds * number / max(load.chats, 1))
    for turn in range(load.turns):
        if turn:
            await asyncio.sleep(load.pause_seconds)
        began = time.perf_counter()
        await _ask(loop, chat_id, is_first=turn == 0)
        async with loop.pool.acquire() as connection:
            rows = await connection.fetch(
                "SELECT role, content FROM chat_messages WHERE chat_id = $1 ORDER BY id", chat_id
            )
        history = [{"role": row["role"], "content": row["content"]} for row in rows]
        body = msgspec.json.encode({"model": "m", "stream": True, "messages": history})
        loop.to_request_ms.append((time.perf_counter() - began) * 1000)
        text = await stream_text(loop.session, load.model_url, body)
        content = msgspec.json.encode([{"type": "text", "text": text}]).decode()
        async with loop.pool.acquire() as connection, connection.transaction():
            await connection.execute(INSERT, chat_id, ORGANIZATION, "assistant", content)
            await connection.execute("UPDATE chats SET status = 'waiting' WHERE id = $1", chat_id)
        loop.statements += STATEMENTS_LATER if turn else STATEMENTS_FIRST
        loop.turn_ms.append((time.perf_counter() - began) * 1000)


async def _ask(loop: _Loop, chat_id: object, *, is_first: bool) -> None:
    question = '[{"type":"text","text":"question"}]'
    async with loop.pool.acquire() as connection, connection.transaction():
        if is_first:
            await connection.execute(
                "INSERT INTO chats (id, organization_id, bot, status) VALUES ($1, $2, 'wren', 'running')",
                chat_id,
                ORGANIZATION,
            )
        await connection.execute(INSERT, chat_id, ORGANIZATION, "user", question)
