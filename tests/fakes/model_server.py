"""A model provider for tests: scripted, and as strict as real ones. It speaks OpenAI Chat Completions;
other wires are answered from the same scripts by endpoints of their own.

    async with FakeModel.start() as model:
        model.say("Hello there.")                         # the next streamed request
        model.call("current_time", {"zone": "CET"})       # the one after it
        model.script([Say("Half"), Gate("mid"), Say(" and half.")])
        ...
        await model.reached("mid"); model.release("mid")
        await model.requests[0].left.wait()               # the client went away

Run as a program it is a bare and fast server for load: see tests/fakes/model_load.py.
"""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.fakes.model_anthropic import messages_endpoint
from tests.fakes.model_connection import cut
from tests.fakes.model_responses import responses_endpoint
from tests.fakes.model_rules import Refused, check_request
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
    whole_script,
    words_of,
)

__all__ = [
    "Call",
    "Drop",
    "End",
    "FakeModel",
    "Gate",
    "Hang",
    "Own",
    "Pause",
    "Raw",
    "Refuse",
    "Reset",
    "Say",
    "SeenRequest",
    "Step",
    "Stop",
    "Think",
]


@dataclass(slots=True)
class _GateState:
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    released: asyncio.Event = field(default_factory=asyncio.Event)


class FakeModel:
    """Answers streamed requests from a queue of scripts, then by `answer`, then with `default`.

    Requests that are not streamed (titles, summaries) have a queue of their own, see `aside`.
    `api_key`: what the client must present; anything goes when empty.
    """

    def __init__(self, *, api_key: str = "", strict: bool = True) -> None:
        self.api_key = api_key
        self.strict = strict
        self.requests: list[SeenRequest] = []
        self.default: Sequence[Step] = (Say("All right."),)
        self.default_aside = "A short title"
        self.models = ["test-model"]
        self.url = ""
        self._scripts: deque[Sequence[Step]] = deque()
        self._asides: deque[Sequence[Step]] = deque()
        self._function: Callable[[SeenRequest], Sequence[Step] | None] | None = None
        self._gates: dict[str, _GateState] = {}
        self._changed = asyncio.Condition()

    @classmethod
    @asynccontextmanager
    async def start(
        cls, *, api_key: str = "", strict: bool = True, port: int = 0
    ) -> AsyncIterator["FakeModel"]:
        model = cls(api_key=api_key, strict=strict)
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_post("/v1/chat/completions", model._on_chat)
        app.router.add_post("/v1/messages", messages_endpoint(model))
        app.router.add_post("/v1/responses", responses_endpoint(model))
        app.router.add_get("/v1/models", model._on_models)
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", port)
        await site.start()
        model.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        try:
            yield model
        finally:
            for name in list(model._gates):
                model.release(name)
            await runner.cleanup()

    # -- what to answer --------------------------------------------------------------------------

    def script(self, *scripts: Sequence[Step]) -> None:
        """Queue one script for each of the next streamed requests."""
        self._scripts.extend(scripts)

    def say(self, text: str, *, usage: Mapping[str, Any] | None = None) -> None:
        self.script([Say(text), End(usage=usage)])

    def call(self, name: str, args: Mapping[str, Any] | str | None = None, *, id: str = "") -> None:  # noqa: A002
        self.script([Call(name, args if args is not None else {}, id)])

    def refuse(
        self, status: int, message: str = "no", *, headers: Mapping[str, str] | None = None
    ) -> None:
        self.script([Refuse(status, message, headers or {})])

    def aside(self, text: str) -> None:
        """Queue the text for the next request that is not streamed."""
        self._asides.append([Say(text)])

    def aside_script(self, script: Sequence[Step]) -> None:
        self._asides.append(script)

    def answer(self, function: Callable[[SeenRequest], Sequence[Step] | None] | None) -> None:
        """Answer by a function of the request where the queue is empty; None: the default."""
        self._function = function

    # -- what happened ---------------------------------------------------------------------------

    @property
    def streamed(self) -> list[SeenRequest]:
        return [request for request in self.requests if request.is_streamed]

    @property
    def asides(self) -> list[SeenRequest]:
        return [request for request in self.requests if not request.is_streamed]

    @property
    def refusals(self) -> list[str]:
        """Why requests were refused for their shape. A test may assert that there are none."""
        return [request.refused for request in self.requests if request.refused]

    async def wait_for_requests(self, count: int) -> list[SeenRequest]:
        """Wait until so many requests have come, of either kind."""
        async with self._changed:
            await self._changed.wait_for(lambda: len(self.requests) >= count)
        return self.requests

    async def reached(self, gate: str) -> None:
        await self._gate(gate).reached.wait()

    def release(self, gate: str) -> None:
        self._gate(gate).released.set()

    async def wait_at(self, gate: str) -> None:
        """Stop a script here until the test releases the gate."""
        state = self._gate(gate)
        state.reached.set()
        await state.released.wait()

    def _gate(self, name: str) -> _GateState:
        return self._gates.setdefault(name, _GateState())

    # -- serving ---------------------------------------------------------------------------------

    async def _on_models(self, _: web.Request) -> web.Response:
        data = [{"id": name, "object": "model", "owned_by": "tests"} for name in self.models]
        return web.json_response({"object": "list", "data": data})

    async def _on_chat(self, request: web.Request) -> web.StreamResponse:
        return await self.receive(request, self._serve)

    async def receive(
        self,
        request: web.Request,
        serve: Callable[[web.Request, SeenRequest], Awaitable[web.StreamResponse]],
    ) -> web.StreamResponse:
        """Note a request of any wire, let it be served, and note how it ended."""
        raw = await request.read()
        try:
            body = json.loads(raw)
        except ValueError:
            return _error(400, "We could not parse the JSON body of your request.")
        seen = SeenRequest(request.path, dict(request.headers), body)
        self.requests.append(seen)
        async with self._changed:
            self._changed.notify_all()
        try:
            return await serve(request, seen)
        except (asyncio.CancelledError, ConnectionError):
            seen.left.set()
            raise
        finally:
            seen.ended.set()

    async def _serve(self, request: web.Request, seen: SeenRequest) -> web.StreamResponse:
        if self.api_key and seen.headers.get("Authorization") != f"Bearer {self.api_key}":
            seen.refused = "wrong key"
            return _error(401, "Incorrect API key provided.", "invalid_api_key")
        if self.strict:
            try:
                check_request(seen.body)
            except Refused as reason:
                seen.refused = str(reason)
                return _error(400, str(reason), "invalid_request_error")
        steps = self.steps_for(seen)
        if isinstance(steps[0], Refuse):
            return _refusal(steps[0])
        player = _Player(self, request, seen)
        return await player.play(steps) if seen.is_streamed else await player.body(steps)

    def steps_for(self, seen: SeenRequest) -> Sequence[Step]:
        """What this request is answered with, taken from the queue where one is left."""
        queue = self._scripts if seen.is_streamed else self._asides
        default = self.default if seen.is_streamed else (Say(self.default_aside),)
        steps = queue.popleft() if queue else self._function(seen) if self._function else None
        return whole_script(steps or default)


