"""What follows from the settings that are set: provider, model name, roles, contradictions (pure)."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from config.errors import Problem
from config.settings import ModelProvider, ModelSettings, ModelWire, Role, Settings
from config.slack_apps import contradictions_of_slack, slack_apps, speaks_and_hears

DEFAULT_MODEL_NAMES: Final[Mapping[ModelProvider, str]] = MappingProxyType(
    {
        ModelProvider.OPENAI: "gpt-4o-mini",
        ModelProvider.ANTHROPIC: "claude-sonnet-4-5",
        ModelProvider.DEMO: "demo",
    }
)
DEFAULT_BASE_URLS: Final[Mapping[ModelProvider, str]] = MappingProxyType(
    {
        ModelProvider.OPENAI: "https://api.openai.com/v1",
        ModelProvider.ANTHROPIC: "https://api.anthropic.com",
    }
)
OPENAI_NAMES: Final = ("OPENAI_API_KEY", "OPENAI_API_KEY_FILE", "OPENAI_BASE_URL")
ANTHROPIC_NAMES: Final = ("ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY_FILE", "ANTHROPIC_BASE_URL")
SECRET_KEY_LENGTH_MIN: Final = 16
_NOT_YET: Final = (Role.DISCORD, Role.WEBHOOK, Role.SCHEDULE)


def resolve_model(model: ModelSettings, provider: ModelProvider) -> ModelSettings:
    """Fill in the provider, and its usual model and address where none is given."""
    return replace(
        model,
        provider=provider,
        name=model.name or DEFAULT_MODEL_NAMES.get(provider),
        base_url=model.base_url or DEFAULT_BASE_URLS.get(provider),
    )


def configured_roles(settings: Settings) -> tuple[Role, ...]:
    """Return what a process does when it is not told: all that needs no key, and what has one."""
    roles = [Role.API, Role.WORKER]
    if any(speaks_and_hears(app) for app in slack_apps(settings.slack).values()):
        roles.append(Role.SLACK)
    return tuple(roles)


def contradictions(settings: Settings) -> list[Problem]:
    """Return what is wrong between settings that are each fine by themselves."""
    found: list[Problem] = []
    for section in ("worker", "delivery"):
        room = settings.worker if section == "worker" else settings.delivery
        if room.heartbeat_seconds * 2 > room.lease_seconds:
            found.append(
                Problem(
                    where=f"{section}.heartbeat_seconds",
                    what="must be at most half of lease_seconds, or one late beat loses the lease",
                    mend=f"set it to {room.lease_seconds / 3:g} or raise {section}.lease_seconds",
                )
            )
    if settings.database.pool_min > settings.database.pool_max:
        found.append(
            Problem(
                where="database.pool_min",
                what="is more than database.pool_max",
                mend="lower it or raise database.pool_max",
            )
        )
    return [
        *found,
        *contradictions_of_slack(settings),
        *_not_supported(settings),
        *_wire_that_nobody_speaks(settings.model),
        *_short_secret_keys(settings),
    ]


def _not_supported(settings: Settings) -> list[Problem]:
    return [
        Problem(
            where="roles",
            what=f"{role.value} is not available in this version",
            mend="leave it out of the roles",
        )
        for role in settings.roles
        if role in _NOT_YET
    ]


def _wire_that_nobody_speaks(model: ModelSettings) -> list[Problem]:
    if model.wire is ModelWire.CHAT_COMPLETIONS or model.provider is ModelProvider.OPENAI:
        return []
    return [
        Problem(
            where="model.wire",
            what=f"{model.wire.value} goes with the provider openai, not with {model.provider.value}",
            mend="leave it out, or set OPENAI_API_KEY or OPENAI_BASE_URL",
        )
    ]


def _short_secret_keys(settings: Settings) -> list[Problem]:
    keys = {
        "secret_key": settings.secret_key,
        "secret_key_previous": settings.secret_key_previous,
    }
    return [
        Problem(
            where=name,
            what=f"is shorter than {SECRET_KEY_LENGTH_MIN} characters, so it can be guessed",
            mend="set it to a long random text, such as that of `openssl rand -hex 32`",
        )
        for name, key in keys.items()
        if key is not None and len(key.reveal().strip()) < SECRET_KEY_LENGTH_MIN
    ]
