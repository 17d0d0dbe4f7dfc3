"""Answering where somebody gave a command, by the address that Slack sent with it: five times, half an hour long.

The address comes from outside, so only Slack's own hosts are asked, and the host of the configured API.
No token goes with it.
"""

import asyncio
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp

from adapters.errors import Denied, Unavailable

SECONDS_MAX: Final = 10.0
_SLACK: Final = ("slack.com", "slack-gov.com")
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


def is_slacks(url: str, *, api_url: str) -> bool:
    """Whether an address may be answered to: one of Slack's, or at the very place of the API."""
    try:
        asked, api = urlsplit(url), urlsplit(api_url)
        if _place(asked.scheme, asked.hostname, asked.port) == _place(
            api.scheme, api.hostname, api.port
        ):
            return bool(asked.hostname)
    except ValueError:
        return False
    host = asked.hostname or ""
    is_named = any(host == each or host.endswith(f".{each}") for each in _SLACK)
    return asked.scheme == "https" and is_named and asked.port in (None, 443)


async def respond(
    session: aiohttp.ClientSession, url: str, body: dict[str, Any], *, api_url: str
) -> None:
    """Answer once. Raises Denied where the address is over or not Slack's, else Unavailable."""
    if not is_slacks(url, api_url=api_url):
        raise Denied("foreign_response_url")
    try:
        async with (
            asyncio.timeout(SECONDS_MAX),
            session.post(url, json=body, allow_redirects=False) as answer,
        ):
            said = (await answer.content.read(1000)).decode("utf-8", "replace")
            status = answer.status
    except aiohttp.ClientConnectorError as error:
        raise Unavailable("not_connected", outcome_unknown=False) from error
    except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
        raise Unavailable(type(error).__name__, outcome_unknown=True) from error
    if status >= 500:
        raise Unavailable(f"http_{status}", outcome_unknown=True)
    if status != 200 or '"ok":false' in said.replace(" ", ""):
        raise Denied("response_url_over")


def _place(scheme: str, host: str | None, port: int | None) -> tuple[str, str | None, int | None]:
    return scheme, host, port or _DEFAULT_PORTS.get(scheme)
