"""The fake model's Responses side: POST /v1/responses, answered from the same scripts.

Reasoning is sealed where the request asks for it, and what was executed after it (`Own`) is refused
when it comes back alone. `End(reason=...)` takes this wire's `incomplete_details.reason`, or an
error's code after `failed:`.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from aiohttp import web

from tests.fakes.model_connection import cut
from tests.fakes.model_responses_rules import check_responses_request, sealed
from tests.fakes.model_rules import Refused
from tests.fakes.model_script import (
    Call,
    Drop,
    End,
    Gate,
    Hang,
    Own,
    Pause,
    Raw,
    Refuse,
    Reset,
    Say,
    SeenRequest,
    Step,
    Stop,
    Think,
    words_of,
)

if TYPE_CHECKING:
    from tests.fakes.model_server import FakeModel

Speech = Say | Think | Call | Own


def responses_endpoint(
    model: "FakeModel",
) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """The handler of the route. It remembers which reasoning led to what was executed."""
    led_to: dict[str, str] = {}

    async def serve(request: web.Request, seen: SeenRequest) -> web.StreamResponse:
        if model.api_key and seen.headers.get("Authorization") != f"Bearer {model.api_key}":
            seen.refused = "wrong key"
            return _error(401, "Incorrect API key provided.", "invalid_api_key")
        if model.strict:
            try:
                check_responses_request(seen.body, led_to)
            except Refused as reason:
                seen.refused = str(reason)
                return _error(400, str(reason), None)
        steps = model.steps_for(seen)
        if isinstance(steps[0], Refuse):
            return _refusal(steps[0])
        player = _Player(model, request, seen, led_to)
        return await player.play(steps) if seen.is_streamed else await player.body(steps)

    async def endpoint(request: web.Request) -> web.StreamResponse:
        return await model.receive(request, serve)

    return endpoint


class _Player:
    """Plays one script onto one response."""

    def __init__(
        self, model: "FakeModel", request: web.Request, seen: SeenRequest, led_to: dict[str, str]
    ) -> None:
        self._model = model
        self._request = request
        self._number = model.requests.index(seen) + 1
        self._is_sealed = "reasoning.encrypted_content" in seen.body.get("include", ())
        self._led_to = led_to
        self._thought = ""
        self._response = web.StreamResponse(headers={"Cache-Control": "no-cache"})
        self._response.content_type = "text/event-stream"
        self._output: list[dict[str, Any]] = []
        self._message: dict[str, Any] | None = None
        self._events = 0

    async def play(self, steps: Sequence[Step]) -> web.StreamResponse:
        if isinstance(steps[0], Raw):
            self._response.content_type = steps[0].content_type
        await self._response.prepare(self._request)
        if not isinstance(steps[0], Raw):
            await self._event("created", response=self._whole("in_progress"))
            await self._event("in_progress", response=self._whole("in_progress"))
        for step in steps:
            await self._step(step)
        return self._response

    async def body(self, steps: Sequence[Step]) -> web.Response:
        """The same script as one JSON body."""
        for step in steps:
            match step:
                case Say() | Think() | Call() | Own():
                    self._output.append(self._item(step))
                case Gate() | Pause() | Hang() | Reset() | Drop():
                    await self._step(step)
                case End(reason=reason) if reason is not None:
                    return web.json_response(self._ended(step))
                case _:
                    pass
        return web.json_response(self._ended(End()))

    async def _step(self, step: Step) -> None:
        match step:
            case Say():
                await self._say(step)
            case Think() | Call() | Own():
                await self._close_message()
                await self._speak(step)
            case Gate():
                await self._model.wait_at(step.name)
            case Pause():
                await asyncio.sleep(step.seconds)
            case Raw():
                size = step.cut or len(step.data) or 1
                for start in range(0, len(step.data), size):
                    await self._response.write(step.data[start : start + size])
            case End():
                await self._close_message()
                response = self._ended(step)
                await self._event(response["status"], response=response)
            case Hang():
                await asyncio.Event().wait()
            case Drop() | Reset():
                cut(self._request, is_reset=isinstance(step, Reset))
            case Stop() | Refuse():
                pass

    # -- items -----------------------------------------------------------------------------------

    async def _say(self, step: Say) -> None:
        index = len(self._output)
        if self._message is None:
            self._message = self._item(Say(""))
            await self._event("output_item.added", output_index=index, item=self._message)
        at = {"output_index": index, "content_index": 0, "item_id": self._message["id"]}
        for piece in step.pieces or words_of(step.text):
            await self._event("output_text.delta", delta=piece, **at)
        self._message["content"][0]["text"] += step.text

    async def _close_message(self) -> None:
        if self._message is None:
            return
        item, self._message = self._message, None
        index = len(self._output)
        text = item["content"][0]["text"]
        at = {"output_index": index, "content_index": 0, "item_id": item["id"]}
        await self._event("output_text.done", text=text, **at)
        await self._done(item)

    async def _speak(self, step: Think | Call | Own) -> None:
        item = self._item(step)
        at = {"output_index": len(self._output), "item_id": item["id"]}
        match step:
            case Think():
                begun = item | {"summary": [], "encrypted_content": None}
                await self._event("output_item.added", item=begun, **at)
                for piece in words_of(step.text):
                    kind = "reasoning_summary_text.delta"
                    await self._event(kind, delta=piece, summary_index=0, **at)
            case Call():
                args = item["arguments"]
                await self._event("output_item.added", item=item | {"arguments": ""}, **at)
                for start in range(0, len(args), 12):
                    delta = args[start : start + 12]
                    await self._event("function_call_arguments.delta", delta=delta, **at)
                await self._event("function_call_arguments.done", arguments=args, **at)
            case Own():
                await self._event("output_item.added", item=item, **at)
        await self._done(item)

    async def _done(self, item: dict[str, Any]) -> None:
        index = len(self._output)
        self._output.append(item)
        await self._event("output_item.done", output_index=index, item=item)

    def _item(self, step: Speech) -> dict[str, Any]:
        """What the step is as an item of the output."""
        tail = f"{self._number}_{len(self._output)}"
        thought, self._thought = self._thought, ""
        match step:
            case Say():
                content = [{"type": "output_text", "text": step.text, "annotations": []}]
                head = {"type": "message", "id": f"msg_{tail}", "status": "completed"}
                return head | {"role": "assistant", "content": content}
            case Think():
                self._thought = f"rs_{tail}"
                return {
                    "type": "reasoning",
                    "id": self._thought,
                    "summary": [{"type": "summary_text", "text": step.text}],
                    "encrypted_content": sealed(step.text) if self._is_sealed else None,
                }
            case Call():
                args = step.args if isinstance(step.args, str) else json.dumps(step.args)
                return {
                    "type": "function_call",
                    "id": f"fc_{tail}",
                    "call_id": step.id or f"call_{tail}",
                    "name": step.name,
                    "arguments": args,
                    "status": "completed",
                }
            case Own():
                if thought:
                    self._led_to[step.data["id"]] = thought
                return dict(step.data)

    # -- the response ----------------------------------------------------------------------------

    def _ended(self, step: End) -> dict[str, Any]:
        reason = step.reason or ""
        usage = dict(step.usage or _USAGE)
        if reason.startswith("failed:"):
            error = {"code": reason.removeprefix("failed:"), "message": "The model gave up."}
            return self._whole("failed", error=error)
        if reason:
            return self._whole("incomplete", incomplete_details={"reason": reason}, usage=usage)
        return self._whole("completed", usage=usage)

    def _whole(self, status: str, **fields: Any) -> dict[str, Any]:
        return {
            "id": f"resp_{self._number}",
            "object": "response",
            "created_at": 1_700_000_000,
            "model": "test-model",
            "status": status,
            "error": None,
            "incomplete_details": None,
            "output": self._output,
            "usage": None,
            **fields,
        }

    async def _event(self, kind: str, **fields: Any) -> None:
        name = f"response.{kind}"
        event = {"type": name, "sequence_number": self._events, **fields}
        self._events += 1
        frame = f"event: {name}\ndata: {json.dumps(event)}\n\n"
        await self._response.write(frame.encode())


_USAGE: Mapping[str, Any] = {
    "input_tokens": 20,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 10,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 30,
}


def _error(status: int, message: str, code: str | None) -> web.Response:
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
    return web.json_response({"error": error}, status=status)


def _refusal(step: Refuse) -> web.Response:
    if step.body is not None:
        return web.Response(status=step.status, text=step.body, headers=step.headers)
    error = {"message": step.message, "type": "error", "code": None}
    return web.json_response({"error": error}, status=step.status, headers=step.headers)
