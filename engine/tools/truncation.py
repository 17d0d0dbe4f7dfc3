"""Keep a tool's result within the model's window: head and tail stay, the cut is said. Pure."""

from typing import Any

import msgspec

RESULT_BYTES_MIN = 16_000
RESULT_BYTES_UNKNOWN = 64_000
"""The budget when the model's context limit is not known."""
MARKER = (
    "\n[... {count} bytes cut to fit the model's context; narrow the query, "
    "or read a specific part ...]\n"
)


def result_budget(context_limit_tokens: int | None) -> int:
    """Bytes that one result may take: about one byte a token, never less than is useful."""
    if context_limit_tokens is None:
        return RESULT_BYTES_UNKNOWN
    return max(RESULT_BYTES_MIN, context_limit_tokens // 3 * 3)


def truncate_result(result: Any, budget_bytes: int) -> tuple[Any, int]:
    """The result within the budget, and the bytes that were cut (0: it is unchanged).

    Text, alone or as the "output" of an object, is cut in its middle; any other JSON is turned into
    text first, since half a structure is none. What was cut once is not cut again.
    """
    encoded = msgspec.json.encode(result)
    if len(encoded) <= budget_bytes:
        return result, 0
    if isinstance(result, dict) and isinstance(result.get("output"), str):
        others = len(msgspec.json.encode({**result, "output": ""}))
        if others < budget_bytes // 2:
            text, cut = _cut_escaped(result["output"], budget_bytes - others + 2)
            return {**result, "output": text}, cut
    whole = result if isinstance(result, str) else encoded.decode()
    text, cut = _cut_escaped(whole, budget_bytes - len('{"output":}'))
    return {"output": text}, cut


def _cut_escaped(text: str, budget_bytes: int) -> tuple[str, int]:
    """Cut by what the text takes as JSON, where some characters are escaped, with its quotes."""
    room, taken = len(text.encode()), len(msgspec.json.encode(text))
    short, cut = text, 0
    while taken > budget_bytes and room > 0:
        room = min(room * budget_bytes // taken, room - 1)
        short, cut = truncate_text(text, room)
        taken = len(msgspec.json.encode(short))
        if room <= len(MARKER):
            break
    return short, cut


def truncate_text(text: str, budget_bytes: int) -> tuple[str, int]:
    """Two thirds of the budget from the head and one from the tail, never half a character."""
    raw = text.encode()
    if len(raw) <= budget_bytes:
        return text, 0
    room = max(budget_bytes - len(MARKER) - 12, 0)
    head = raw[: room * 2 // 3].decode(errors="ignore")
    tail = raw[len(raw) - room // 3 :].decode(errors="ignore") if room >= 3 else ""
    cut = len(raw) - len(head.encode()) - len(tail.encode())
    return f"{head}{MARKER.format(count=cut)}{tail}", cut
