"""The tools of a turn, by name: definitions, and for the local ones what runs them."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from engine.chat.content import FilePart
from engine.chat.files import FileInfo, FileRefusal, NewFile
from engine.chat.ids import DEFAULT_ORGANIZATION, ChatId, OrganizationId
from engine.tools.definition import ToolDefinition

KeepFile = Callable[[NewFile], Awaitable[FileInfo | FileRefusal]]
"""Stores a file for the chat that a call belongs to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """Where a call comes from. `keep_file` None: there is no place for files."""

    chat_id: ChatId
    tool_call_id: str
    organization_id: OrganizationId = DEFAULT_ORGANIZATION
    keep_file: KeepFile | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutput:
    """A result with files for people. `result` is any JSON value or text, for the model."""

    result: Any
    files: tuple[FilePart, ...] = ()


ToolFunction = Callable[[Mapping[str, Any], ToolContext], Awaitable[Any]]
"""Runs one call: arguments in, any JSON value, text or ToolOutput out. Raising gives the model the
error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalTool:
    """A tool that the worker itself runs."""

    definition: ToolDefinition
    run: ToolFunction


class ToolSet:
    """The tools offered in one turn. Built-in tools win over the chat's own of the same name."""

    def __init__(
        self, local: Iterable[LocalTool] = (), dynamic: Iterable[ToolDefinition] = ()
    ) -> None:
        self._local = {tool.definition.name: tool for tool in local}
        self._definitions = {name: tool.definition for name, tool in self._local.items()}
        for definition in dynamic:
            self._definitions.setdefault(definition.name, definition)

    @property
    def definitions(self) -> tuple[ToolDefinition, ...]:
        """What the model is offered, sorted by name so that prompts are cached."""
        return tuple(self._definitions[name] for name in sorted(self._definitions))

    def definition(self, name: str) -> ToolDefinition | None:
        """The definition, or None when the model made the name up."""
        return self._definitions.get(name)

    def local(self, name: str) -> LocalTool | None:
        """The local tool of that name."""
        return self._local.get(name)
