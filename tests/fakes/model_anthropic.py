"""The fake model's Anthropic side: POST /v1/messages, answered from the same scripts.

Thinking is signed, and a signed thought that comes back changed is refused. `End(reason=...)`
takes this wire's stop reasons; `Own` is a block of the provider's own, such as a search.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from aiohttp import web

from tests.fakes.model_anthropic_rules import check_messages_request, sign
from tests.fakes.model_connection import cut
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

_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
_REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}


def messages_endpoint(
    model: "FakeModel",
) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """The handler of the route."""

    async def serve(request: web.Request, seen: SeenRequest) -> web.StreamResponse:
        if model.api_key and seen.headers.get("x-api-key") != model.api_key:
            seen.refused = "wrong key"
            return _error(401, "invalid x-api-key")
        if model.strict:
            try:
                if "anthropic-version" not in seen.headers:
                    _miss("anthropic-version: header is required")
                check_messages_request(seen.body)
            except Refused as reason:
                seen.refused = str(reason)
                return _error(400, str(reason))
        steps = model.steps_for(seen)
        if isinstance(steps[0], Refuse):
            return _refusal(steps[0])
        player = _Player(model, request, seen)
        return await player.play(steps) if seen.is_streamed else await player.body(steps)

    async def endpoint(request: web.Request) -> web.StreamResponse:
        return await model.receive(request, serve)

    return endpoint


class _Player:
    """Plays one script onto one response."""

    def __init__(self, model: "FakeModel", request: web.Request, seen: SeenRequest) -> None:
        self._model = model
        self._request = request
        self._number = model.requests.index(seen) + 1
        self._response = web.StreamResponse(headers={"Cache-Control": "no-cache"})
        self._response.content_type = "text/event-stream"
        self._calls = 0
        self._index = -1
        self._open: dict[str, Any] | None = None

    async def play(self, steps: Sequence[Step]) -> web.StreamResponse:
        if isinstance(steps[0], Raw):
            self._response.content_type = steps[0].content_type
        await self._response.prepare(self._request)
        if not isinstance(steps[0], Raw):
            usage = {"input_tokens": 20, "output_tokens": 1}
            await self._event("message_start", message=self._message([], None, usage))
            await self._event("ping")
        for step in steps:
            await self._step(step)
        return self._response

    async def body(self, steps: Sequence[Step]) -> web.Response:
        """The same script as one JSON body."""
        content: list[dict[str, Any]] = []
        for step in steps:
            match step:
                case Say():
                    content.append({"type": "text", "text": step.text})
                case Think():
                    content.append(_thought(step))
                case Call():
                    content.append(self._call(step) | {"input": json.loads(_args(step))})
                case Own():
                    content.append(dict(step.data))
                case Gate() | Pause() | Hang() | Reset() | Drop():
                    await self._step(step)
                case _:
                    pass
        reason = "tool_use" if self._calls else "end_turn"
        usage = {"input_tokens": 20, "output_tokens": 10}
        return web.json_response(self._message(content, reason, usage))

    def _message(
        self, content: list[dict[str, Any]], reason: str | None, usage: Mapping[str, Any]
    ) -> dict[str, Any]:
        return {
            "id": f"msg_{self._number}",
            "type": "message",
            "role": "assistant",
            "model": "test-model",
            "content": content,
            "stop_reason": reason,
            "stop_sequence": None,
            "usage": dict(usage),
        }

    async def _step(self, step: Step) -> None:
        match step:
            case Say() | Think() | Call() | Own():
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
                await self._end(step)
            case Hang():
                await asyncio.Event().wait()
            case Drop() | Reset():
                cut(self._request, is_reset=isinstance(step, Reset))
            case Stop() | Refuse():
                pass

    async def _speak(self, step: Say | Think | Call | Own) -> None:
        match step:
            case Say():
                if self._open is None or self._open["type"] != "text":
                    await self._begin({"type": "text", "text": ""})
                for piece in step.pieces or words_of(step.text):
                    await self._delta("text_delta", text=piece)
            case Think():
                await self._begin({"type": "thinking", "thinking": "", "signature": ""})
                for piece in words_of(step.text):
                    await self._delta("thinking_delta", thinking=piece)
                await self._delta("signature_delta", signature=sign(step.text))
            case Call():
                await self._begin(self._call(step) | {"input": {}})
                await self._stream_json(_args(step))
            case Own():
                has_input = str(step.data.get("type")).endswith("_tool_use")
                await self._begin(dict(step.data) | ({"input": {}} if has_input else {}))
                if has_input:
                    await self._stream_json(json.dumps(step.data["input"]))

    async def _stream_json(self, text: str) -> None:
        await self._delta("input_json_delta", partial_json="")
        for start in range(0, len(text), 12):
            await self._delta("input_json_delta", partial_json=text[start : start + 12])

    def _call(self, step: Call) -> dict[str, Any]:
        self._calls += 1
        call_id = step.id or f"toolu_{self._number}_{self._calls}"
        return {"type": "tool_use", "id": call_id, "name": step.name}

    async def _begin(self, block: dict[str, Any]) -> None:
        await self._close()
        self._index += 1
        self._open = block
        await self._event("content_block_start", index=self._index, content_block=block)

    async def _close(self) -> None:
        if self._open is not None:
            await self._event("content_block_stop", index=self._index)
            self._open = None

    async def _end(self, step: End) -> None:
        await self._close()
        reason = step.reason or ("tool_use" if self._calls else "end_turn")
        delta = {"stop_reason": _REASONS.get(reason, reason), "stop_sequence": None}
        usage = dict(step.usage or {"output_tokens": 10})
        await self._event("message_delta", delta=delta, usage=usage)
        await self._event("message_stop")

    async def _delta(self, kind: str, **fields: Any) -> None:
        delta = {"type": kind, **fields}
        await self._event("content_block_delta", index=self._index, delta=delta)

    async def _event(self, kind: str, **fields: Any) -> None:
        data = json.dumps({"type": kind, **fields})
        await self._response.write(f"event: {kind}\ndata: {data}\n\n".encode())


def _args(step: Call) -> str:
    return step.args if isinstance(step.args, str) else json.dumps(step.args)


def _thought(step: Think) -> dict[str, Any]:
    return {"type": "thinking", "thinking": step.text, "signature": sign(step.text)}


def _error(status: int, message: str, headers: Mapping[str, str] | None = None) -> web.Response:
    error = {"type": _ERRORS.get(status, "api_error"), "message": message}
    body = {"type": "error", "error": error, "request_id": "req_1"}
    return web.json_response(body, status=status, headers=headers)


def _refusal(step: Refuse) -> web.Response:
    if step.body is not None:
        return web.Response(status=step.status, text=step.body, headers=step.headers)
    return _error(step.status, step.message, step.headers)


def _miss(message: str) -> None:
    raise Refused(message)
