"""Which model a bot is answered by, and which bots ask for one that cannot be had (pure)."""

from collections.abc import Iterable

from bots.catalog import Bot
from engine.chat.errors import ChatError
from engine.models.catalog import Choice, ModelCatalog


def choice_for(catalog: ModelCatalog, bot: Bot, asked: str | None = None) -> Choice | ChatError:
    """The model that the chat asks for, else the bot's own, else the default; or the turn's error."""
    own = bot.file.model
    if asked is None and own.provider is not None:
        return catalog.resolve_at(own.provider, own.name)
    return catalog.resolve(asked or own.name)


def unanswered_bots(catalog: ModelCatalog, bots: Iterable[Bot]) -> list[tuple[str, str]]:
    """The bots whose files name a model or provider that nobody could be answered by, and why."""
    named = (bot for bot in bots if bot.file.model.name or bot.file.model.provider)
    found = ((bot.key, choice_for(catalog, bot)) for bot in named)
    return [(key, choice.message) for key, choice in found if isinstance(choice, ChatError)]
