"""Ask a provider over HTTP and give its answer part by part, with no retry and no hidden wait.

One shared session per process; one await per piece from the network. Leaving a stream closes its
connection at once, so that the provider stops too. A stream that just ends is a failure that keeps
what came.
"""

import asyncio
import io
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from types import TracebackType
from typing import Final, Self

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError

from engine.chat.content import Finish
from engine.models.chat_wire import fault_of, read_odd_chunk
from engine.models.errors import Symptom, Trouble, classify
from engine.models.model import ModelFailure, ModelPrompt
from engine.models.parts import StreamDecoder, StreamPart, StreamResult, ToolCallDelta
from engine.models.provider import ProviderConfig
from engine.models.sse import SseOverflow
from engine.models.wires import wire_of

ANSWER_BYTES_MAX: Final = 64 * 1024 * 1024
"""Bytes of one whole reply on the wire, JSON around the words included."""

ANSWER_CHARACTERS_MAX: Final = 4_000_000
"""Characters of one answer, reasoning and arguments included: a million tokens, more than any model
writes. What is beyond is not kept, so that no provider can fill memory and history."""

REFUSAL_BYTES_MAX: Final = 16 * 1024
FINISH_GRACE_SECONDS: Final = 5.0
"""How long a server may keep the connection open after the answer is whole."""

DRAIN_SECONDS: Final = 0.05
"""How long to wait for the end of the body after `[DONE]`, so that the connection can be reused."""

_READ_BUFFER_BYTES: Final = 16 * 1024
_LARGE_BODY_BYTES: Final = 1024 * 1024
_ADDRESS_ERRORS: Final = (
    aiohttp.InvalidURL,
    aiohttp.NonHttpUrlClientError,
    aiohttp.ClientConnectorCertificateError,
)
_NETWORK_ERRORS: Final = (aiohttp.ClientError, HttpProcessingError, OSError)


@asynccontextmanager
async def model_session() -> AsyncIterator[aiohttp.ClientSession]:
    """Open the session that all models of a process share: any number of streams, no cookies."""
    connector = aiohttp.TCPConnector(limit=0, ttl_dns_cache=60, keepalive_timeout=30)
    async with aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        read_bufsize=_READ_BUFFER_BYTES,
        requote_redirect_url=False,
    ) as session:
        yield session


def _wall_clock() -> datetime:
    return datetime.now(UTC)


class HttpModel:
    """A Model behind HTTP, in whatever format its provider speaks. Stateless: one for all chats."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        provider: ProviderConfig,
        *,
        clock: Callable[[], datetime] = _wall_clock,
    ) -> None:
        self._session = session
        self._provider = provider
        self._clock = clock
        self._wire = wire_of(provider)
        self._url = provider.base_url.rstrip("/") + self._wire.path
        self._timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=provider.connect_timeout_seconds
        )
        self._key = provider.api_key.reveal().strip() if provider.api_key else ""
        self._headers = {
            "Accept": "text/event-stream",
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
            "User-Agent": "threadwright",
            **self._wire.headers(self._key),
            **provider.headers,
        }

    def stream(self, prompt: ModelPrompt) -> "HttpModelStream":
        """Return the answer to come. Nothing is sent before the first part is awaited."""
        return HttpModelStream(self, prompt, is_streamed=True)

    async def complete(self, prompt: ModelPrompt) -> StreamResult:
        """Ask without streaming. Raises ModelFailure."""
        async with HttpModelStream(self, prompt, is_streamed=False) as answer:
            async for _ in answer:
                pass
        return answer.result()

    async def post(self, prompt: ModelPrompt, *, is_streamed: bool) -> aiohttp.ClientResponse:
        """Send the request and return the response as soon as its headers are there."""
        body = self._wire.body(prompt, is_streamed=is_streamed)
        return await self._session.post(
            self._url,
            # A history with pictures goes out in pieces, so that it holds up no other chat.
            data=body if len(body) < _LARGE_BODY_BYTES else io.BytesIO(body),
            headers=self._headers,
            timeout=self._timeout,
            allow_redirects=False,
        )

    def decoder(self) -> StreamDecoder:
        """A decoder for one reply of this provider."""
        return self._wire.decoder()

    def failure(
        self,
        symptom: Symptom,
        partial: StreamResult | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> ModelFailure:
        """Return the failure to raise, in the provider's name and without its key."""
        error, wait = classify(
            symptom,
            provider=self._provider.display_name or self._provider.name,
            now=self._clock(),
            headers=headers,
            secrets=(self._key,),
        )
        return ModelFailure(error, partial=partial, retry_after_seconds=wait)

    @property
    def provider(self) -> ProviderConfig:
        """Where and how this client asks."""
        return self._provider

    @property
    def lacks_key(self) -> bool:
        """Whether asking is pointless."""
        return self._provider.needs_key and not self._key


