"""Builds what answers for each bot: the configured model, the persona and the tools it may have."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase

import aiohttp

from bots.catalog import DEFAULT_BOT, Bot
from bots.errors import OperatorError
from config.settings import ModelProvider, Settings
from engine.agent.brain import Brain, BrainRequest, Brains
from engine.models.client import HttpModel
from engine.models.model import Model
from engine.models.provider import ProviderConfig
from engine.tools.attach_file import ATTACH_FILE
from engine.tools.builtin import ASK_PEOPLE, current_time_tool

OPENAI_URL = "https://api.openai.com/v1"
PROVIDER_NAMES = {ModelProvider.OPENAI: "OpenAI", ModelProvider.DEMO: "Demo model"}


def build_brains(
    settings: Settings, bots: Mapping[str, Bot], session: aiohttp.ClientSession
) -> Brains:
    """The brain of every bot. A bot that is gone is answered for by the default one.

    Raises OperatorError where the configured provider cannot be asked.
    """
    models: dict[ModelProvider, Model] = {}
    brains = {key: _brain(settings, bot, session, models) for key, bot in bots.items()}
    fallback = brains.get(DEFAULT_BOT) or next(iter(brains.values()))

    async def brain_of(request: BrainRequest) -> Brain:
        brain = brains.get(request.bot, fallback)
        return brain if request.model is None else _with_model(brain, request.model)

    return brain_of


def _brain(
    settings: Settings,
    bot: Bot,
    session: aiohttp.ClientSession,
    models: dict[ModelProvider, Model],
) -> Brain:
    own = bot.file.model
    provider = own.provider or settings.model.provider
    if provider not in models:
        models[provider] = _model(settings, provider, session)
    allowed = bot.file.tools.allow
    local = (current_time_tool(lambda: datetime.now(UTC)), ATTACH_FILE)
    persona = "\n\n".join(text for text in (bot.persona, bot.file.instructions or "") if text)
    return Brain(
        model=models[provider],
        model_name=own.name or settings.model.name or "demo",
        system=persona,
        local_tools=tuple(tool for tool in local if _allows(allowed, tool.definition.name)),
        dynamic_tools=tuple(tool for tool in (ASK_PEOPLE,) if _allows(allowed, tool.name)),
        context_limit=settings.model.context_limit,
        max_output_tokens=own.max_output_tokens or settings.model.max_output_tokens,
        temperature=settings.model.temperature if own.temperature is None else own.temperature,
    )


def _model(settings: Settings, provider: ModelProvider, session: aiohttp.ClientSession) -> Model:
    model = settings.model
    match provider:
        case ModelProvider.DEMO | ModelProvider.AUTO:
            from engine.models.demo import DemoModel

            return DemoModel()
        case ModelProvider.ANTHROPIC:
            raise OperatorError(
                "the model provider anthropic is not supported in this version",
                mend="set OPENAI_API_KEY, or OPENAI_BASE_URL to a compatible server",
            )
        case ModelProvider.OPENAI:
            base_url = model.base_url or OPENAI_URL
            config = ProviderConfig(
                name=provider.value,
                display_name=PROVIDER_NAMES[provider],
                base_url=base_url,
                api_key=model.api_key,
                needs_key=base_url == OPENAI_URL,
                first_token_timeout_seconds=model.first_token_timeout_seconds,
                silence_timeout_seconds=model.silence_timeout_seconds,
            )
            return HttpModel(session, config)


def _allows(patterns: tuple[str, ...], name: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _with_model(brain: Brain, model_name: str) -> Brain:
    return replace(brain, model_name=model_name)
