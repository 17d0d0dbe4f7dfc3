"""Try out Slack tokens: whose they are, what they may do, how far apart the clocks are."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack.manifest import ESSENTIALS, FEATURES

_TIMEOUT_SECONDS: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenProbe:
    """What Slack said about one token. `failure` is its error code, or the error's name where it is
    unreachable."""

    failure: str | None = None
    is_unreachable: bool = False
    team: str = ""
    bot: str = ""
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
