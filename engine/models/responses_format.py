"""OpenAI Responses as a wire format: OpenAI and everything that imitates it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from engine.models.model import ModelPrompt
from engine.models.parts import StreamDecoder
from engine.models.responses import ResponsesDecoder
from engine.models.responses_request import responses_body


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponsesFormat:
    """A WireFormat. `provider` tells the items that are this provider's own from those of others."""

    provider: str

    @property
    def path(self) -> str:
        """The one endpoint."""
        return "/responses"

    def headers(self, key: str) -> Mapping[str, str]:
        """A bearer token, where there is a key."""
        return {"Authorization": f"Bearer {key}"} if key else {}

    def body(self, prompt: ModelPrompt, *, is_streamed: bool) -> bytes:
        """The request's JSON."""
        return responses_body(prompt, provider=self.provider, is_streamed=is_streamed)

    def decoder(self) -> StreamDecoder:
        """A decoder for one reply."""
        return ResponsesDecoder(self.provider)
