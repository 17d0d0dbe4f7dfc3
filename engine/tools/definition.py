"""What a tool is, in MCP's terms, and who executes it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.chat.answerers import Answerers
from engine.chat.snapshot import Executor

NAME_LENGTH_MAX = 64
"""The shortest limit among model providers (OpenAI)."""
NAME_PATTERN = r"[a-zA-Z0-9_-]{1,64}"
"""The whole name; to be matched in full."""

EMPTY_SCHEMA: Mapping[str, Any] = {"type": "object", "properties": {}}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDefinition:
    """A tool as the model sees it.

    `read_only`: running it twice does no harm, so it needs no ledger. `timeout_seconds`: for local
    tools the time a call may take, for dynamic ones how long to wait for the answer (None: default).
    `answerers`: who of the people may answer (None: anyone who sees the question).
    """

    name: str
    description: str
    input_schema: Mapping[str, Any] = field(default_factory=lambda: EMPTY_SCHEMA)
    output_schema: Mapping[str, Any] = field(default_factory=dict)
    executor: Executor = Executor.LOCAL
    read_only: bool = False
    timeout_seconds: float | None = None
    on_timeout_continue: bool = False
    answerers: Answerers | None = None
