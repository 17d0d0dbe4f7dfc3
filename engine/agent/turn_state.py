"""What a turn knows of its chat and has in hand, and how it reports: shared by all that work on it.

Nothing here is durable: every fact goes through the chat machine, fenced by the runner's id and the
history that the step was made from. What is in hand but not yet stored (a stream, finished results,
a step whose commit was refused) can be had at any time, so that whoever stops the run loses nothing.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from engine.agent.brain import Brain
from engine.agent.gate import Gate
from engine.agent.ports import TurnStore
from engine.agent.step import STEPS_MAX, partial_message
from engine.chat.changes import Episode
from engine.chat.commands import Command, Fence, FinishError
from engine.chat.content import Finish, Message, NewMessage, Role, ToolResultPart, Visibility
from engine.chat.decision import Refusal, RefusalReason
from engine.chat.errors import ChatError
from engine.chat.snapshot import Snapshot
from engine.chat.synthetic import result_message
from engine.models.model import ModelStream
from engine.store.outcomes import Applied
from engine.stream.part_buffer import EpisodeWriter
from engine.stream.relay import Relay

LOST = RefusalReason.LEASE_LOST


class Overtaken(Exception):
    """The chat machine refused a report: another worker, an edit or an interrupt came first."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.reason.value)
        self.refusal = refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnLimits:
    """How far a turn may go. Seconds; `attempts_max` model calls for one answer.

    `compaction_seconds`: how long all attempts at one summary may take together.

    `notify_after_seconds`: the owner is told of the end of a turn that took this long; None: never.
    """

    action_timeout_seconds: float = 86_400.0
    attempts_max: int = 25
    steps_max: int = STEPS_MAX
    notify_after_seconds: float | None = None
    compaction_seconds: float = 90.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnPorts:
    """What turns share: the store, the relay, time."""

    store: TurnStore
    relay: Relay
    now: Callable[[], datetime]
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    limits: TurnLimits = TurnLimits()


class TurnState:
    """One chat's run. Whoever works on it reads and commits here, and leaves in hand what it has.

    `began_at`: when the chat began to need a worker, by the database's clock.
    """

    def __init__(
        self,
        *,
        snapshot: Snapshot,
        gate: Gate,
        ports: TurnPorts,
        began_at: datetime | None = None,
    ) -> None:
        self.snapshot = snapshot
        self.gate = gate
        self.ports = ports
        # Invariant: what a refused or failed commit was about to store; empty once it is stored.
        self.unstored: tuple[NewMessage, ...] = ()
        # Invariant: results of finished calls of a stored step, while others of it still run.
        self.results: list[ToolResultPart] = []
        # Invariant: since when somebody waits, as far as it is known.
        self._asked_at = began_at
        self._stream: ModelStream | None = None
        self._brain: Brain | None = None
        self._began = 0.0

    @property
    def fence(self) -> Fence:
        """Who reports, and on which history. Only a turn of a chat that has a runner exists."""
        runner_id = self.snapshot.runner_id
        if runner_id is None:
            raise Overtaken(Refusal(reason=LOST))
        return Fence(runner_id=runner_id, history_version=self.snapshot.history_version)

    @property
    def has_taken_long(self) -> bool:
        """Whether whoever asked has waited so long that they may have turned to something else.

        They have waited since they spoke, or since they last answered a question. The clocks of this
        process and of the database are taken for one: it is a matter of minutes.
        """
        longest = self.ports.limits.notify_after_seconds
        if longest is None or self._asked_at is None:
            return False
        return (self.ports.now() - self._asked_at).total_seconds() >= longest

    @property
    def runtime_ms(self) -> int:
        """Since the model was asked."""
        return round((time.monotonic() - self._began) * 1000)

    @property
    def results_in_hand(self) -> tuple[NewMessage, ...]:
        """Results of finished calls that are not stored yet."""
        return tuple(result_message(result) for result in self.results)

    def in_hand(self, finish: Finish = Finish.INTERRUPTED) -> tuple[NewMessage, ...]:
        """Everything streamed or finished that is not stored yet, as messages to store."""
        streamed: tuple[NewMessage, ...] = ()
        if self._stream is not None and self._brain is not None:
            streamed = partial_message(
                self._stream.result(), finish, brain=self._brain, runtime_ms=self.runtime_ms
            )
        return (*self.unstored, *streamed, *self.results_in_hand)

    def begin_stream(self, stream: ModelStream, brain: Brain) -> None:
        """What this stream yields is in hand from now on."""
        self._stream, self._brain, self._began = stream, brain, time.monotonic()

    def end_stream(self, step: NewMessage) -> None:
        """The answer is whole; `step` is what is in hand of it."""
        self._stream = None
        self.unstored = (step,)

    async def commit(self, command: Command) -> Applied:
        """Report. Raises Overtaken; then the chat is as somebody else has left it."""
        outcome = await self.ports.store.submit(self.snapshot.chat_id, command)
        if isinstance(outcome, Refusal):
            raise Overtaken(outcome)
        self.snapshot = outcome.snapshot
        self.unstored = ()
        self._stream = None
        return outcome

    async def fail(self, error: ChatError, messages: tuple[NewMessage, ...] = ()) -> None:
        """End the turn in error, with what is done."""
        notify = self.has_taken_long
        await self.commit(
            FinishError(fence=self.fence, error=error, messages=messages, notify=notify)
        )

    async def read_history(self) -> Sequence[Message]:
        """The history that a step is made from; an edit that came first overtakes the turn."""
        prompt = await self.ports.store.read_prompt(self.snapshot.chat_id)
        if prompt.history_version != self.snapshot.history_version:
            raise Overtaken(Refusal(reason=RefusalReason.HISTORY_CHANGED))
        self._note_asked(prompt.messages)
        return prompt.messages

    def _note_asked(self, messages: Sequence[Message]) -> None:
        """A message that waited in the queue is asked when its turn begins."""
        asked = (
            message.created_at
            for message in reversed(messages)
            if message.role is Role.USER and message.visibility is Visibility.BOTH
        )
        spoken_at = next(asked, None)
        if spoken_at is not None and (self._asked_at is None or spoken_at > self._asked_at):
            self._asked_at = spoken_at

    def open_episode(self) -> EpisodeWriter:
        """Where followers see what comes next."""
        episode = Episode(
            history_version=self.snapshot.history_version,
            attempt=self.snapshot.generation_attempt,
        )
        return self.ports.relay.open_episode(self.snapshot.chat_id, episode)