class HttpModelStream:
    """A ModelStream over HTTP. See engine.models.model for what it promises."""

    __slots__ = (
        "_bytes_left",
        "_characters_left",
        "_client",
        "_deadline",
        "_decoder",
        "_has_ended",
        "_is_streamed",
        "_is_timed_out",
        "_loop",
        "_prompt",
        "_response",
        "_silence_seconds",
        "_timer",
        "_trouble",
    )

    def __init__(self, client: HttpModel, prompt: ModelPrompt, *, is_streamed: bool) -> None:
        self._client = client
        self._prompt: ModelPrompt | None = prompt
        self._is_streamed = is_streamed
        self._decoder = client.decoder()
        self._response: aiohttp.ClientResponse | None = None
        self._loop = asyncio.get_running_loop()
        self._silence_seconds = client.provider.silence_timeout_seconds or float("inf")
        self._deadline = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._trouble = Trouble.STARTUP_TIMEOUT
        self._is_timed_out = False
        self._has_ended = False
        self._bytes_left = ANSWER_BYTES_MAX
        self._characters_left = ANSWER_CHARACTERS_MAX

    def result(self) -> StreamResult:
        """Return all that has come so far."""
        return self._decoder.result()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> list[StreamPart]:
        try:
            if self._prompt is not None:
                await self._open(self._prompt)
            while not self._has_ended:
                if parts := await self._read():
                    return parts
        except BaseException:
            # A cancel above all: the provider must stop when nobody listens.
            self._close()
            raise
        await self._conclude()
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Close the connection, at once unless the answer has ended. Idempotent."""
        self._close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._close()

    # -- opening ---------------------------------------------------------------------------------

    async def _open(self, prompt: ModelPrompt) -> None:
        """Send the request and look at the status. Raises ModelFailure for a refusal."""
        self._prompt = None
        client = self._client
        if client.lacks_key:
            raise client.failure(Symptom(trouble=Trouble.MISSING_KEY))
        self._deadline = self._loop.time() + client.provider.first_token_timeout_seconds
        try:
            async with asyncio.timeout_at(self._deadline):
                self._response = await client.post(prompt, is_streamed=self._is_streamed)
                if not 200 <= self._response.status < 300:
                    await self._refuse(self._response)
        except _ADDRESS_ERRORS as error:
            symptom = Symptom(trouble=Trouble.ADDRESS, words=str(error))
            raise client.failure(symptom) from error
        except (aiohttp.ClientError, HttpProcessingError) as error:
            raise client.failure(_connection(error)) from error
        except TimeoutError as error:
            raise client.failure(Symptom(trouble=Trouble.STARTUP_TIMEOUT)) from error
        except OSError as error:
            raise client.failure(_connection(error)) from error
        self._timer = self._loop.call_at(self._deadline, self._on_timer)

    async def _refuse(self, response: aiohttp.ClientResponse) -> None:
        body = bytearray()
        while len(body) < REFUSAL_BYTES_MAX and (chunk := await response.content.readany()):
            body += chunk
        symptom = _refusal(response.status, bytes(body), response.headers.get("Location", ""))
        raise self._client.failure(symptom, headers=response.headers)

    # -- reading ---------------------------------------------------------------------------------

    async def _read(self) -> list[StreamPart]:
        if self._response is None:
            self._has_ended = True
            return []
        try:
            chunk = await self._response.content.readany()
            self._bytes_left -= len(chunk)
            parts = self._decoder.feed(chunk) if chunk else self._decoder.end()
        except _NETWORK_ERRORS as error:
            return self._broken(error)
        except SseOverflow as error:
            raise self._oversize() from error
        self._characters_left -= sum(map(_length, parts))
        if self._bytes_left < 0 or self._characters_left < 0:
            raise self._oversize()
        if not chunk or self._decoder.is_closed:
            self._has_ended = True
        elif self._decoder.is_finished:
            self._expect_by(min(self._deadline, self._loop.time() + FINISH_GRACE_SECONDS))
        elif parts:
            self._trouble = Trouble.SILENCE_TIMEOUT
            self._expect_by(self._loop.time() + self._silence_seconds)
        return parts

    def _broken(self, error: Exception) -> list[StreamPart]:
        """Take a broken connection as the end if the answer is whole. Raises otherwise."""
        was_whole = self._decoder.is_finished
        parts = self._decoder.end()
        # Half an event is no end where we ourselves have cut the connection.
        if was_whole or (self._decoder.is_finished and not self._is_timed_out):
            self._close()
            self._has_ended = True
            return parts
        symptom = Symptom(trouble=self._trouble) if self._is_timed_out else _connection(error)
        raise self._client.failure(symptom, self._decoder.result()) from error

    def _oversize(self) -> ModelFailure:
        words = "the reply is larger than any answer can be"
        symptom = Symptom(trouble=Trouble.OVERSIZE, words=words)
        return self._client.failure(symptom, self._decoder.result())

    async def _conclude(self) -> None:
        """Give the connection back and raise if the answer is not whole."""
        await self._drain()
        self._close()
        result = self._decoder.result()
        if (fault := result.fault) is not None:
            words = f"{fault.message} {fault.detail or ''}".strip()
            symptom = Symptom(status=fault.status, words=words, code=fault.code or "")
            raise self._client.failure(symptom, result)
        if result.finish is Finish.INCOMPLETE:
            words = "the stream ended before the answer was complete"
            symptom = Symptom(trouble=Trouble.INCOMPLETE, words=words)
            raise self._client.failure(symptom, result)

    async def _drain(self) -> None:
        response = self._response
        if response is None or response.content.is_eof():
            return
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                while await response.content.readany():
                    pass
        except _NETWORK_ERRORS:
            # The answer is whole; this connection is just not one to keep.
            return

    # -- time ------------------------------------------------------------------------------------

    def _expect_by(self, deadline: float) -> None:
        """Set when the next part is due. A later time costs nothing: the timer looks again."""
        is_earlier = deadline < self._deadline
        self._deadline = deadline
        if is_earlier:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._loop.call_at(deadline, self._on_timer)

    def _on_timer(self) -> None:
        if self._deadline == float("inf"):
            self._timer = None
        elif self._loop.time() < self._deadline:
            self._timer = self._loop.call_at(self._deadline, self._on_timer)
        elif self._response is not None:
            self._is_timed_out = True
            self._response.close()

    def _close(self) -> None:
        self._prompt = None
        self._has_ended = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._response is not None:
            # Invariant: a connection goes back to the pool only when its body was read to the end.
            if self._response.content.is_eof():
                self._response.release()
            else:
                self._response.close()
            self._response = None


def _length(part: StreamPart) -> int:
    return len(part.args_delta) if isinstance(part, ToolCallDelta) else len(part.text)


def _connection(error: Exception) -> Symptom:
    return Symptom(trouble=Trouble.CONNECTION, words=str(error) or type(error).__name__)


def _refusal(status: int, body: bytes, location: str) -> Symptom:
    """Return what a response that is no success says, whatever its body is made of."""
    if 300 <= status < 400:
        words = f"the address redirects to {location}" if location else "the address redirects"
        return Symptom(trouble=Trouble.ADDRESS, status=status, words=words)
    chunk = read_odd_chunk(body)
    if chunk is not None and (said := chunk.error or chunk.message or chunk.detail):
        fault = fault_of(said)
        words = f"{fault.message} {fault.detail or ''}".strip()
        return Symptom(status=status, words=words, code=fault.code or "")
    text = body.decode("utf-8", "replace")
    if text.lstrip().startswith("<"):
        _, _, title = text.partition("<title>")
        text = title.partition("</title>")[0] or "a web page"
    return Symptom(status=status, words=text)
