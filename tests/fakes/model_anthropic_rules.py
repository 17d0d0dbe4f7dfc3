"""What Anthropic's Messages API refuses, after its documentation and its error messages.

Written apart from the code that builds requests. Neighbours of one role are joined first, as the
API does; `Refused` is the 400 that it answers with.
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Callable
from typing import Any

from tests.fakes.model_anthropic_schemas import check_tools
from tests.fakes.model_rules import Refused

_FIELDS = frozenset(
    {
        "model", "max_tokens", "messages", "system", "tools", "tool_choice", "thinking", "stream",
        "temperature", "top_p", "top_k", "stop_sequences", "metadata", "service_tier", "container",
        "mcp_servers", "context_management", "output_config",
    }
)  # fmt: skip
_ID = re.compile(r"[a-zA-Z0-9_-]+")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,200}")
_IMAGE_BYTES_MAX = 5 * 1024 * 1024
_MARKS_MAX = 4
_STARTS = {
    "image/png": b"\x89PNG",
    "image/jpeg": b"\xff\xd8\xff",
    "image/gif": b"GIF8",
    "image/webp": b"RIFF",
}
_THINKING = ("thinking", "redacted_thinking")
_OWN_FEATURES = {
    "mcp_tool_use": "mcp_servers",
    "mcp_tool_result": "mcp_servers",
    "compaction": "context_management",
}


def sign(thinking: str) -> str:
    """The signature that this provider gives its thinking."""
    return "fake-" + hashlib.sha256(thinking.encode("utf-8", "replace")).hexdigest()


def check_messages_request(body: Any) -> None:
    """Raise Refused for the first thing that the API would not accept."""
    want(isinstance(body, dict), "the body must be an object")
    for name in body:
        want(name in _FIELDS, f"{name}: Extra inputs are not permitted")
    want(isinstance(body.get("model"), str) and body["model"], "model: Field required")
    limit = body.get("max_tokens")
    want(is_int(limit), "max_tokens: Field required")
    want(limit >= 1, "max_tokens: Input should be greater than or equal to 1")
    want(isinstance(body.get("stream", False), bool), "stream: Input should be a valid boolean")
    _check_system(body)
    check_tools(body)
    messages = _joined(body.get("messages"))
    _check_roles(messages)
    for number, message in enumerate(messages):
        _Message(number, message, body, is_last=message is messages[-1]).check()
    _check_calls(messages)
    _check_end(messages, body)
    _check_thinking(messages, body)
    _check_sampling(body)
    _check_marks(body)


def want(condition: object, message: str) -> None:
    if not condition:
        raise Refused(message)


def is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


# -- messages ------------------------------------------------------------------------------------


def _joined(messages: Any) -> list[dict[str, Any]]:
    want(isinstance(messages, list) and messages, "messages: at least one message is required")
    rows: list[dict[str, Any]] = []
    for number, message in enumerate(messages):
        want(isinstance(message, dict), f"messages.{number}: Input should be an object")
        want(set(message) == {"role", "content"}, f"messages.{number}: Extra inputs")
        content = message["content"]
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        want(
            isinstance(content, list) and content,
            f"messages.{number}: all messages must have non-empty content",
        )
        if rows and rows[-1]["role"] == message["role"]:
            rows[-1]["content"] += content
        else:
            rows.append({"role": message["role"], "content": list(content)})
    return rows


def _check_roles(messages: list[dict[str, Any]]) -> None:
    for message in messages:
        want(message["role"] in ("user", "assistant"), f"messages: Unexpected role {message!r}")
    want(messages[0]["role"] == "user", 'messages: first message must use the "user" role')


class _Message:
    """The blocks of one message, each by itself, and the pairs within it."""

    def __init__(
        self, number: int, message: dict[str, Any], body: dict[str, Any], *, is_last: bool
    ) -> None:
        self.where = f"messages.{number}"
        self.message = message
        self.body = body
        self.is_last = is_last
        self.own: list[str] = []
        self.answered: set[str] = set()

    def check(self) -> None:
        role, blocks = self.message["role"], self.message["content"]
        for place, block in enumerate(blocks):
            where = f"{self.where}.content.{place}"
            want(isinstance(block, dict), f"{where}: Input should be an object")
            self._check_block(where, role, block)
        if role == "assistant":
            want(
                blocks[-1]["type"] not in _THINKING,
                f"{self.where}: The final block in an assistant message cannot be `thinking`.",
            )
            left = [i for i in self.own if i not in self.answered]
            want(
                not left or self.is_last,
                f"{self.where}: `web_search` tool use with id {left} was found without a "
                "corresponding `web_search_tool_result` block",
            )

    def _check_block(self, where: str, role: str, block: dict[str, Any]) -> None:
        kind = block.get("type")
        rules: dict[str, Callable[[str, dict[str, Any]], None]] = {"text": _check_text}
        if role == "user":
            rules |= {"image": _check_image, "document": _check_document}
            rules |= {"tool_result": _check_result}
        else:
            rules |= {"tool_use": _check_use, "thinking": _check_thought}
            rules |= {"redacted_thinking": _check_redacted}
        if kind in rules:
            rules[str(kind)](where, block)
            return
        is_own = isinstance(kind, str) and (
            kind.endswith(("_tool_use", "_tool_result")) or kind == "compaction"
        )
        want(role == "assistant" and is_own, f"{where}: Input tag {kind!r} does not match any of")
        self._check_own(where, str(kind), block)

    def _check_own(self, where: str, kind: str, block: dict[str, Any]) -> None:
        feature = _OWN_FEATURES.get(kind)
        want(not feature or self.body.get(feature), f"{where}: Input tag {kind!r}: no {feature}")
        if kind.endswith("_tool_use"):
            own_id = block.get("id")
            want(isinstance(own_id, str) and own_id, f"{where}.id: Field required")
            want(isinstance(block.get("name"), str), f"{where}.name: Field required")
            want(isinstance(block.get("input"), dict), f"{where}.input: Input should be an object")
            want(own_id not in self.own, f"{where}: `server_tool_use` ids must be unique")
            self.own.append(str(own_id))
        elif kind.endswith("_tool_result"):
            own_id = block.get("tool_use_id")
            want("content" in block, f"{where}.content: Field required")
            want(
                own_id in self.own and own_id not in self.answered,
                f"{where}: unexpected `tool_use_id` found in `{kind}` blocks: {own_id}",
            )
            self.answered.add(str(own_id))


def _check_text(where: str, block: dict[str, Any]) -> None:
    text = block.get("text")
    want(isinstance(text, str), f"{where}.text: Field required")
    want(text, f"{where}: text content blocks must be non-empty")
    want(str(text).strip(), f"{where}: text content blocks must contain non-whitespace text")
    extra = set(block) - {"type", "text", "cache_control", "citations"}
    want(not extra, f"{where}: Extra inputs are not permitted: {extra}")


def _source(where: str, block: dict[str, Any]) -> tuple[Any, bytes, str]:
    source = block.get("source")
    want(isinstance(source, dict) and source.get("type") == "base64", f"{where}.source: invalid")
    assert isinstance(source, dict)
    text = source.get("data")
    try:
        return source.get("media_type"), base64.b64decode(text or "", validate=True), text or ""
    except (binascii.Error, ValueError, TypeError):
        raise Refused(f"{where}.source.base64.data: invalid base64 data") from None


def _check_image(where: str, block: dict[str, Any]) -> None:
    media_type, data, text = _source(where, block)
    want(media_type in _STARTS, f"{where}.source.base64.media_type: {media_type!r}")
    want(data, f"{where}.source.base64.data: image cannot be empty")
    size = len(text)
    want(
        size <= _IMAGE_BYTES_MAX,
        f"{where}.source.base64: image exceeds 5 MB maximum: {size} bytes > {_IMAGE_BYTES_MAX}",
    )
    want(data.startswith(_STARTS[media_type]), f"{where}: Image does not match its media type")


def _check_document(where: str, block: dict[str, Any]) -> None:
    media_type, data, _ = _source(where, block)
    want(media_type == "application/pdf", f"{where}.source.base64.media_type: {media_type!r}")
    want(data.startswith(b"%PDF"), f"{where}: The PDF specified was not valid.")


def _check_result(where: str, block: dict[str, Any]) -> None:
    want(isinstance(block.get("tool_use_id"), str), f"{where}.tool_use_id: Field required")
    want(isinstance(block.get("is_error", False), bool), f"{where}.is_error: no boolean")
    content = block.get("content", "")
    if isinstance(content, list):
        for place, inner in enumerate(content):
            kind = inner.get("type")
            want(kind in ("text", "image"), f"{where}.content.{place}: Input tag {kind!r}")
            (_check_text if kind == "text" else _check_image)(f"{where}.content.{place}", inner)
        return
    want(isinstance(content, str), f"{where}.content: Input should be a valid string")


def _check_use(where: str, block: dict[str, Any]) -> None:
    use_id, name = block.get("id"), block.get("name")
    want(isinstance(use_id, str) and _ID.fullmatch(use_id), f"{where}.id: should match pattern")
    want(isinstance(name, str) and _NAME.fullmatch(name), f"{where}.name: should match pattern")
    want(isinstance(block.get("input"), dict), f"{where}.input: Input should be an object")


def _check_thought(where: str, block: dict[str, Any]) -> None:
    text, signature = block.get("thinking"), block.get("signature")
    want(isinstance(text, str), f"{where}.thinking: Field required")
    want(isinstance(signature, str) and signature, f"{where}.signature: Field required")
    is_ours = str(signature).startswith("fake-")
    want(
        not is_ours or signature == sign(str(text)),
        f"{where}: Invalid `signature` in `thinking` block: it cannot be modified",
    )
    want("cache_control" not in block, f"{where}: cache_control cannot be set for thinking")
    want(set(block) == {"type", "thinking", "signature"}, f"{where}: Extra inputs")


def _check_redacted(where: str, block: dict[str, Any]) -> None:
    want(isinstance(block.get("data"), str), f"{where}.data: Field required")
    want("cache_control" not in block, f"{where}: cache_control cannot be set for thinking")


def _check_calls(messages: list[dict[str, Any]]) -> None:
    seen: set[str] = set()
    open_ids: list[str] = []
    for number, message in enumerate(messages):
        where = f"messages.{number}"
        results = [b for b in message["content"] if b["type"] == "tool_result"]
        first = message["content"][: len(results)]
        want(
            all(b["type"] == "tool_result" for b in first),
            f"{where}: tool_result blocks must come first in the content",
        )
        for block in results:
            want(
                block["tool_use_id"] in open_ids,
                f"{where}: unexpected `tool_use_id` found in `tool_result` blocks: "
                f"{block['tool_use_id']}. Each `tool_result` block must have a corresponding "
                "`tool_use` block in the previous message.",
            )
            open_ids.remove(block["tool_use_id"])
        want(
            not open_ids,
            f"{where}: `tool_use` ids were found without `tool_result` blocks immediately after: "
            f"{open_ids}",
        )
        for block in message["content"]:
            if block["type"] == "tool_use":
                want(block["id"] not in seen, f"{where}: `tool_use` ids must be unique")
                seen.add(block["id"])
                open_ids.append(block["id"])
    want(not open_ids, f"`tool_use` ids were found without `tool_result` blocks: {open_ids}")


# -- the end and thinking ------------------------------------------------------------------------


def _check_end(messages: list[dict[str, Any]], body: dict[str, Any]) -> None:
    last = messages[-1]
    if last["role"] == "user":
        return
    final = last["content"][-1]
    if final["type"] == "text":
        want(
            final["text"] == final["text"].rstrip(),
            "messages: final assistant content cannot end with trailing whitespace",
        )
    is_paused = any(
        block["type"] == "compaction" or block["type"].endswith(("_tool_use", "_tool_result"))
        for block in last["content"]
    )
    want(
        is_paused,
        "This model does not support assistant message prefill. The conversation must end with a "
        f"user message. {body['model']}",
    )


def _check_thinking(messages: list[dict[str, Any]], body: dict[str, Any]) -> None:
    thinking = body.get("thinking")
    if thinking is None or thinking == {"type": "disabled"}:
        return
    want(isinstance(thinking, dict), "thinking: Input should be an object")
    want(thinking.get("type") in ("enabled", "adaptive"), "thinking: Input tag")
    want(body.get("temperature", 1) == 1, "`temperature` may only be set to 1 with thinking")
    want(body.get("top_p", 1) >= 0.95, "`top_p` must be greater than or equal to 0.95")
    want("top_k" not in body, "`top_k` must be unset when thinking is enabled")
    choice = body.get("tool_choice", {"type": "auto"})["type"]
    want(choice in ("auto", "none"), "Thinking may not be enabled when tool_choice forces tool use")
    if thinking["type"] == "adaptive":
        return
    budget = thinking.get("budget_tokens")
    want(is_int(budget) and budget >= 1024, "thinking.enabled.budget_tokens: at least 1024")
    want(body["max_tokens"] > budget, "`max_tokens` must be greater than `thinking.budget_tokens`")
    loop = _loop(messages)
    if loop:
        kind = loop[0]["content"][0]["type"]
        want(
            kind in _THINKING,
            f"messages: Expected `thinking` or `redacted_thinking`, but found `{kind}`. When "
            "`thinking` is enabled, a final `assistant` message must start with a thinking block",
        )


def _loop(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The assistant messages of the turn that is not over: behind the last words of a person."""
    loop: list[dict[str, Any]] = []
    for message in reversed(messages):
        if message["role"] == "assistant":
            loop.insert(0, message)
        elif any(block["type"] != "tool_result" for block in message["content"]):
            break
    return loop


