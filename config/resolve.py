"""What follows from the settings that are set: provider, model name, roles, contradictions (pure)."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from config.errors import Problem
from config.settings import ModelProvider, ModelSettings, Role, Settings

DEFAULT_MODEL_NAMES: Final[Mapping[ModelProvider, str]] = MappingProxyType(
    {
        ModelProvider.OPENAI: "gpt-4o-mini",
        ModelProvider.ANTHROPIC: "claude-sonnet-4-6",
        ModelProvider.DEMO: "demo",
    }
)
# The OpenAI address carries its version, the Anthropic one does not, as both SDKs have it.
DEFAULT_BASE_URLS: Final[Mapping[ModelProvider, str]] = MappingProxyType(
    {
        ModelProvider.OPENAI: "https://api.openai.com/v1",
        ModelProvider.ANTHROPIC: "https://api.anthropic.com",
    }
)
_ECOSYSTEM_PREFIXES: Final = (
    ("OPENAI_", ModelProvider.OPENAI),
    ("ANTHROPIC_", ModelProvider.ANTHROPIC),
)
_MODEL_NAMES: Final = ("API_KEY", "API_KEY_FILE", "BASE_URL")


def provider_by_environment(environ: Mapping[str, str]) -> ModelProvider | None:
    """Return the provider whose key or address stands in the environment; OpenAI's comes first."""
    for prefix, provider in _ECOSYSTEM_PREFIXES:
        if any(environ.get(prefix + name) for name in _MODEL_NAMES):
            return provider
    return None


def without_other_providers(
    environ: Mapping[str, str], provider: ModelProvider
) -> Mapping[str, str]:
    """Return the environment without the keys and addresses of providers that are not in use."""
    foreign = {
        prefix + name
        for prefix, owner in _ECOSYSTEM_PREFIXES
        if owner is not provider
        for name in _MODEL_NAMES
    }
    return {name: value for name, value in environ.items() if name not in foreign}


def resolve_model(model: ModelSettings, provider: ModelProvider) -> ModelSettings:
    """Fill in the provider, and its usual model and address where none is given."""
    return replace(
        model,
        provider=provider,
        name=model.name or DEFAULT_MODEL_NAMES[provider],
        base_url=model.base_url or DEFAULT_BASE_URLS.get(provider),
    )


def configured_roles(settings: Settings) -> tuple[Role, ...]:
    """Return what a process does when it is not told: all that needs no key, and what has one."""
    roles = [Role.API, Role.WORKER]
    slack = settings.slack
    if slack.bot_token and (slack.app_token or slack.signing_secret):
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
    return [*found, *_roles_without_tokens(settings)]


def _roles_without_tokens(settings: Settings) -> list[Problem]:
    found: list[Problem] = []
    slack = settings.slack
    if slack.bot_token and not (slack.app_token or slack.signing_secret):
        found.append(
            Problem(
                where="slack.bot_token",
                what="is set, but no way to receive events is",
                mend="set SLACK_APP_TOKEN (Socket Mode) or SLACK_SIGNING_SECRET (HTTP)",
            )
        )
    if (slack.app_token or slack.signing_secret or Role.SLACK in settings.roles) and (
        not slack.bot_token
    ):
        found.append(
            Problem(
                where="slack.bot_token",
                what="is missing, but Slack is asked for",
                mend="set SLACK_BOT_TOKEN; `threadwright init slack` says where to find it",
            )
        )
    if Role.DISCORD in settings.roles and not settings.discord.token:
        found.append(
            Problem(
                where="discord.token",
                what="is missing, but the role discord is asked for",
                mend="set DISCORD_TOKEN or leave the role out",
            )
        )
    return found
