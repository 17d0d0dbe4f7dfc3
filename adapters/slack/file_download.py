"""Gets the bytes of files from Slack: with the token only where Slack is, and never more than may be kept."""

import asyncio
from dataclasses import dataclass
from http import HTTPStatus

import aiohttp
from yarl import URL

from adapters.errors import RateLimited, Unavailable
from adapters.slack.shared_files import Missing

DOWNLOAD_SECONDS_MAX = 60.0
"""For one file. A claim of the inbox is renewed meanwhile."""
REDIRECTS_MAX = 3
RETRY_AFTER_SECONDS = 5.0
_CHUNK_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Downloaded:
    """What came. `media_type` as the server called it."""

    data: bytes
    media_type: str


def is_slacks(address: URL, api: URL) -> bool:
    """Whether the bot token may be sent there: to the API's own host, or the host of its files."""
    if address.scheme != api.scheme:
        return False
    if address.host == api.host:
        return address.port == api.port
    return address.host == f"files.{api.host}" and address.is_default_port()


async def download(
    session: aiohttp.ClientSession, url: str, *, token: str, api_url: str, bytes_max: int
) -> Downloaded | Missing:
    """The file at a URL of Slack's. Raises SurfaceError where another try may give it.

    Redirects to other hosts are followed without the token, and never from https to http.
    """
    api = URL(api_url)
    try:
        address = URL(url)
    except ValueError:
        return Missing.FOREIGN
    if not is_slacks(address, api):
        return Missing.FOREIGN
    try:
        async with asyncio.timeout(DOWNLOAD_SECONDS_MAX):
            return await _follow(session, address, token=token, api=api, bytes_max=bytes_max)
    except (aiohttp.ClientError, OSError, TimeoutError) as error:
        raise Unavailable(type(error).__name__, outcome_unknown=False) from error


async def _follow(
    session: aiohttp.ClientSession, address: URL, *, token: str, api: URL, bytes_max: int
) -> Downloaded | Missing:
    for _ in range(1 + REDIRECTS_MAX):
        headers = {"Accept-Encoding": "identity"}
        if is_slacks(address, api):
            headers["Authorization"] = f"Bearer {token}"
        async with session.get(address, headers=headers, allow_redirects=False) as answer:
            location = answer.headers.get("Location", "")
            if not (300 <= answer.status < 400 and location):
                return await _body(answer, bytes_max)
        try:
            address = address.join(URL(location))
        except ValueError:
            return Missing.FOREIGN
        if address.scheme not in ("https", api.scheme) or not address.host:
            return Missing.FOREIGN
    return Missing.FOREIGN


async def _body(answer: aiohttp.ClientResponse, bytes_max: int) -> Downloaded | Missing:
    match answer.status:
        case HTTPStatus.OK:
            pass
        case HTTPStatus.TOO_MANY_REQUESTS:
            wait = answer.headers.get("Retry-After", "")
            seconds = float(wait) if wait.isascii() and wait.isdecimal() else RETRY_AFTER_SECONDS
            raise RateLimited("ratelimited", retry_after_seconds=seconds)
        case HTTPStatus.UNAUTHORIZED | HTTPStatus.FORBIDDEN:
            return Missing.LOGIN_PAGE
        case status if status >= 500:
            raise Unavailable(f"http_{status}", outcome_unknown=False)
        case _:
            return Missing.GONE
    if (answer.content_length or 0) > bytes_max:
        return Missing.TOO_LARGE
    data = bytearray()
    async for chunk in answer.content.iter_chunked(_CHUNK_BYTES):
        data += chunk
        if len(data) > bytes_max:
            return Missing.TOO_LARGE
    return Downloaded(data=bytes(data), media_type=answer.headers.get("Content-Type", ""))
