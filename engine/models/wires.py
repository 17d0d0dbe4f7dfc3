"""Which wire format a configured provider speaks."""

from engine.models.anthropic_format import AnthropicFormat
from engine.models.chat_completions_format import ChatCompletionsFormat
from engine.models.provider import ProviderConfig, Wire
from engine.models.responses_format import ResponsesFormat
from engine.models.wire_format import WireFormat


def wire_of(provider: ProviderConfig) -> WireFormat:
    """The format to ask this provider in."""
    match provider.wire:
        case Wire.CHAT_COMPLETIONS:
            return ChatCompletionsFormat(
                provider=provider.name, output_limit_field=provider.output_limit_field
            )
        case Wire.ANTHROPIC:
            return AnthropicFormat(provider=provider.name, base_url=provider.base_url)
        case Wire.RESPONSES:
            return ResponsesFormat(provider=provider.name)
