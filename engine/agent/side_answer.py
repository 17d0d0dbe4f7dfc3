"""Asks a model one thing beside the turns: one request, no tools, no second try, and nobody waits."""

import asyncio
import logging
import time
from dataclasses import dataclass
from typing import Final

from engine.agent.brain import SideModel
from engine.chat.content import NewMessage, Role, Usage, plain
from engine.models.cost import cost_micros
from engine.models.model import ModelFailure, ModelPrompt
from engine.models.parts import StreamResult

log = logging.getLogger(__name__)

TIMEOUT_SECONDS: Final = 30.0
"""Longer than a short answer takes; what comes later is of no use (engine reference 3.6)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SideAnswer:
    """What the model said, and what that took. `model` as rows and reports call it."""

    text: str
    model: str
    usage: Usage | None
    cost_micros: int | None
    runtime_ms: int


async def ask_once(
    side: SideModel,
    instruction: str,
    text: str,
    *,
    max_output_tokens: int,
    timeout_seconds: float = TIMEOUT_SECONDS,
) -> SideAnswer | None:
    """The answer to one request; None where there is none. Never raises but for cancellation."""
    prompt = ModelPrompt(
        model=side.model_name,
        system=instruction,
        messages=(NewMessage(role=Role.USER, content=plain(text)),),
        max_output_tokens=max_output_tokens,
    )
    began = time.monotonic()
    try:
        async with asyncio.timeout(timeout_seconds):
            result = await side.model.complete(prompt)
    except ModelFailure as failure:
        _log_failure(failure.error.kind.value)
        return None
    except TimeoutError:
        _log_failure("timeout")
        return None
    except Exception:  # noqa: BLE001 - a title is not worth anybody's turn, whatever a client trips over
        log.error(  # noqa: TRY400 - the trace may hold what people wrote
            "A side request crashed.", extra={"action": "side_request_crashed"}
        )
        return None
    return _answer_of(result, side, round((time.monotonic() - began) * 1000))


def _answer_of(result: StreamResult, side: SideModel, runtime_ms: int) -> SideAnswer:
    return SideAnswer(
        text=result.text,
        model=side.reference or side.model_name,
        usage=result.usage,
        cost_micros=cost_micros(result.usage, side.prices),
        runtime_ms=runtime_ms,
    )


def _log_failure(kind: str) -> None:
    extra = {"action": "side_request_failed", "kind": kind}
    log.info("A side request was not answered.", extra=extra)