def _check_sampling(body: dict[str, Any]) -> None:
    for name in ("temperature", "top_p"):
        value = body.get(name, 1)
        want(isinstance(value, int | float) and 0 <= value <= 1, f"{name}: range: 0..1")
    want(
        not {"temperature", "top_p"} <= set(body),
        "`temperature` and `top_p` cannot both be specified for this model.",
    )


def _check_system(body: dict[str, Any]) -> None:
    system = body.get("system", "x")
    if isinstance(system, str):
        return
    want(isinstance(system, list) and system, "system: Input should be a valid list")
    for place, block in enumerate(system):
        want(block.get("type") == "text", f"system.{place}: Input tag {block.get('type')!r}")
        _check_text(f"system.{place}", block)


def _check_marks(body: dict[str, Any]) -> None:
    system = body.get("system", [])
    blocks = [b for m in body["messages"] for b in m["content"] if isinstance(m["content"], list)]
    blocks += body.get("tools", [])
    blocks += system if isinstance(system, list) else []
    marks = [block["cache_control"] for block in blocks if "cache_control" in block]
    want(len(marks) <= _MARKS_MAX, f"A maximum of 4 blocks with cache_control, found {len(marks)}.")
    for mark in marks:
        want(isinstance(mark, dict) and mark.get("type") == "ephemeral", "cache_control: Input tag")
