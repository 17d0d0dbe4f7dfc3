"""Sends the bytes of files to Slack. Nothing is shown by it, so it may be done again."""

import asyncio
from http import HTTPStatus

import aiohttp

from adapters.errors import Unavailable

UPLOAD_SECONDS_MAX = 20.0
"""For one file. Below the lease of a delivery."""


async def send_bytes(session: aiohttp.ClientSession, address: str, data: bytes) -> None:
    """Send a file to the address that Slack gave for it. The address is a secret; no token goes there."""
    try:
        async with (
            asyncio.timeout(UPLOAD_SECONDS_MAX),
            session.post(address, data=data, allow_redirects=False) as answer,
        ):
            status = answer.status
    except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
        raise Unavailable(type(error).__name__, outcome_unknown=False) from error
    if status != HTTPStatus.OK:
        raise Unavailable(f"upload_http_{status}", outcome_unknown=False)
