"""What distinguishes one provider API from another, behind one protocol. Nothing here does I/O."""

from collections.abc import Mapping
from typing import Protocol

from engine.models.model import ModelPrompt
from engine.models.parts import StreamDecoder


class WireFormat(Protocol):
    """One API as a configured provider speaks it. Stateless: one for each provider."""

    @property
    def path(self) -> str:
        """What is asked, below the provider's base address; begins with a slash."""
        ...

    def headers(self, key: str) -> Mapping[str, str]:
        """The headers that the API itself wants; `key` is empty where there is none."""
        ...

    def body(self, prompt: ModelPrompt, *, is_streamed: bool) -> bytes:
        """The request for any history, mended so that the provider does not refuse its shape."""
        ...

    def decoder(self) -> StreamDecoder:
        """A fresh decoder for one reply, streamed or not."""
        ...
