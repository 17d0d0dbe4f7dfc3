"""What answers for a bot: a model, a persona and tools. Built once a bot, shared by its chats."""

from collections.abc import Callable
from dataclasses import dataclass

from engine.models.model import Model
from engine.tools.definition import ToolDefinition
from engine.tools.registry import LocalTool


@dataclass(frozen=True, slots=True, kw_only=True)
class Brain:
    """A bot as a turn needs it. `context_limit` in tokens."""

    model: Model
    model_name: str
    system: str
    local_tools: tuple[LocalTool, ...] = ()
    dynamic_tools: tuple[ToolDefinition, ...] = ()
    context_limit: int | None = None
    max_output_tokens: int | None = None
    temperature: float | None = None


Brains = Callable[[str, str | None], Brain]
"""The brain of a bot, by its name and the model that the chat asks for (None: the bot's own)."""
