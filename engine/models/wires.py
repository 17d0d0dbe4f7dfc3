"""Which wire format a configured provider speaks."""

from engine.models.chat_completions_format import ChatCompletionsFormat
from engine.models.provider import ProviderConfig, Wire
from engine.models.wire_format import WireFormat


def wire_of(provider: ProviderConfig) -> WireFormat:
    """The format to ask this provider in."""
    match provider.wire:
        case Wire.CHAT_COMPLETIONS:
            return ChatCompletionsFormat(
                provider=provider.name, output_limit_field=provider.output_limit_field
            )
        case Wire.RESPONSES | Wire.ANTHROPIC:
            raise NotImplementedError(provider.wire)
