"""What answers for a bot: a model, a persona and tools; and how a turn gets one."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.chat.ids import ChatId, OrganizationId
from engine.models.cost import Prices
from engine.models.model import Model
from engine.store.side_work import SideCall
from engine.tools.definition import ToolDefinition
from engine.tools.registry import LocalTool, ToolSet


@dataclass(frozen=True, slots=True, kw_only=True)
class Brain:
    """A bot as a turn needs it.

    `model_name` is what the provider calls the model, `reference` (`provider:model`) what rows and
    reports do. `context_limit` in tokens; `compaction_threshold` in percent of it, 100 for never.
    `accepts`: the kinds of files that the model itself can read (`image`, `pdf`). `options` are
    further fields of the provider's request. `side` answers for titles and summaries.
    """

    model: Model
    model_name: str
    system: str
    reference: str = ""
    local_tools: tuple[LocalTool, ...] = ()
    dynamic_tools: tuple[ToolDefinition, ...] = ()
    context_limit: int | None = None
    compaction_threshold: int = 70
    max_output_tokens: int | None = None
    temperature: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    accepts: frozenset[str] = frozenset()
    prices: Prices | None = None
    side: "SideModel | None" = None

    @property
    def stored_name(self) -> str:
        """The model's name in rows and reports."""
        return self.reference or self.model_name

    @property
    def for_side_work(self) -> "SideModel":
        """What titles and summaries are made with: a model of their own, or the bot's."""
        return self.side or SideModel(
            model=self.model,
            model_name=self.model_name,
            reference=self.stored_name,
            prices=self.prices,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SideModel:
    """A model for short answers that nobody waits for."""

    model: Model
    model_name: str
    reference: str
    prices: Prices | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BrainRequest:
    """Who is to be answered: the chat's bot, the model that the chat asks for (None: the bot's
    own) and the person whose key may be used. `records_calls`: the chat asks for a record of its
    model calls. `side_call`: what is asked for beside the turns; None: it is a turn."""

    bot: str
    model: str | None = None
    identity: str | None = None
    chat_id: ChatId | None = None
    organization_id: OrganizationId | None = None
    records_calls: bool = False
    side_call: SideCall | None = None


Brains = Callable[[BrainRequest], Awaitable[Brain]]
"""The brain for a turn. Raises ModelFailure where none can be asked: no key, a disabled provider."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Equipment:
    """What one turn works with: the same from its first step to its last."""

    brain: Brain
    tools: ToolSet


Equip = Callable[[], Awaitable[Equipment]]
"""Fetches a turn's equipment. Raises ModelFailure."""
