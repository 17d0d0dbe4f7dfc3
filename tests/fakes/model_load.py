"""A Chat Completions server for load: every request gets the same paced stream, at little cost.

`python -m tests.fakes.model_server --port 0 --parts 200 --interval-ms 20` prints its address as one
line of JSON and serves until it is stopped. No checks, no records; it keeps 1000 streams on time.
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Callable
from typing import cast

import uvloop

PROBE = b"probe"
"""A request that holds this word gets parts that say when they were sent."""

_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
    b"Cache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n"
)


def stream_frames(parts: int) -> list[bytes]:
    """The stream as HTTP chunks of about 300 bytes, the size of a real provider's events."""
    events = [_event({"choices": [_choice({"content": word})]}) for word in _answer(parts)]
    usage = {"prompt_tokens": 100, "completion_tokens": parts, "total_tokens": 100 + parts}
    end = (
        _event({"choices": [_choice({}, "stop")]})
        + _event({"choices": [], "usage": usage})
        + b"data: [DONE]\n\n"
    )
    return [*map(_chunk, events), _chunk(end) + b"0\r\n\r\n"]


def answer_text(parts: int) -> str:
    """What every request that is not a probe is answered."""
    return "".join(_answer(parts))


def _answer(parts: int) -> list[str]:
    words = [
        "the",
        "harbour",
        "light",
        "turns",
        "slowly",
        "over",
        "the",
        "water",
        "and",
        "the",
        "boats",
        "come",
        "home",
    ]
    return [f" {words[n % len(words)]}" + (".\n\n" if n % 40 == 39 else "") for n in range(parts)]


def _choice(delta: dict[str, str], finish: str | None = None) -> dict[str, object]:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}


def _event(fields: dict[str, object]) -> bytes:
    event = {
        "id": "chatcmpl-C1KMEUDb1vVwsROQUCZTgG6A6vtWo",
        "object": "chat.completion.chunk",
        "created": 1_754_432_618,
        "model": "gpt-4o-2024-08-06",
        "service_tier": "default",
        "system_fingerprint": "fp_ff25b2783a",
        "obfuscation": "x" * 24,
        **fields,
    }
    return b"data: " + json.dumps(event, separators=(",", ":")).encode() + b"\n\n"


def _stamped() -> bytes:
    """A part that says when it was sent, in nanoseconds since the epoch."""
    return _chunk(_event({"choices": [_choice({"content": f"{time.time_ns()} "})]}))


def _chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


class _Connection(asyncio.Protocol):
    def __init__(self, frames: list[bytes], interval: float) -> None:
        self._frames = frames
        self._interval = interval
        self._buffer = b""
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._next = 0
        self._due = 0.0
        self._is_probe = False
        self._call_at: Callable[..., asyncio.TimerHandle] = asyncio.get_running_loop().call_at
        self._time = asyncio.get_running_loop().time

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are no subclass of asyncio.Transport.
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, _: Exception | None) -> None:
        self._transport = None
        if self._timer is not None:
            self._timer.cancel()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, found, rest = self._buffer.partition(b"\r\n\r\n")
        if not found or self._transport is None:
            return
        length = 0
        for line in head.split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        if len(rest) < length:
            return
        self._buffer = rest[length:]
        self._transport.write(_HEAD)
        self._is_probe = PROBE in rest[:length]
        self._next = 0
        self._due = self._time()
        self._send()

    def _send(self) -> None:
        if self._transport is None:
            return
        frames = self._frames
        if self._interval <= 0:
            self._transport.writelines(frames)
            return
        # Never drifts: a late timer sends what is due by now, one frame at a time.
        is_word = self._next < len(frames) - 1
        self._transport.write(_stamped() if self._is_probe and is_word else frames[self._next])
        self._next += 1
        if self._next < len(frames):
            self._due += self._interval
            self._timer = self._call_at(max(self._due, self._time()), self._send)


async def serve(port: int, parts: int, interval_ms: float) -> None:
    frames = stream_frames(parts)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: _Connection(frames, interval_ms / 1000), "127.0.0.1", port, backlog=4096
    )
    async with server:
        address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        sys.stdout.write(json.dumps({"url": address, "parts": parts}) + "\n")
        sys.stdout.flush()
        await server.serve_forever()


def main() -> None:
    """Read the arguments and serve until stopped."""
    parser = argparse.ArgumentParser(prog="model_server")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--parts", type=int, default=200)
    parser.add_argument("--interval-ms", type=float, default=20.0)
    options = parser.parse_args()
    try:
        uvloop.run(serve(options.port, options.parts, options.interval_ms))
    except KeyboardInterrupt:
        return
