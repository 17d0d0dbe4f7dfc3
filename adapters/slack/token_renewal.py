"""Renews tokens that expire, well before they do, once for all replicas.

Theory of operation. A refresh token works once, so whoever renews holds a lease of the installation's name
and looks at the stored tokens under it; what comes of it is stored only in the place of the tokens that
were seen. No lock of the database is held meanwhile. A failure leaves the stored pair as it is; it is tried
again, soon where Slack was away, in an hour where it refused, and then operators are told.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Final
from uuid import uuid4

from adapters.delivery.patience import patiently
from adapters.errors import Denied, RateLimited, SurfaceError
from adapters.slack.identity import PLATFORM
from adapters.slack.oauth import SlackOAuth
from engine.api import AppTokens, Engine, Installation, StoreError, StoreUnavailable

logger = logging.getLogger(__name__)

LOOK_SECONDS: Final = 30.0
BATCH: Final = 50
LEASE_SECONDS: Final = 60.0
"""Longer than a call and storing its answer may take together."""
STORE_SECONDS: Final = 30.0
"""How long storing new tokens is tried: where it fails, the refresh token is lost."""
AWAY_SECONDS: Final = 60.0
REFUSED_SECONDS: Final = 3600.0


class TokenRenewal:
    """Renews for the apps of this process. `run` runs until drained."""

    def __init__(self, engine: Engine, apps: Mapping[str, SlackOAuth]) -> None:
        self._engine = engine
        self._apps = apps

    async def run(self, draining: asyncio.Event) -> None:
        """Renew what is due, now and then. What was begun is finished."""
        while not draining.is_set():
            try:
                await self.renew_due(draining)
            except StoreError as error:
                extra = {"action": "slack_tokens_not_looked_at", "code": type(error).__name__}
                logger.warning("tokens not looked at", extra=extra)
            try:
                async with asyncio.timeout(LOOK_SECONDS):
                    await draining.wait()
            except TimeoutError:
                continue

    async def renew_due(self, draining: asyncio.Event | None = None) -> None:
        """Renew all that are due, one after the other."""
        for installation in await self._engine.installations.due(PLATFORM, list(self._apps), BATCH):
            if draining is not None and draining.is_set():
                return
            await self.renew(installation)

    async def renew(self, installation: str) -> bool:
        """Renew one if it is due, and nobody else does. Whether its tokens are new now."""
        owner = uuid4()
        name = f"{PLATFORM} token {installation}"
        if await self._engine.hold_lease(name, owner, LEASE_SECONDS) is None:
            return False
        try:
            return await self._renew(installation)
        finally:
            await self._engine.release_lease(name, owner)

    async def _renew(self, installation: str) -> bool:
        opened = await self._engine.installations.open(PLATFORM, installation)
        if opened is None or opened.refresh_token is None or not opened.installation.is_due:
            return False
        seen = opened.installation
        oauth = self._apps.get(seen.app)
        if oauth is None:
            return False
        try:
            tokens = await oauth.renew(opened.refresh_token)
        except Denied as error:
            await self._refused(seen, error.code)
            return False
        except SurfaceError as error:
            seconds = AWAY_SECONDS
            if isinstance(error, RateLimited):
                seconds = max(seconds, error.retry_after_seconds)
            extra = {"action": "slack_token_not_renewed", "code": error.code}
            logger.warning("token not renewed", extra={**extra, "installation": installation})
            await self._engine.installations.put_off(seen, seconds)
            return False
        return await self._store(seen, tokens)

    async def _store(self, seen: Installation, tokens: AppTokens) -> bool:
        try:
            is_stored = await patiently(
                lambda: self._engine.installations.replace_tokens(seen, tokens),
                seconds=STORE_SECONDS,
            )
        except StoreUnavailable:
            extra = {"action": "slack_token_not_stored", "installation": seen.installation}
            logger.exception("new token not stored", extra=extra)
            raise
        extra = {"action": "slack_token_renewed", "installation": seen.installation}
        logger.info("token renewed", extra=extra)
        return is_stored

    async def _refused(self, seen: Installation, code: str) -> None:
        was_known = seen.trouble == code
        if await self._engine.installations.put_off(seen, REFUSED_SECONDS, trouble=code):
            extra = {"action": "slack_needs_reinstall", "installation": seen.installation}
            log = logger.info if was_known else logger.error
            log("no new token; the app must be installed again", extra={**extra, "code": code})
