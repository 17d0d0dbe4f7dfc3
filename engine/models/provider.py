"""Where and how a configured provider is asked. Values only."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from config.secret import Secret


class Wire(StrEnum):
    """The API that a provider speaks."""

    CHAT_COMPLETIONS = "chat_completions"
    RESPONSES = "responses"
    ANTHROPIC = "anthropic"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderConfig:
    """Where and how to ask. `display_name` is what people know the provider by.

    `name` is the configured provider's own: several of one wire stand side by side.
    `first_token_timeout_seconds` runs from the request to the first part; `silence_timeout_seconds`
    from part to part, 0 for no limit. `output_limit_field`: newer OpenAI models want
    `max_completion_tokens`, others `max_tokens`; only Chat Completions asks.
    """

    name: str
    base_url: str
    wire: Wire = Wire.CHAT_COMPLETIONS
    display_name: str = ""
    api_key: Secret | None = None
    needs_key: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)
    output_limit_field: str = "max_tokens"
    connect_timeout_seconds: float = 10.0
    first_token_timeout_seconds: float = 60.0
    silence_timeout_seconds: float = 600.0
