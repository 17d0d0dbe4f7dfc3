"""What a client sends, well-formed or not, never stands in a log line of the web server."""

import asyncio
import io
import json
import logging
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from aiohttp import web

from bots.logs import configure_logs
from config.settings import LogFormat, LogLevel, LogSettings

HEAD = b"POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    written = io.StringIO()
    configure_logs(LogSettings(format=LogFormat.JSON), stream=written)
    yield written
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
async def port() -> AsyncIterator[int]:
    async def answer(request: web.Request) -> web.Response:
        text = await request.text()
        if text.startswith("fail"):
            raise ValueError(text)
        return web.Response(text=",".join(request.cookies))

    application = web.Application()
    application.router.add_post("/", answer)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield runner.addresses[0][1]
    await runner.cleanup()


async def send(port: int, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    writer.write_eof()
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


@pytest.mark.parametrize(
    "request_bytes",
    [
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nhush hush\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n4\r\nhushhush\r\n0\r\n\r\n",
        HEAD + b"Cookie: session=hush\x01hush\r\nContent-Length: 0\r\n\r\n",
        HEAD + b"Content-Length: hush\r\n\r\n",
        b"POST /\x01hush HTTP/1.1\r\n\r\n",
    ],
)
async def test_malformed_request_is_one_line_that_quotes_nothing(
    stream: io.StringIO, port: int, request_bytes: bytes
) -> None:
    await send(port, request_bytes)
    (line,) = lines(stream)
    assert (line["action"], line["level"]) == ("bad_http_request", "INFO")
    assert "hush" not in stream.getvalue()
    assert "Traceback" not in stream.getvalue()


@pytest.mark.parametrize(
    "cookie", [b'a="hush\\001\\012"', b"hush,hush=1; a(b)=hush", b"a=hush\x7f; hush[]=1"]
)
async def test_odd_cookie_is_never_quoted(stream: io.StringIO, port: int, cookie: bytes) -> None:
    await send(port, HEAD + b"Cookie: " + cookie + b"\r\nContent-Length: 0\r\n\r\n")
    assert "hush" not in stream.getvalue()
    assert {line["level"] for line in lines(stream)} <= {"INFO"}


async def test_fault_of_ours_says_where_but_not_what_was_sent(
    stream: io.StringIO, port: int
) -> None:
    await send(port, HEAD + b"Content-Length: 8\r\n\r\nfailhush")
    (line,) = lines(stream)
    assert (line["action"], line["level"]) == ("http_request_failed", "ERROR")
    assert line["error"] == "ValueError"
    assert "test_logs_http.py" in line["place"]
    assert "hush" not in stream.getvalue()


async def test_malformed_request_is_unseen_where_only_errors_are_wanted(
    stream: io.StringIO, port: int
) -> None:
    configure_logs(LogSettings(format=LogFormat.JSON, level=LogLevel.ERROR), stream=stream)
    await send(port, HEAD + b"Content-Length: hush\r\n\r\n")
    assert stream.getvalue() == ""
