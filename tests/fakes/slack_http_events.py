"""Owns signed HTTP deliveries: v0 signatures, the three repeats with their headers, URL verification."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import aiohttp

from tests.fakes.slack_clock import SlackClock
from tests.fakes.slack_deliveries import (
    ACK_TIMEOUT_SECONDS,
    RETRY_DELAYS_SECONDS,
    Attempt,
    Background,
    Delivery,
    DeliveryKind,
)

Json = dict[str, Any]


def sign(secret: str, timestamp: int, body: bytes) -> str:
    """Slack's v0 signature of a raw body."""
    base = b"v0:" + str(timestamp).encode() + b":" + body
    return "v0=" + hmac.new(secret.encode(), base, hashlib.sha256).hexdigest()


class HttpEvents:
    """Posts payloads to the app's request URL. Signatures carry real time, since the app checks real time."""

    def __init__(
        self,
        *,
        clock: SlackClock,
        background: Background,
        touch: Callable[[], None],
        signing_secret: str,
    ) -> None:
        self.request_url: str | None = None
        self.ack_timeout_seconds = ACK_TIMEOUT_SECONDS
        self.retry_delays_seconds = RETRY_DELAYS_SECONDS
        self.signing_secret = signing_secret
        self._clock = clock
        self._background = background
        self._touch = touch
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    def send(self, delivery: Delivery, *, url: str | None = None) -> None:
        """Start delivering; the delivery's own events tell how it went."""
        target = url or self.request_url
        if target is None:
            raise RuntimeError("no request URL: set slack.http.request_url first")
        self._background.spawn(self._deliver(delivery, target))

    async def verify_url(self, url: str) -> bool:
        """Slack's handshake when a request URL is entered; True when the challenge came back."""
        challenge = hashlib.sha256(url.encode()).hexdigest()
        body = json.dumps(
            {"token": "verification-token", "challenge": challenge, "type": "url_verification"}
        ).encode()
        async with self._client().post(url, data=body, headers=self._headers(body)) as answer:
            text = await answer.text()
            return answer.status == 200 and challenge in text

    def _client(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession()
        return self._session

    def _headers(self, body: bytes, *, form: bool = False) -> dict[str, str]:
        timestamp = int(time.time())
        kind = "application/x-www-form-urlencoded" if form else "application/json"
        return {
            "Content-Type": kind,
            "User-Agent": "Slackbot 1.0 (+https://api.slack.com/robots)",
            "X-Slack-Request-Timestamp": str(timestamp),
            "X-Slack-Signature": sign(self.signing_secret, timestamp, body),
        }

    async def _deliver(self, delivery: Delivery, url: str) -> None:
        reason, failed_at = "", 0.0
        repeats = self.retry_delays_seconds if delivery.kind is DeliveryKind.EVENT else ()
        for number in range(len(repeats) + 1):
            if number:
                await self._clock.sleep_until(failed_at + repeats[number - 1])
            attempt = Attempt(at=self._clock.now(), retry_num=number, retry_reason=reason, via=url)
            delivery.attempts.append(attempt)
            reason, wants_repeat = await self._try(delivery, attempt, url)
            failed_at = min(self._clock.now(), attempt.at + self.ack_timeout_seconds)
            delivery.tried.set()
            self._touch()
            if delivery.is_acked or not wants_repeat:
                break
        delivery.lose()
        self._touch()

    async def _try(self, delivery: Delivery, attempt: Attempt, url: str) -> tuple[str, bool]:
        """One try; returns the reason a repeat would carry and whether a repeat is wanted."""
        post = self._background.spawn(self._post(delivery, attempt, url))
        timer = asyncio.create_task(self._clock.sleep_until(attempt.at + self.ack_timeout_seconds))
        try:
            await asyncio.wait({post, timer}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            timer.cancel()
        if not post.done():
            # The app may still be busy with the first request while the repeat comes in.
            return "http_timeout", True
        status, headers, response = post.result()
        attempt.status = status
        if status is None:
            return "connection_failed", True
        if 200 <= status < 300:
            delivery.ack(self._clock.now(), response)
            return "", False
        return "http_error", headers.get("X-Slack-No-Retry") != "1"

    async def _post(
        self, delivery: Delivery, attempt: Attempt, url: str
    ) -> tuple[int | None, dict[str, str], object]:
        is_form = delivery.kind is not DeliveryKind.EVENT
        body = _encode(delivery)
        headers = self._headers(body, form=is_form)
        if attempt.retry_num:
            headers["X-Slack-Retry-Num"] = str(attempt.retry_num)
            headers["X-Slack-Retry-Reason"] = attempt.retry_reason
        try:
            async with self._client().post(
                url, data=body, headers=headers, allow_redirects=False
            ) as answer:
                text = await answer.text()
                return answer.status, dict(answer.headers), _decode(text)
        except aiohttp.ClientError:
            return None, {}, None


def _encode(delivery: Delivery) -> bytes:
    match delivery.kind:
        case DeliveryKind.EVENT:
            return json.dumps(delivery.body).encode()
        case DeliveryKind.INTERACTION:
            return urlencode({"payload": json.dumps(delivery.body)}).encode()
        case DeliveryKind.COMMAND:
            return urlencode(delivery.body).encode()


def _decode(text: str) -> object:
    if not text:
        return None
    try:
        return json.loads(text)
    except ValueError:
        return {"text": text}
