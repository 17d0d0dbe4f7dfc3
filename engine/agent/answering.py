"""Gets one whole answer from the model, by as many attempts as it takes and the rules allow."""

import logging
from datetime import timedelta

from engine.agent.brain import Equipment
from engine.agent.live_parts import live_parts
from engine.agent.prompt import compose_prompt, plan_prompt_files
from engine.agent.turn_state import TurnState
from engine.chat.commands import RecordAttempt, RecordRetry
from engine.chat.errors import ChatError, RetryState
from engine.models.model import ModelFailure, ModelStream
from engine.models.parts import StreamResult
from engine.models.retry import delay_seconds

log = logging.getLogger(__name__)


async def answer(state: TurnState, equipment: Equipment) -> StreamResult:
    """A whole answer to the chat as it stands. Raises ModelFailure once no attempt is left."""
    failures = 0
    while True:
        try:
            return await _attempt(state, equipment)
        except ModelFailure as failure:
            failures += 1
            delay = _delay(state, failure, failures)
            if delay is None:
                raise
            await _wait_to_retry(state, failure.error, failures, delay)


async def _attempt(state: TurnState, equipment: Equipment) -> StreamResult:
    stream = await _ask(state, equipment)
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


async def _ask(state: TurnState, equipment: Equipment) -> ModelStream:
    """The answer to come. The history is not held any longer: an answer may take minutes."""
    messages = await state.read_history()
    plan = plan_prompt_files(equipment.brain, messages)
    files = plan.all_files(await state.ports.store.read_files(plan) if plan.needs_reading else {})
    prompt = compose_prompt(equipment.brain, messages, equipment.tools, files)
    return equipment.brain.model.stream(prompt)


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