class _Player:
    """Plays one script onto one response."""

    def __init__(self, model: FakeModel, request: web.Request, seen: SeenRequest) -> None:
        self._model = model
        self._request = request
        self._number = model.requests.index(seen) + 1
        self._response = web.StreamResponse(headers={"Cache-Control": "no-cache"})
        self._response.content_type = "text/event-stream"
        self._calls = 0

    async def play(self, steps: Sequence[Step]) -> web.StreamResponse:
        if isinstance(steps[0], Raw):
            self._response.content_type = steps[0].content_type
        await self._response.prepare(self._request)
        if not isinstance(steps[0], Raw):
            await self._delta({"role": "assistant", "content": ""})
        for step in steps:
            await self._step(step)
        return self._response

    async def body(self, steps: Sequence[Step]) -> web.Response:
        """The same script as one JSON body."""
        text = "".join(step.text for step in steps if isinstance(step, Say))
        for step in steps:
            if isinstance(step, Gate | Pause | Hang | Reset | Drop):
                await self._step(step)
        calls = [self._call(step) for step in steps if isinstance(step, Call)]
        message = {"role": "assistant", "content": text or None}
        reason = "tool_calls" if calls else "stop"
        usage = next((dict(s.usage) for s in steps if isinstance(s, End) and s.usage), None)
        choice = {"index": 0, "message": message | ({"tool_calls": calls} if calls else {})}
        return web.json_response(
            {
                "id": f"chatcmpl-{self._number}",
                "object": "chat.completion",
                "choices": [choice | {"finish_reason": reason}],
                "usage": usage or _usage(text),
            }
        )

    async def _step(self, step: Step) -> None:
        match step:
            case Say():
                for piece in step.pieces or words_of(step.text):
                    await self._delta({"content": piece})
            case Think():
                for piece in words_of(step.text):
                    await self._delta({"reasoning_content": piece})
            case Call():
                await self._stream_call(step)
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
            case Stop() | Refuse() | Own():
                pass

    async def _stream_call(self, step: Call) -> None:
        call = self._call(step)
        args = call["function"]["arguments"]
        index = self._calls - 1
        head = call | {"index": index, "function": {"name": step.name, "arguments": ""}}
        await self._delta({"tool_calls": [head]})
        for start in range(0, len(args), 12):
            piece = {"index": index, "function": {"arguments": args[start : start + 12]}}
            await self._delta({"tool_calls": [piece]})

    def _call(self, step: Call) -> dict[str, Any]:
        self._calls += 1
        args = step.args if isinstance(step.args, str) else json.dumps(step.args)
        return {
            "id": step.id or f"call_{self._number}_{self._calls}",
            "type": "function",
            "function": {"name": step.name, "arguments": args},
        }

    async def _end(self, step: End) -> None:
        reason = step.reason or ("tool_calls" if self._calls else "stop")
        await self._event({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
        await self._event({"choices": [], "usage": dict(step.usage or _usage("x" * 40))})
        await self._response.write(b"data: [DONE]\n\n")

    async def _delta(self, delta: Mapping[str, Any]) -> None:
        await self._event({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})

    async def _event(self, fields: Mapping[str, Any]) -> None:
        event = {
            "id": f"chatcmpl-{self._number}",
            "object": "chat.completion.chunk",
            "created": 1_700_000_000,
            "model": "test-model",
            **fields,
        }
        await self._response.write(b"data: " + json.dumps(event).encode() + b"\n\n")


def _usage(text: str) -> dict[str, int]:
    output = max(1, len(text) // 4)
    return {"prompt_tokens": 20, "completion_tokens": output, "total_tokens": 20 + output}


def _error(status: int, message: str, code: str | None = None) -> web.Response:
    kind = "invalid_request_error" if status < 500 else "server_error"
    error = {"message": message, "type": kind, "code": code, "param": None}
    return web.json_response({"error": error}, status=status)


def _refusal(step: Refuse) -> web.Response:
    if step.body is not None:
        return web.Response(status=step.status, text=step.body, headers=step.headers)
    error = {"message": step.message, "type": "error", "code": None}
    return web.json_response({"error": error}, status=step.status, headers=step.headers)


if __name__ == "__main__":
    from tests.fakes.model_load import main

    main()
