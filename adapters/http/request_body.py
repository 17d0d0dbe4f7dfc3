"""Reads the body of a request, capped and timed: bytes as they are, or nothing but JSON in UTF-8."""

import asyncio
import json
import logging
from typing import Any, NoReturn

from aiohttp import ClientPayloadError, web
from aiohttp.http_exceptions import HttpProcessingError

from adapters.http.errors import Problem, ProblemCode

log = logging.getLogger(__name__)

BODY_SECONDS = 30.0
"""Time for a client to send its body; one that dribbles holds a connection, no more."""

_FORM = "application/x-www-form-urlencoded"


async def read_json(request: web.Request, *, bytes_max: int, seconds: float) -> Any:
    """The body's JSON value. Raises Problem 400, 408, 413 or 415.

    JSON that is called a form is taken, since curl calls everything one. That invites no forged
    requests: callers are told by their bearer token, which no browser adds by itself.
    """
    kind = request.content_type
    if kind not in (_FORM, "application/json") and not kind.endswith("+json"):
        raise _not_json(kind)
    data = await read_bytes(request, bytes_max=bytes_max, seconds=seconds)
    try:
        return parse_json(data)
    except Problem as problem:
        if kind == _FORM:
            raise _not_json(kind) from problem
        raise


async def read_bytes(request: web.Request, *, bytes_max: int, seconds: float) -> bytes:
    """The body as it is. Raises Problem 400, 408 or 413, the last before anything is read if it can."""
    try:
        async with asyncio.timeout(seconds):
            return await _read(request, bytes_max)
    except TimeoutError:
        raise Problem(ProblemCode.BODY_TIMEOUT, "The body did not arrive in time.") from None
    except (ClientPayloadError, HttpProcessingError, web.RequestPayloadError) as error:
        raise _malformed("it is not encoded as its headers say") from error
    except ConnectionError as error:
        log.debug("A client left amid its body.", extra={"action": "http_client_left"})
        raise _malformed("it ended too early") from error


def parse_json(data: bytes) -> Any:
    """The value of a JSON text. Raises Problem 400 that says where it is wrong."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise _malformed(f"byte {error.start} is not UTF-8") from error
    try:
        return json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    except json.JSONDecodeError as error:
        detail = f"{error.msg} at line {error.lineno}, column {error.colno}"
        raise _malformed(detail) from error
    except RecursionError as error:
        raise _malformed("it is nested too deeply") from error
    except ValueError as error:
        raise _malformed(str(error)) from error


async def _read(request: web.Request, bytes_max: int) -> bytes:
    if (request.content_length or 0) > bytes_max:
        raise _too_large(bytes_max)
    data = bytearray()
    async for piece in request.content.iter_any():
        data += piece
        if len(data) > bytes_max:
            raise _too_large(bytes_max)
    return bytes(data)


def _not_json(kind: str) -> Problem:
    return Problem(
        ProblemCode.UNSUPPORTED_MEDIA_TYPE, "The body must be JSON.",
        detail=f"Send Content-Type: application/json, not {kind[:80]}.",
    )  # fmt: skip


def _too_large(bytes_max: int) -> Problem:
    return Problem(
        ProblemCode.BODY_TOO_LARGE, "The body is too large.", detail=f"At most {bytes_max} bytes."
    )


def _malformed(detail: str) -> Problem:
    return Problem(ProblemCode.MALFORMED_JSON, "The body is not valid JSON.", detail=detail)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"{digits[:40]} is too large a number")
    return number
