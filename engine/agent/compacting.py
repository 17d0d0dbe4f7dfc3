"""Has a history summarised when it grows too long or somebody asks, within seconds or not at all.

Only a whole summary is stored, in one commit. Whatever stops it before leaves the chat as it was.
"""

import asyncio
import logging
import time
from collections.abc import Sequence
from uuid import uuid4

from msgspec.structs import replace

from engine.agent.brain import Equipment
from engine.agent.compaction import (
    TOO_LONG,
    Move,
    Source,
    Summary,
    context_tokens,
    is_over,
    next_move,
    note_args,
    standing_of,
    summary_rows,
    to_summarise,
)
from engine.agent.compaction_prompt import input_budget, summary_prompt, transcript
from engine.agent.turn_state import TurnState
from engine.chat.commands import CompactHistory, FinishTurn, RecordAttempt
from engine.chat.content import Message, NewMessage
from engine.chat.errors import ChatError, ErrorKind
from engine.chat.ids import ToolCallId
from engine.chat.snapshot import ChatStatus
from engine.chat.summaries import SUMMARY_TOOL
from engine.models.errors import is_context_error
from engine.models.model import ModelFailure
from engine.models.parts import StreamResult
from engine.models.retry import delay_seconds
from engine.stream.events import ToolCallDelta

log = logging.getLogger(__name__)

SHORTENED_MAX = 6
"""How often the request is halved for a model that says that it is still too long."""
FULL_PERCENT = 100


class Compacting:
    """The summaries of one turn."""

    def __init__(self, state: TurnState, equipment: Equipment) -> None:
        self._state = state
        self._brain = equipment.brain
        # Invariant: after a failure nothing is summarised for its size in this turn any more.
        self._has_failed = False
        self._standing = standing_of(())

    @property
    def pauses(self) -> int:
        """How often in a row the provider has paused, by the history that was last looked at."""
        return self._standing.pauses

    def look(self, messages: Sequence[Message]) -> Move:
        """What to do next, before the model is asked with this history."""
        self._standing = standing_of(messages)
        return next_move(self._standing, self._brain, may_compact=not self._has_failed)

    def is_due_after(self, answer: NewMessage) -> bool:
        """Whether the answer that was just made ends a turn whose history is too long."""
        is_first_since_summary = self._standing.has_summary and self._standing.answers == 0
        if self._has_failed or is_first_since_summary:
            return False
        return is_over(context_tokens(answer.usage), self._brain)

    async def between_steps(self) -> None:
        """Summarise and go on. Without a summary too, as long as the window is not full."""
        try:
            await self._compact(Source.AUTOMATIC)
        except ModelFailure as failure:
            self._note(failure)
            if is_over(self._standing.tokens, self._brain, FULL_PERCENT):
                raise
            # What followers saw of the attempt is void.
            await self._state.commit(RecordAttempt(fence=self._state.fence))

    async def make_room(self, failure: ModelFailure) -> bool:
        """Summarise because the provider refused the history as too long; True: it is shorter now.

        False: that was not why it failed. Raises ModelFailure when there is nothing to shorten.
        """
        if not is_context_error(failure.error):
            return False
        if self._standing.boundary is None:
            raise ModelFailure(replace(failure.error, message=TOO_LONG), partial=failure.partial)
        await self._state.commit(RecordAttempt(fence=self._state.fence))
        await self._compact(Source.AUTOMATIC)
        return True

    async def at_end(self) -> bool:
        """End the turn with a summary; the answer is stored. True: the next turn has begun."""
        try:
            await self._compact(Source.AUTOMATIC, ends_turn=True)
        except ModelFailure as failure:
            self._note(failure)
            await self.end()
        return self._goes_on

    async def on_request(self) -> bool:
        """Summarise because somebody asked; nobody is answered. True: the next turn has begun."""
        await self._compact(Source.REQUESTED, ends_turn=True)
        return self._goes_on

    async def end(self) -> bool:
        """End the turn of a chat whose last answer is stored already."""
        state = self._state
        await state.commit(FinishTurn(fence=state.fence, notify=state.has_taken_long))
        return self._goes_on

    @property
    def _goes_on(self) -> bool:
        return self._state.snapshot.status is ChatStatus.RUNNING

    async def _compact(self, source: Source, *, ends_turn: bool = False) -> None:
        state = self._state
        history = await state.read_history()
        standing = standing_of(history)
        boundary = standing.boundary
        if boundary is None:
            if ends_turn:
                await state.commit(FinishTurn(fence=state.fence))
            return
        call_id = ToolCallId(f"summary_{uuid4().hex}")
        began = time.monotonic()
        messages = to_summarise(history)
        args = note_args(source, self._brain)
        result = await self._summarise_in_sight(messages, call_id, args)
        summary = Summary(
            result=result,
            source=source,
            boundary=boundary,
            tokens=standing.tokens,
            call_id=call_id,
            runtime_ms=round((time.monotonic() - began) * 1000),
            ends_turn=ends_turn,
        )
        command = CompactHistory(
            fence=state.fence,
            messages=summary_rows(summary, self._brain),
            ends_turn=ends_turn,
            notify=ends_turn and source is Source.AUTOMATIC and state.has_taken_long,
        )
        await state.commit(command)
        extra = {
            "action": "history_compacted",
            "chat_id": str(state.snapshot.chat_id),
            "source": source.value,
            "messages": len(messages),
        }
        log.info("A conversation was summarised.", extra=extra)

    async def _summarise_in_sight(
        self, messages: Sequence[Message], call_id: ToolCallId, args: str
    ) -> StreamResult:
        """Summarise while followers see that it is being done."""
        writer = self._state.open_episode()
        try:
            writer.append(
                (ToolCallDelta(tool_call_id=call_id, tool_name=SUMMARY_TOOL, args_delta=args),)
            )
            seconds = self._state.ports.limits.compaction_seconds
            with self._state.gate:
                async with asyncio.timeout(seconds):
                    return await self._summarise(messages, time.monotonic() + seconds)
        except TimeoutError:
            words = "Summarising the conversation took too long."
            raise ModelFailure(ChatError(kind=ErrorKind.TIMEOUT, message=words)) from None
        finally:
            writer.close()

    async def _summarise(self, messages: Sequence[Message], until: float) -> StreamResult:
        text = transcript(messages, input_budget(self._brain))
        failures = shortened = 0
        while True:
            try:
                result = await self._brain.model.complete(summary_prompt(self._brain, text))
            except ModelFailure as failure:
                if is_context_error(failure.error) and shortened < SHORTENED_MAX:
                    shortened += 1
                    text = transcript(messages, len(text.encode(errors="replace")) // 2)
                    continue
                failures += 1
                delay = self._delay(failure, failures)
                if delay is None or time.monotonic() + delay >= until:
                    raise
                await self._state.ports.sleep(delay)
            else:
                if result.text.strip():
                    return result
                words = "The model gave no summary of the conversation."
                raise ModelFailure(ChatError(kind=ErrorKind.GENERIC, message=words))

    def _delay(self, failure: ModelFailure, failures: int) -> float | None:
        if not failure.error.retryable or failures >= self._state.ports.limits.attempts_max:
            return None
        return delay_seconds(failures, failure.retry_after_seconds)

    def _note(self, failure: ModelFailure) -> None:
        self._has_failed = True
        extra = {
            "action": "compaction_failed",
            "chat_id": str(self._state.snapshot.chat_id),
            "kind": failure.error.kind.value,
        }
        log.warning("A conversation could not be summarised.", extra=extra)
