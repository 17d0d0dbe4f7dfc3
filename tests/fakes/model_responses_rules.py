"""What the Responses API refuses, from its documented schema and its error messages.

Written apart from the code that builds requests. `led_to` names the reasoning item that led to
each item that was executed: the API refuses one without the other.
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from tests.fakes.model_rules import Refused, check_root_schema, is_object, want

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_FIELDS = {
    "model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "stream",
    "stream_options", "store", "include", "reasoning", "text", "temperature", "top_p",
    "max_output_tokens", "max_tool_calls", "metadata", "truncation", "user", "service_tier",
    "prompt_cache_key", "safety_identifier", "previous_response_id", "conversation", "background",
}  # fmt: skip
_INCLUDE = {
    "reasoning.encrypted_content", "web_search_call.action.sources", "code_interpreter_call.outputs",
    "file_search_call.results", "message.input_image.image_url", "message.output_text.logprobs",
}  # fmt: skip
_PARTS = {
    "input_text": ("text",),
    "output_text": ("text",),
    "refusal": ("refusal",),
    "input_image": ("image_url",),
    "input_file": ("filename", "file_data"),
}
_BY_ROLE = {
    "user": {"input_text", "input_image", "input_file"},
    "system": {"input_text"},
    "developer": {"input_text"},
    "assistant": {"output_text", "refusal"},
}
_ITEMS: dict[str, tuple[set[str], set[str]]] = {
    # type -> (required fields, further fields)
    "message": ({"role", "content"}, {"id", "status", "phase"}),
    "function_call": ({"call_id", "name", "arguments"}, {"id", "status"}),
    "function_call_output": ({"call_id", "output"}, {"id", "status"}),
    "reasoning": ({"id", "summary"}, {"encrypted_content", "content", "status"}),
    "web_search_call": ({"id", "status", "action"}, set()),
    "file_search_call": ({"id", "status", "queries"}, {"results"}),
    "code_interpreter_call": ({"id", "status", "container_id", "code", "outputs"}, set()),
    "image_generation_call": ({"id", "status", "result"}, set()),
    "mcp_call": (
        {"id", "name", "arguments", "server_label"},
        {"status", "output", "error", "approval_request_id"},
    ),
    "mcp_list_tools": ({"id", "server_label", "tools"}, {"error"}),
    "compaction": ({"id", "encrypted_content"}, set()),
}
_EXECUTED = set(_ITEMS) - {"message", "function_call", "function_call_output", "reasoning"}
_TOOLS = {
    "web_search", "web_search_preview", "file_search", "code_interpreter", "image_generation", "mcp",
}  # fmt: skip


def sealed(text: str) -> str:
    """The encrypted form of a thought."""
    return f"{text.encode().hex()}.{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def check_responses_request(body: Any, led_to: Mapping[str, str] | None = None) -> None:
    """Raise Refused for the first thing that the API would not accept."""
    want(isinstance(body, dict), "request body must be a JSON object")
    for name, value in body.items():
        want(name in _FIELDS, f"Unknown parameter: '{name}'.")
        want(value is not None, f"Invalid type for '{name}': null")
    want(
        isinstance(body.get("model"), str) and body["model"], "Missing required parameter: 'model'."
    )
    want("background" not in body and "conversation" not in body, "not with 'store' false")
    for name in ("stream", "store"):
        want(isinstance(body.get(name, False), bool), f"Invalid type for '{name}'")
    if body.get("store", True) is False:
        want(
            "previous_response_id" not in body,
            "Previous response cannot be used: responses are not stored when 'store' is false.",
        )
    if "instructions" in body:
        _check_words("instructions", body["instructions"])
    if "max_output_tokens" in body:
        limit = body["max_output_tokens"]
        want(
            isinstance(limit, int) and limit >= 16, "Invalid 'max_output_tokens': below minimum 16"
        )
    for name in body.get("include", ()):
        want(name in _INCLUDE, f"Invalid value: '{name}' in 'include'")
        want(
            name != "reasoning.encrypted_content" or body.get("reasoning"),
            "Encrypted content is not supported with this model.",
        )
    _check_tools(body)
    _check_input(body, led_to or {})


def _check_tools(body: dict[str, Any]) -> None:
    tools = body.get("tools", [])
    want(isinstance(tools, list) and ("tools" not in body or tools), "Invalid 'tools': empty array")
    names = []
    for tool in tools:
        if tool.get("type") in _TOOLS:
            continue
        want(tool.get("type") == "function", f"Invalid value: {tool.get('type')!r} in 'tools'")
        extra = set(tool) - {"type", "name", "description", "parameters", "strict"}
        want(not extra, f"Unknown parameter: 'tools[].{extra}'.")
        want(isinstance(tool.get("strict"), bool), "Missing required parameter: 'tools[].strict'.")
        name = tool.get("name")
        want(isinstance(name, str) and _NAME.fullmatch(name), f"Invalid 'tools[].name': {name!r}")
        want(isinstance(tool.get("description", ""), str), "Invalid 'tools[].description'")
        names.append(name)
        check_root_schema(name, tool.get("parameters"))
    want(len(set(names)) == len(names), "Tool names must be unique.")


def _check_input(body: dict[str, Any], led_to: Mapping[str, str]) -> None:
    items: Any = body.get("input")
    want(isinstance(items, list) and items, "Missing required parameter: 'input'.")
    walk = _Walk(led_to, is_stored=body.get("store", True))
    for number, item in enumerate(items):
        walk.take(f"input[{number}]", item)
    walk.close()
    last = items[-1]
    want(
        last["type"] == "function_call_output" or last.get("role") == "user",
        "the input must end with a user message or the output of a call",
    )


class _Walk:
    """Goes through the items once, with what is still awaited."""

    def __init__(self, led_to: Mapping[str, str], *, is_stored: bool) -> None:
        self._led_to = led_to
        self._is_stored = is_stored
        self._ids: set[str] = set()
        self._call_ids: set[str] = set()
        self._open: list[str] = []
        self._thoughts: list[str] = []
        self._has_answers = False

    def take(self, where: str, item: Any) -> None:
        want(isinstance(item, dict), f"Invalid type for '{where}'")
        kind = item.get("type")
        want(kind in _ITEMS, f"Invalid value: {kind!r} in '{where}.type'")
        required, further = _ITEMS[kind]
        for name in sorted(required - set(item)):
            want(False, f"Missing required parameter: '{where}.{name}'.")  # noqa: FBT003 - refuse
        for name in sorted(set(item) - required - further - {"type"}):
            want(False, f"Unknown parameter: '{where}.{name}'.")  # noqa: FBT003 - refuse
        if "id" in item:
            item_id = item["id"]
            want(isinstance(item_id, str) and item_id, f"Invalid '{where}.id': {item_id!r}")
            want(item_id not in self._ids, f"Duplicate item found with id {item_id}.")
            self._ids.add(item_id)
        self._take_kind(where, kind, item)

    def close(self) -> None:
        want(not self._open, f"No tool output found for function call {self._open}.")
        self._check_followed()

    def _take_kind(self, where: str, kind: str, item: dict[str, Any]) -> None:
        if kind == "function_call_output":
            self._check_followed()
            self._take_output(where, item)
            return
        is_model = kind != "message" or item.get("role") == "assistant"
        if self._has_answers or not is_model:
            # One turn's calls and words may stand in any order; then come all the outputs.
            want(not self._open, f"No tool output found for function call {self._open}.")
            self._has_answers = False
        if not is_model:
            self._check_followed()
        if kind == "reasoning":
            self._take_reasoning(where, item)
            return
        if kind == "message":
            _check_message(where, item)
        elif kind == "function_call":
            self._take_call(where, item)
        elif kind in _EXECUTED:
            needed = self._led_to.get(item["id"])
            want(
                needed is None or needed in self._thoughts,
                f"Item '{item['id']}' of type '{kind}' was provided without its required "
                f"'reasoning' item: '{needed}'.",
            )
        self._thoughts = []

    def _take_reasoning(self, where: str, item: dict[str, Any]) -> None:
        want(isinstance(item["summary"], list), f"Invalid type for '{where}.summary'")
        for part in item["summary"]:
            want(part.get("type") == "summary_text", f"Invalid value in '{where}.summary'")
        want(not item.get("content"), f"Invalid '{where}.content': array too long.")
        content = item.get("encrypted_content")
        want(
            content or self._is_stored,
            f"Item with id '{item['id']}' not found. Items are not persisted when `store` is set "
            "to false.",
        )
        want(
            isinstance(content, str) and _is_sealed(content),
            f"The encrypted content for item {item['id']} could not be verified.",
        )
        self._thoughts.append(item["id"])

    def _take_call(self, where: str, item: dict[str, Any]) -> None:
        call_id, name = item["call_id"], item["name"]
        want(
            isinstance(call_id, str) and _ID.fullmatch(call_id),
            f"Invalid '{where}.call_id': {call_id!r}",
        )
        want(call_id not in self._call_ids, f"Duplicate function call id {call_id!r}.")
        self._call_ids.add(call_id)
        self._open.append(call_id)
        want(isinstance(name, str) and _NAME.fullmatch(name), f"Invalid '{where}.name': {name!r}")
        want(is_object(item["arguments"]), f"Invalid '{where}.arguments': no JSON of an object")

    def _take_output(self, where: str, item: dict[str, Any]) -> None:
        call_id = item["call_id"]
        want(
            call_id in self._open,
            f"No tool call found for function call output with call_id {call_id}.",
        )
        self._open.remove(call_id)
        self._has_answers = True
        _check_words(f"{where}.output", item["output"])

    def _check_followed(self) -> None:
        want(
            not self._thoughts,
            f"Item '{self._thoughts[-1:]}' of type 'reasoning' was provided without its required "
            "following item.",
        )


def _check_message(where: str, item: dict[str, Any]) -> None:
    role, content = item["role"], item["content"]
    want(role in _BY_ROLE, f"Invalid value: {role!r} in '{where}.role'")
    if isinstance(content, str):
        _check_words(f"{where}.content", content)
        return
    want(isinstance(content, list) and content, f"Invalid '{where}.content': empty array")
    for part in content:
        kind = part.get("type")
        want(kind in _BY_ROLE[role], f"Invalid value: {kind!r}. Not in a message of the {role}.")
        extra = set(part) - {"type", "detail", "annotations", *_PARTS[kind]}
        want(not extra, f"Unknown parameter: '{where}.content[].{extra}'.")
        for name in _PARTS[kind]:
            _check_words(f"{where}.content[].{name}", part.get(name))
        if kind == "input_image":
            want(
                re.match(r"data:image/(png|jpeg|gif|webp);base64,.|https://", part["image_url"]),
                f"Invalid '{where}.content[].image_url'",
            )
        if kind == "input_file":
            want(
                part["file_data"].startswith("data:application/pdf;base64,"),
                f"Invalid '{where}.content[].file_data'",
            )


def _check_words(where: str, value: Any) -> None:
    want(isinstance(value, str), f"Invalid type for '{where}': expected a string")
    want(value.strip(), f"Invalid '{where}': empty string")


def _is_sealed(content: str) -> bool:
    try:
        return sealed(bytes.fromhex(content.partition(".")[0]).decode()) == content
    except ValueError:
        return False


__all__ = ["Refused", "check_responses_request", "sealed"]
