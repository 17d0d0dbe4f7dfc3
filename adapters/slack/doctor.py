"""Try out Slack tokens: whose they are, what they may do, how the app is set, how far apart the clocks are."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack.client import DEAD_TOKEN
from adapters.slack.manifest import ESSENTIALS, FEATURES
from adapters.slack.wire import text_at

_TIMEOUT_SECONDS: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenProbe:
    """What Slack said about one token. `failure` is its error code, or the error's name where it is
    unreachable."""

    failure: str | None = None
    is_unreachable: bool = False
    team: str = ""
    bot: str = ""
    bot_id: str = ""
    scopes: frozenset[str] = frozenset()
    server_date: str | None = None


async def probe_bot_token(*, api_url: str, token: str) -> TokenProbe:
    """Ask Slack whose bot token this is and which scopes it carries."""
    client = AsyncWebClient(
        token=token, base_url=api_url, timeout=_TIMEOUT_SECONDS, retry_handlers=[]
    )
    try:
        answer = await client.auth_test()
    except SlackApiError as error:
        return TokenProbe(failure=str(error.response.get("error", "unknown_error")))
    except (TimeoutError, aiohttp.ClientError, OSError) as error:
        return TokenProbe(failure=type(error).__name__, is_unreachable=True)
    headers = {str(name).lower(): str(value) for name, value in answer.headers.items()}
    return TokenProbe(
        team=str(answer.get("team", "")),
        bot=str(answer.get("user", "")),
        bot_id=str(answer.get("bot_id") or ""),
        scopes=_scopes(headers),
        server_date=headers.get("date"),
    )


async def probe_app_token(*, api_url: str, token: str) -> TokenProbe:
    """Ask Slack for a Socket Mode address, which shows that the token may open connections."""
    client = AsyncWebClient(base_url=api_url, timeout=_TIMEOUT_SECONDS, retry_handlers=[])
    try:
        await client.apps_connections_open(app_token=token)
    except SlackApiError as error:
        return TokenProbe(failure=str(error.response.get("error", "unknown_error")))
    except (TimeoutError, aiohttp.ClientError, OSError) as error:
        return TokenProbe(failure=type(error).__name__, is_unreachable=True)
    return TokenProbe()


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestProbe:
    """An app's settings as a manifest, or why they cannot be had: Slack's error code."""

    failure: str | None = None
    manifest: Mapping[str, Any] = field(default_factory=dict)


async def probe_manifest(*, api_url: str, config_token: str, app_id: str) -> ManifestProbe:
    """Ask Slack for the app's settings. Only an app configuration token may."""
    client = AsyncWebClient(
        token=config_token, base_url=api_url, timeout=_TIMEOUT_SECONDS, retry_handlers=[]
    )
    try:
        answer = await client.apps_manifest_export(app_id=app_id)
    except SlackApiError as error:
        return ManifestProbe(failure=str(error.response.get("error", "unknown_error")))
    except (TimeoutError, aiohttp.ClientError, OSError) as error:
        return ManifestProbe(failure=type(error).__name__)
    manifest = answer.get("manifest")
    return ManifestProbe(manifest=manifest if isinstance(manifest, Mapping) else {})


def app_id_of(app_token: str) -> str | None:
    """The app's id, which an app-level token names: xapp-1-A0123-..."""
    pieces = app_token.split("-")
    is_known = len(pieces) > 2 and pieces[0] == "xapp" and pieces[2].startswith("A")
    return pieces[2] if is_known else None


async def probe_app_id(*, api_url: str, token: str, bot_id: str) -> str | None:
    """The id of the app that a bot belongs to; None where Slack does not tell."""
    client = AsyncWebClient(
        token=token, base_url=api_url, timeout=_TIMEOUT_SECONDS, retry_handlers=[]
    )
    try:
        answer = await client.bots_info(bot=bot_id)
    except (SlackApiError, TimeoutError, aiohttp.ClientError, OSError):
        return None
    return text_at(answer.data, "bot", "app_id") or None


async def revoke_token(*, api_url: str, token: str) -> str | None:
    """Give a token back to Slack. None, or Slack's word for why not; one that is dead already is given back."""
    client = AsyncWebClient(
        token=token, base_url=api_url, timeout=_TIMEOUT_SECONDS, retry_handlers=[]
    )
    try:
        await client.auth_revoke()
    except SlackApiError as error:
        code = str(error.response.get("error", "unknown_error"))
        return None if code in DEAD_TOKEN else code
    except (TimeoutError, aiohttp.ClientError, OSError) as error:
        return type(error).__name__
    return None


def missing_essentials(scopes: frozenset[str]) -> list[str]:
    """Return the scopes without which the bot can neither hear nor answer."""
    return sorted(set(ESSENTIALS.scopes) - scopes)


def missing_features(scopes: frozenset[str]) -> dict[str, list[str]]:
    """Return what people cannot do with this installation, with the scopes that are missing."""
    lacking = {
        feature.purpose: sorted(set(feature.scopes) - scopes) for feature in FEATURES.values()
    }
    return {purpose: scopes for purpose, scopes in lacking.items() if scopes}


def _scopes(headers: Mapping[str, str]) -> frozenset[str]:
    listed = headers.get("x-oauth-scopes", "")
    return frozenset(scope.strip() for scope in listed.split(",") if scope.strip())
