"""What answers for each bot: the model that the chat, the bot or the catalogue names, the persona, tools.

The chat's model comes first, then that of the bot's file, then the default of the database, then that of
the settings. A model that cannot be asked ends in the chat, before any request.
"""

import logging
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import TypeVar

import aiohttp

from bots.bot_models import choice_for
from bots.brain_models import BrainModels
from bots.catalog import DEFAULT_BOT, Bot
from config.secret import Secret
from config.settings import Settings
from engine.agent.brain import Brain, BrainRequest, Brains, SideModel
from engine.chat.answerers import parse_answerers
from engine.chat.errors import ChatError
from engine.models.catalog import Choice, ModelCatalog
from engine.models.key_policy import CentralKey, Unavailable, UserKey, choose_key, error_of
from engine.models.live_catalog import LiveCatalog
from engine.models.model import Model, ModelFailure
from engine.models.output_limit import default_output_limit
from engine.store.errors import SealBroken, SecretKeyUnknown
from engine.tools.attach_file import ATTACH_FILE
from engine.tools.builtin import ASK_PEOPLE, current_time_tool
from engine.tools.definition import ToolDefinition
from engine.tools.registry import LocalTool

log = logging.getLogger(__name__)
T = TypeVar("T")
_UNREADABLE = "There is a key, but it cannot be read. Ask an administrator to store it anew."


def build_brains(
    settings: Settings,
    bots: Mapping[str, Bot],
    session: aiohttp.ClientSession,
    catalog: LiveCatalog,
) -> Brains:
    """The brain of every bot. A bot that is gone is answered for by the default one."""
    return BrainMaker(settings, bots, session, catalog).brain_of


class BrainMaker:
    """Makes brains from what is configured at the moment."""

    def __init__(
        self,
        settings: Settings,
        bots: Mapping[str, Bot],
        session: aiohttp.ClientSession,
        catalog: LiveCatalog,
    ) -> None:
        self._side_name = settings.model.side_name
        self._bots = bots
        self._fallback = bots.get(DEFAULT_BOT) or next(iter(bots.values()))
        self._catalog = catalog
        self._models = BrainModels(session)

    async def brain_of(self, request: BrainRequest) -> Brain:
        """The brain for a turn. Raises ModelFailure where no model can be asked for it."""
        catalog = await self._catalog.current()
        bot = self._bots.get(request.bot, self._fallback)
        choice = _chosen(choice_for(catalog, bot, request.model))
        model = await self._model_of(catalog, choice, request.identity)
        side = await self._side(catalog, request.identity)
        return _brain(bot, choice, model, side)

    async def _model_of(self, catalog: ModelCatalog, choice: Choice, identity: str | None) -> Model:
        """Who asks for it. Raises ModelFailure."""
        provider = choice.provider
        user_key, fault = await self._user_key(choice, identity)
        match choose_key(provider.policy, has_user_key=user_key is not None):
            case UserKey():
                return self._models.model(catalog, provider, user_key)
            case CentralKey():
                return self._models.model(catalog, provider, None)
            case Unavailable(reason=reason):
                # A key that cannot be read is as good as none; the log tells operators why.
                detail = _UNREADABLE if fault or provider.fault else None
                shown = provider.shown_name
                raise ModelFailure(error_of(reason, provider=shown, detail=detail))

    async def _user_key(self, choice: Choice, identity: str | None) -> tuple[Secret | None, str]:
        """The person's own key, or why it cannot be read."""
        try:
            return await self._catalog.user_key(choice.provider, identity), ""
        except (SecretKeyUnknown, SealBroken) as fault:
            extra = {
                "action": "secret_unreadable",
                "provider": choice.provider.name,
                "reason": str(fault),
            }
            log.error("Somebody's own key cannot be read.", extra=extra)  # noqa: TRY400 - no trace
            return None, str(fault)

    async def _side(self, catalog: ModelCatalog, identity: str | None) -> SideModel | None:
        """The model for titles and summaries. None: the bot's own, also where this one cannot be asked."""
        if self._side_name is None:
            return None
        try:
            choice = _chosen(catalog.resolve(self._side_name))
            model = await self._model_of(catalog, choice, identity)
        except ModelFailure as failure:
            extra = {"action": "side_model_unusable", "kind": failure.error.kind.value}
            log.warning("The model for titles and summaries cannot be asked.", extra=extra)
            return None
        return SideModel(
            model=model,
            model_name=choice.model.name,
            reference=choice.reference,
            prices=choice.model.prices,
        )


def tools_of(bot: Bot) -> tuple[tuple[LocalTool, ...], tuple[ToolDefinition, ...]]:
    """What a bot may use: tools of ours, and those that people answer."""
    allowed = bot.file.tools.allow
    local = (current_time_tool(lambda: datetime.now(UTC)), ATTACH_FILE)
    ask = replace(ASK_PEOPLE, answerers=parse_answerers(bot.file.tools.answerers))
    return (
        tuple(tool for tool in local if _allows(allowed, tool.definition.name)),
        tuple(tool for tool in (ask,) if _allows(allowed, tool.name)),
    )


def _brain(bot: Bot, choice: Choice, model: Model, side: SideModel | None) -> Brain:
    offered, own = choice.model, bot.file.model
    local, dynamic = tools_of(bot)
    persona = "\n\n".join(text for text in (bot.persona, bot.file.instructions or "") if text)
    return Brain(
        model=model,
        model_name=offered.name,
        reference=choice.reference,
        system=persona,
        local_tools=local,
        dynamic_tools=dynamic,
        context_limit=offered.context_limit,
        compaction_threshold=offered.compaction_threshold,
        max_output_tokens=own.max_output_tokens or _output_limit(choice),
        temperature=_first(own.temperature, offered.temperature),
        options=offered.options,
        accepts=offered.accepts,
        prices=offered.prices,
        side=side,
    )


def _output_limit(choice: Choice) -> int | None:
    offered = choice.model
    if offered.max_output_tokens is not None:
        return offered.max_output_tokens
    most = default_output_limit(choice.provider.config.wire, offered.name)
    if most is None or offered.context_limit is None:
        return most
    return min(most, max(1, offered.context_limit // 2))


def _chosen(found: Choice | ChatError) -> Choice:
    if isinstance(found, ChatError):
        raise ModelFailure(found)
    return found


def _first(*values: T | None) -> T | None:
    return next((value for value in values if value is not None), None)


def _allows(patterns: tuple[str, ...], name: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
