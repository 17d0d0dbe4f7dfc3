"""Checks of Slack apps that people install: what the database holds of them. Nothing is changed."""

from typing import Final

from adapters.slack.identity import PLATFORM
from bots.cli_slack import standing
from bots.finding import Finding, fail, ok, warn
from config.settings import Settings
from config.slack_apps import slack_apps
from engine.store.errors import DatabaseUnavailable, SealBroken, SecretKeyUnknown, StoreError
from engine.store.installations import Installation, Installations
from engine.store.migrate import pending
from engine.store.pool import open_pool
from engine.store.vault import Vault

_CHECK: Final = "slack installations"
_AGAIN: Final = "have somebody there install it again, at /slack/install"


async def check_installations(settings: Settings) -> list[Finding]:
    """Check what is installed where. Says nothing without an app that can be installed, or a database."""
    apps = slack_apps(settings.slack)
    if not any(app.can_be_installed for app in apps.values()) or settings.database.url is None:
        return []
    try:
        pool = await open_pool(
            settings.database.url.reveal(), connections_min=1, connections_max=1, wait_seconds=0.0
        )
    except DatabaseUnavailable:
        return []
    try:
        if await pending(pool):
            return []
        vault = Vault(settings.secret_key, settings.secret_key_previous)
        return await _findings(Installations(pool, vault), set(apps))
    except StoreError:
        # The check of the database says what is wrong with it.
        return []
    finally:
        await pool.close()


async def _findings(stored: Installations, apps: set[str]) -> list[Finding]:
    living = [each for each in await stored.list_all(PLATFORM) if each.ended_at is None]
    found = [await _finding(stored, each, apps) for each in living]
    flaws = [each for each in found if each is not None]
    if not living:
        return [warn(_CHECK, "nobody has installed an app yet", mend=_AGAIN)]
    return flaws or [ok(_CHECK, f"{len(living)} in order")]


async def _finding(stored: Installations, each: Installation, apps: set[str]) -> Finding | None:
    if each.app not in apps:
        mend = "set it up again, or `threadwright slack remove` it"
        return warn(
            _CHECK, f"{each.installation}: no app is called {each.app or '(none)'}", mend=mend
        )
    if each.trouble is not None:
        return fail(_CHECK, f"{each.installation}: {standing(each)}", mend=_AGAIN)
    try:
        await stored.open(PLATFORM, each.installation)
    except (SecretKeyUnknown, SealBroken) as error:
        what = f"{each.installation}: its token cannot be opened"
        return fail(_CHECK, what, mend=f"{error}, or {_AGAIN}")
    return None
