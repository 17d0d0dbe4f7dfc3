"""Anthropic Messages as a wire format: Anthropic and everything that imitates it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from engine.models.anthropic import AnthropicDecoder
from engine.models.anthropic_request import messages_body
from engine.models.model import ModelPrompt
from engine.models.parts import StreamDecoder

API_VERSION: Final = "2023-06-01"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnthropicFormat:
    """A WireFormat. `provider` is noted on what only it understands, which it alone gets back."""

    provider: str
    base_url: str = ""

    @property
    def path(self) -> str:
        """The one endpoint. Base addresses are written with the version and without."""
        return "/messages" if self.base_url.rstrip("/").endswith("/v1") else "/v1/messages"

    def headers(self, key: str) -> Mapping[str, str]:
        """The key, where there is one, and the version that this code was written for."""
        version = {"anthropic-version": API_VERSION}
        return {"x-api-key": key, **version} if key else version

    def body(self, prompt: ModelPrompt, *, is_streamed: bool) -> bytes:
        """The request's JSON."""
        return messages_body(prompt, provider=self.provider, is_streamed=is_streamed)

    def decoder(self) -> StreamDecoder:
        """A decoder for one reply."""
        return AnthropicDecoder(self.provider)
