"""The prompt of a step: persona, history and tools, in an order that providers can cache. Pure."""

from collections.abc import Sequence

from engine.agent.brain import Brain
from engine.chat.content import Message, Role, text_of
from engine.models.model import ModelPrompt, ToolOffer
from engine.tools.registry import ToolSet


def compose_prompt(brain: Brain, messages: Sequence[Message], tools: ToolSet) -> ModelPrompt:
    """One request: stable parts first, so that only the newest messages are new to the provider."""
    stored = [text_of(message.content) for message in messages if message.role is Role.SYSTEM]
    return ModelPrompt(
        model=brain.model_name,
        system="\n\n".join(text for text in (brain.system, *stored) if text.strip()),
        messages=tuple(message for message in messages if message.role is not Role.SYSTEM),
        tools=tuple(
            ToolOffer(name=tool.name, description=tool.description, input_schema=tool.input_schema)
            for tool in tools.definitions
        ),
        max_output_tokens=brain.max_output_tokens,
        temperature=brain.temperature,
        options=brain.options,
        accepts=brain.accepts,
    )
