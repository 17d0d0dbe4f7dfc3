"""OpenAI Chat Completions as a wire format: OpenAI and everything that imitates it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from engine.models.chat_completions import ChatCompletionsDecoder
from engine.models.model import ModelPrompt
from engine.models.parts import StreamDecoder
from engine.models.request import request_body


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatCompletionsFormat:
    """A WireFormat. `provider` is noted on the reasoning that its answers hold."""

    provider: str
    output_limit_field: str = "max_tokens"

    @property
    def path(self) -> str:
        """The one endpoint."""
        return "/chat/completions"

    def headers(self, key: str) -> Mapping[str, str]:
        """A bearer token, where there is a key."""
        return {"Authorization": f"Bearer {key}"} if key else {}

    def body(self, prompt: ModelPrompt, *, is_streamed: bool) -> bytes:
        """The request's JSON."""
        return request_body(
            prompt, is_streamed=is_streamed, output_limit_field=self.output_limit_field
        )

    def decoder(self) -> StreamDecoder:
        """A decoder for one reply."""
        return ChatCompletionsDecoder(self.provider)
