"""The hint that a chat changed, and the counters that say what of it changed.

A hint may be lost, doubled or late: whoever acts on one compares its versions with what it knows.
"""

from msgspec import Struct

from engine.chat.ids import ChatId, RunnerId
from engine.chat.snapshot import ChatStatus


class Episode(Struct, frozen=True, kw_only=True, order=True):
    """One generation attempt on one history. A later one of the same chat compares greater."""

    history_version: int
    attempt: int


class Versions(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a reader knows of a chat. Zero everywhere: nothing yet."""

    snapshot_version: int = 0
    history_version: int = 0
    queue_version: int = 0
    retry_version: int = 0
    generation_attempt: int = 0

    @property
    def episode(self) -> Episode:
        """The generation attempt that these versions stand at."""
        return Episode(history_version=self.history_version, attempt=self.generation_attempt)


NOTHING_KNOWN = Versions()


class ChatChange(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A chat as one transaction left it, without its contents.

    `runner_id`: who holds the chat; `lease_live`: with a fresh heartbeat, by the database's clock.
    `wake`: the chat now needs a worker that nobody is yet. `taken`: a worker has just acquired it.
    """

    chat_id: ChatId
    snapshot_version: int
    history_version: int
    queue_version: int
    retry_version: int
    generation_attempt: int
    status: ChatStatus
    archived: bool = False
    runner_id: RunnerId | None = None
    lease_live: bool = False
    wake: bool = False
    taken: bool = False

    @property
    def versions(self) -> Versions:
        """The counters alone."""
        return Versions(
            snapshot_version=self.snapshot_version,
            history_version=self.history_version,
            queue_version=self.queue_version,
            retry_version=self.retry_version,
            generation_attempt=self.generation_attempt,
        )
