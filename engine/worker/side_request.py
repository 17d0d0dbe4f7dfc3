"""One side request for a chat: by the chat's own brain, on its owner's account, its cost entered."""

import logging

from engine.agent.brain import BrainRequest, Brains
from engine.agent.side_answer import ask_once
from engine.models.model import ModelFailure
from engine.store.side_chat import SideChat
from engine.store.side_work import SideCall, SideWorkRows

log = logging.getLogger(__name__)


async def ask_for_chat(
    brains: Brains,
    side: SideWorkRows,
    chat: SideChat,
    kind: SideCall,
    *,
    instruction: str,
    text: str,
    max_output_tokens: int,
) -> str | None:
    """The answer; None where the model gave none. Raises StoreUnavailable."""
    request = BrainRequest(
        bot=chat.bot,
        model=chat.model,
        identity=chat.owner.identity if chat.owner else None,
        chat_id=chat.chat_id,
        organization_id=chat.organization_id,
        records_calls=chat.records_calls,
        side_call=kind,
    )
    try:
        brain = await brains(request)
    except ModelFailure as failure:
        extra = {
            "action": "side_request_impossible",
            "chat_id": str(chat.chat_id),
            "kind": failure.error.kind.value,
        }
        log.info("There is no model to ask beside the turns.", extra=extra)
        return None
    answer = await ask_once(
        brain.for_side_work, instruction, text, max_output_tokens=max_output_tokens
    )
    if answer is None:
        return None
    await side.record_call(
        chat.chat_id,
        kind,
        model=answer.model,
        usage=answer.usage,
        cost_micros=answer.cost_micros,
        runtime_ms=answer.runtime_ms,
    )
    return answer.text
