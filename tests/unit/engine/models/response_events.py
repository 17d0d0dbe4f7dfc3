"""Events of the Responses wire, to build streams from, and what a decoder makes of them."""

import json
from typing import Any

from engine.models.parts import StreamPart, StreamResult
from engine.models.responses import ResponsesDecoder

SEARCH = {
    "type": "web_search_call",
    "id": "ws_1",
    "status": "completed",
    "action": {"type": "search", "query": "tides"},
}
SECRET: dict[str, Any] = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [],
    "encrypted_content": "gAAA",
}
USAGE = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 10},
    "output_tokens": 20,
    "output_tokens_details": {"reasoning_tokens": 8},
    "total_tokens": 120,
}


def decode(chunks: list[bytes]) -> tuple[list[StreamPart], StreamResult]:
    decoder = ResponsesDecoder("wren")
    parts = [part for chunk in chunks for part in decoder.feed(chunk)]
    parts += decoder.end()
    return parts, decoder.result()


def frames(*events: object) -> bytes:
    data = [e if isinstance(e, bytes) else json.dumps(e).encode() for e in events]
    return b"".join(b"data: " + frame + b"\n\n" for frame in data)


def whole(*events: object) -> StreamResult:
    return decode([frames(*events)])[1]


def event(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}", **fields}


def text(delta: str, **fields: Any) -> dict[str, Any]:
    return event("output_text.delta", delta=delta, **({"output_index": 0} | fields))


def done(item: dict[str, Any], index: int = 0) -> dict[str, Any]:
    return event("output_item.done", item=item, output_index=index)


def completed(**fields: Any) -> dict[str, Any]:
    return event("completed", response={"status": "completed"} | fields)


def call_item(**fields: Any) -> dict[str, Any]:
    item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look"}
    return item | {"arguments": ""} | fields
