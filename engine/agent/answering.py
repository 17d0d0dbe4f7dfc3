"""Gets one whole answer from the model, by as many attempts as it takes and the rules allow."""

import logging
from collections.abc import Callable, Sequence
from datetime import timedelta

from engine.agent.brain import Equipment
from engine.agent.compaction import Move
from engine.agent.live_parts import live_parts
from engine.agent.prompt import compose_prompt, plan_prompt_files
from engine.agent.prompt_results import cut_results
from engine.agent.turn_state import TurnState
from engine.chat.commands import RecordAttempt, RecordRetry
from engine.chat.content import Message
from engine.chat.errors import ChatError, RetryState
from engine.models.model import ModelFailure, ModelStream
from engine.models.parts import StreamResult
from engine.models.retry import delay_seconds

log = logging.getLogger(__name__)


Look = Callable[[Sequence[Message]], Move]
"""What to do next, by the history that the model would be asked with."""


async def answer(state: TurnState, equipment: Equipment, look: Look) -> StreamResult | Move:
    """A whole answer to the chat as it stands, or what `look` would rather have done than ask.

    Raises ModelFailure once no attempt is left.
    """
    failures = 0
    while True:
        try:
            return await _attempt(state, equipment, look)
        except ModelFailure as failure:
            failures += 1
            delay = _delay(state, failure, failures)
            if delay is None:
                raise
            await _wait_to_retry(state, failure.error, failures, delay)


async def _attempt(state: TurnState, equipment: Equipment, look: Look) -> StreamResult | Move:
    stream = await _ask(state, equipment, look)
    if isinstance(stream, Move):
        return stream
    writer = state.open_episode()
    state.begin_stream(stream, equipment.brain)
    try:
        with state.gate:
            async with stream:
                async for parts in stream:
                    writer.append(live_parts(parts))
    finally:
        writer.close()
    return stream.result()


async def _ask(state: TurnState, equipment: Equipment, look: Look) -> ModelStream | Move:
    """The answer to come. The history is not held any longer: an answer may take minutes."""
    messages = await state.read_history()
    move = look(messages)
    if move is not Move.ASK:
        return move
    messages = _within_budget(state, equipment, messages)
    plan = plan_prompt_files(equipment.brain, messages)
    files = plan.all_files(await state.ports.store.read_files(plan) if plan.needs_reading else {})
    prompt = compose_prompt(equipment.brain, messages, equipment.tools, files)
    return equipment.brain.model.stream(prompt)


def _within_budget(
    state: TurnState, equipment: Equipment, messages: Sequence[Message]
) -> Sequence[Message]:
    messages, cut = cut_results(messages, equipment.brain.context_limit)
    if cut:
        extra = {
            "action": "prompt_results_truncated",
            "chat_id": str(state.snapshot.chat_id),
            "bytes_cut": str(cut),
        }
        log.info("Results were cut to fit the model's context.", extra=extra)
    return messages


def _delay(state: TurnState, failure: ModelFailure, failures: int) -> float | None:
    """Seconds until the next attempt; None: there is none."""
    if not failure.error.retryable or failures >= state.ports.limits.attempts_max:
        return None
    return delay_seconds(failures, failure.retry_after_seconds)


async def _wait_to_retry(state: TurnState, error: ChatError, failures: int, delay: float) -> None:
    until = state.ports.now() + timedelta(seconds=delay)
    retry = RetryState(
        attempt=failures,
        delay_ms=round(delay * 1000),
        retrying_at=until.timestamp(),
        error=error,
    )
    await state.commit(RecordRetry(fence=state.fence, retry=retry))
    extra = {
        "action": "model_retry",
        "chat_id": str(state.snapshot.chat_id),
        "kind": error.kind.value,
        "attempt": failures,
    }
    log.info("The model will be asked again.", extra=extra)
    with state.gate:
        await state.ports.sleep(delay)
    await state.commit(RecordAttempt(fence=state.fence))
