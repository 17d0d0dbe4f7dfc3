"""The prompt of a step: persona, history and tools, in an order that providers can cache. Pure."""

from collections.abc import Mapping, Sequence
from typing import Final

from engine.agent.brain import Brain
from engine.chat.content import FilePart, Message, Role, text_of
from engine.chat.ids import FileId
from engine.models.attachments import FileData, FilePlan, plan_files
from engine.models.model import ModelPrompt, ToolOffer
from engine.tools.registry import ToolSet

TEXT_SHARE: Final = 2
"""Bytes of text files for each token of the context: about half of it, at four bytes a token."""
TEXT_BYTES_UNKNOWN: Final = 256 * 1024
"""Where the model's context limit is not known."""


def plan_prompt_files(brain: Brain, messages: Sequence[Message]) -> FilePlan:
    """The files of people's messages that a request needs, within what a request can hold."""
    limit = brain.context_limit
    return plan_files(
        (
            part
            for message in reversed(messages)
            if message.role is Role.USER
            for part in reversed(message.content)
            if isinstance(part, FilePart)
        ),
        brain.accepts,
        text_bytes_max=TEXT_BYTES_UNKNOWN if limit is None else limit * TEXT_SHARE,
    )


def compose_prompt(
    brain: Brain,
    messages: Sequence[Message],
    tools: ToolSet,
    files: Mapping[FileId, FileData] | None = None,
) -> ModelPrompt:
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
        files=files or {},
        accepts=brain.accepts,
    )
