"""A real server with the HTTP API in front of a test's replica, and a client that calls it."""

import asyncio
import io
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp import web

from adapters.http.adapter import HttpAdapter
from config.secret import Secret
from engine.api import Engine

ADMIN_TOKEN = "admin-token-of-the-test"
API = "/api/v1"
PATIENCE_SECONDS = 20.0
LINE_BYTES_MAX = 4_000_000


@dataclass(frozen=True, slots=True)
class Reply:
    """What the server answered."""

    status: int
    body: Any
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def fields(self) -> list[str]:
        """The fields that a problem names."""
        return [item["field"] for item in self.body.get("validations", [])]


@dataclass(frozen=True, slots=True)
class ApiClient:
    """Calls the API as whoever has the token."""

    session: aiohttp.ClientSession
    base: str
    adapter: HttpAdapter
    token: str | None = ADMIN_TOKEN

    def as_caller(self, token: str | None) -> "ApiClient":
        """The same server, called with another token."""
        return ApiClient(self.session, self.base, self.adapter, token)

    def url(self, path: str) -> str:
        """Where a path of the API is."""
        return f"{self.base}{API}{path}"

    @property
    def authorization(self) -> dict[str, str]:
        """The header with the token."""
        return {} if self.token is None else {"Authorization": f"Bearer {self.token}"}

    async def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        data: bytes | None = None,
        headers: dict[str, str] | None = None,
        params: Sequence[tuple[str, str]] = (),
    ) -> Reply:
        """Call, with `body` as JSON or `data` as it is."""
        sent = {**self.authorization, **(headers or {})}
        if body is not None:
            data = json.dumps(body).encode()
        if data is not None:
            sent.setdefault("Content-Type", "application/json")
        # As a stream: the client warns of large bodies in one piece.
        stream = None if data is None else io.BytesIO(data)
        async with self.session.request(
            method, self.url(path), data=stream, headers=sent, params=list(params)
        ) as response:
            raw = await response.read()
            return Reply(response.status, json.loads(raw) if raw else None, dict(response.headers))

    async def get(self, path: str, *params: tuple[str, str]) -> Any:
        """Read something that must be there."""
        reply = await self.call("GET", path, params=params)
        assert reply.status == 200, reply
        return reply.body

    async def post(self, path: str, body: Any = None, **headers: str) -> Any:
        """Do something that must succeed."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        reply = await self.call("POST", path, body, headers=named)
        assert reply.status in (200, 201, 202), reply
        return reply.body


async def until(api: ApiClient, chat_id: str, status: str) -> Any:
    """The chat, once it has this status."""
    chat = None
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                reply = await api.call("GET", f"/chats/{chat_id}")
                chat = reply.body
                if reply.status == 200 and chat["status"] == status:
                    return chat
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise AssertionError(f"wanted {status}, the chat is {chat}") from None


@asynccontextmanager
async def serve_api(engine: Engine, **options: Any) -> AsyncIterator[ApiClient]:
    """Serve the API of this engine on a free port for the length of the block."""
    options = {"admin_token": Secret(ADMIN_TOKEN), **options}
    adapter = HttpAdapter(engine, **options)
    application = web.Application()
    application.add_routes(adapter.routes())
    async with (
        serve(application) as base,
        aiohttp.ClientSession(read_bufsize=LINE_BYTES_MAX) as session,
    ):
        yield ApiClient(session, base, adapter)
        adapter.close()


@asynccontextmanager
async def serve(application: web.Application) -> AsyncIterator[str]:
    """Serve on a free port of this machine; its address."""
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=2.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
