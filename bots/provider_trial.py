"""Asks a provider's model for one word, as a turn would, and tells what happened."""

import asyncio
import time
from typing import Final

import click

from bots.brain_models import BrainModels
from bots.cli_store import with_store
from bots.errors import OperatorError
from bots.secret_key import with_secret_key
from bots.settled_models import settled_providers
from config.settings import Settings
from engine.chat.content import NewMessage, Role, plain, text_of
from engine.chat.errors import ChatError
from engine.models.catalog import Choice, ModelCatalog
from engine.models.client import model_session
from engine.models.key_policy import Unavailable, choose_key, error_of
from engine.models.live_catalog import LiveCatalog
from engine.models.model import ModelFailure, ModelPrompt
from engine.models.output_limit import default_output_limit
from engine.store.catalog import Catalog
from engine.store.configuration import ConfigurationVersion
from engine.store.pool import Pool
from engine.store.vault import Vault

_SECONDS_MAX: Final = 120.0
_SHOWN_MAX: Final = 200
_MEND: Final = "see `threadwright providers list` and `threadwright models list`"


async def try_provider(settings: Settings, name: str, model: str | None) -> None:
    """Ask, print the answer. Raises OperatorError with the error of the turn that would have failed."""
    settings = with_secret_key(settings)

    async def work(pool: Pool) -> None:
        vault = Vault(settings.secret_key, settings.secret_key_previous)
        configuration = ConfigurationVersion(pool)
        live = LiveCatalog(Catalog(pool, vault), configuration, settled_providers(settings))
        catalog = await live.current()
        choice = catalog.resolve_at(name, model)
        if isinstance(choice, ChatError):
            raise OperatorError(choice.message, mend=_MEND)
        await _ask(catalog, choice)

    await with_store(settings, work)


async def _ask(catalog: ModelCatalog, choice: Choice) -> None:
    provider = choice.provider
    key = choose_key(provider.policy, has_user_key=False)
    if isinstance(key, Unavailable):
        error = error_of(key.reason, provider=provider.shown_name, detail=provider.fault or None)
        raise OperatorError(_told(error), mend="see `threadwright providers set-key`")
    prompt = ModelPrompt(
        model=choice.model.name,
        messages=(NewMessage(role=Role.USER, content=plain("Answer with one word: ready")),),
        max_output_tokens=choice.model.max_output_tokens
        or default_output_limit(provider.config.wire, choice.model.name),
        temperature=choice.model.temperature,
        options=choice.model.options,
    )
    began = time.monotonic()
    try:
        async with asyncio.timeout(_SECONDS_MAX), model_session() as session:
            result = await BrainModels(session).model(catalog, provider, None).complete(prompt)
    except ModelFailure as failure:
        raise OperatorError(_told(failure.error), mend="mend that, then try again") from failure
    except TimeoutError as error:
        what = f"{choice.reference} did not answer within {_SECONDS_MAX:g} s"
        raise OperatorError(what, mend="try again later") from error
    took = time.monotonic() - began
    answer = " ".join(text_of(result.content).split())[:_SHOWN_MAX] or "(no text)"
    click.echo(f"{choice.reference} answered in {took:.1f} s: {answer}")


def _told(error: ChatError) -> str:
    if not error.detail:
        return error.message
    return f"{error.message.rstrip('.')} ({error.detail.rstrip('.')})"
