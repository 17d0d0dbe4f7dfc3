"""Writes recordings of model calls down, beside the turns: no turn waits for it or learns that it failed."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from engine.agent.brain import Brain, BrainRequest, Brains
from engine.chat.errors import ChatError
from engine.chat.ids import DEFAULT_ORGANIZATION, ChatId, OrganizationId
from engine.models.call_record import request_record, response_record
from engine.models.model import ModelPrompt
from engine.models.parts import StreamResult
from engine.models.recording import Finish, RecordingModel
from engine.store.recordings import CallKind, CallStatus, Recordings

log = logging.getLogger(__name__)

CALLS_MAX: Final = 200
"""Calls that are being recorded at a time; what is more is not."""
DRAIN_SECONDS: Final = 5.0
_End = tuple[CallStatus, StreamResult, ChatError | None]


class CallRecorder:
    """Records the calls of the chats that ask for it. Without such chats it costs nothing."""

    def __init__(self, recordings: Recordings) -> None:
        self._recordings = recordings
        self._tasks: set[asyncio.Task[None]] = set()

    def recorded(self, brains: Brains) -> Brains:
        """The same brains, whose calls are recorded where the chat asks for it."""

        async def brain_of(request: BrainRequest) -> Brain:
            brain = await brains(request)
            if not request.records_calls or request.chat_id is None:
                return brain
            begin = self._beginner(request.chat_id, request.organization_id or DEFAULT_ORGANIZATION)
            side = brain.for_side_work
            if request.side_call is None:
                # Side work keeps the model as it is: its calls are none of the turn's.
                return replace(brain, model=RecordingModel(brain.model, begin), side=side)
            kind = CallKind(request.side_call.value)
            asked = RecordingModel(side.model, begin, kind=kind)
            return replace(brain, side=replace(side, model=asked))

        return brain_of

    async def drain(self) -> None:
        """Wait a little until what has ended is written down."""
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=DRAIN_SECONDS)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late, timeout=DRAIN_SECONDS)

    def _beginner(
        self, chat_id: ChatId, organization_id: OrganizationId
    ) -> Callable[[CallKind, ModelPrompt], Finish]:
        def begin(kind: CallKind, prompt: ModelPrompt) -> Finish:
            if len(self._tasks) >= CALLS_MAX:
                log.warning("A call is not recorded.", extra=_about(chat_id, "recording_skipped"))
                return _forget
            ended: asyncio.Future[_End] = asyncio.get_running_loop().create_future()
            work = self._write(chat_id, organization_id, kind, prompt, ended)
            task = asyncio.create_task(work, name=f"record {chat_id}")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

            def finish(status: CallStatus, result: StreamResult, error: ChatError | None) -> None:
                if not ended.done():
                    ended.set_result((status, result, error))

            return finish

        return begin

    async def _write(
        self,
        chat_id: ChatId,
        organization_id: OrganizationId,
        kind: CallKind,
        prompt: ModelPrompt,
        ended: "asyncio.Future[_End]",
    ) -> None:
        try:
            model = prompt.model
            # In a thread: a megabyte takes a while to redact, and others are being served.
            request = await asyncio.to_thread(request_record, prompt)
            del prompt
            number = await self._recordings.begin(
                chat_id, organization_id, kind=kind, model=model, request=request
            )
            del request
            status, result, error = await ended
            if number is not None:
                response = await asyncio.to_thread(response_record, result)
                await self._recordings.finish(number, status, response=response, error=error)
        except Exception:
            # Whatever it is, the turn is not to suffer from it.
            extra = _about(chat_id, "recording_failed")
            log.warning("A call was not recorded.", extra=extra, exc_info=True)


def _forget(_status: CallStatus, _result: StreamResult, _error: ChatError | None) -> None:
    """Nothing is recorded."""


def _about(chat_id: ChatId, action: str) -> dict[str, str]:
    return {"action": action, "chat_id": str(chat_id)}
