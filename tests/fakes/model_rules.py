"""What a real Chat Completions provider refuses: the strictest rules of those in use, together.

Written from the providers' error messages, apart from the code that builds requests.
"""

import json
import re
from typing import Any

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_IMAGE_URL = re.compile(r"https://|data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+=*$")
_FILE_DATA = re.compile(r"data:application/pdf;base64,[A-Za-z0-9+/]+=*$")
_ID = re.compile(r"[a-zA-Z0-9_-]{1,40}")


class Refused(Exception):
    """The request is answered with a 400 and this message."""


def check_request(body: Any) -> None:
    """Raise Refused for the first thing that a provider would not accept."""
    want(isinstance(body, dict), "request body must be a JSON object")
    want(isinstance(body.get("model"), str) and body["model"], "you must provide a model")
    want(isinstance(body.get("stream", False), bool), "stream must be a boolean")
    if "stream_options" in body:
        want(body.get("stream") is True, "stream_options is only allowed when stream is enabled")
    for name in ("max_tokens", "max_completion_tokens"):
        if name in body:
            want(isinstance(body[name], int) and body[name] > 0, f"{name} must be positive")
    check_tools(body)
    check_messages(body.get("messages"))


def check_tools(body: dict[str, Any]) -> None:
    if "tools" not in body:
        return
    tools = body["tools"]
    want(isinstance(tools, list) and tools, "[] is too short - 'tools'")
    names = []
    for tool in tools:
        want(tool.get("type") == "function", "tools: type must be function")
        function = tool.get("function")
        want(isinstance(function, dict), "tools: function is missing")
        name = function.get("name")
        want(
            isinstance(name, str) and _NAME.fullmatch(name),
            f"tools: name {name!r} does not match the pattern",
        )
        want(isinstance(function.get("description", ""), str), "tools: description is no string")
        names.append(name)
        schema = function.get("parameters", {"type": "object", "properties": {}})
        check_root_schema(name, schema)
    want(len(set(names)) == len(names), "tools: Tool names must be unique.")


def check_root_schema(name: str, schema: Any) -> None:
    """The schema of a function's arguments as a whole."""
    want(
        isinstance(schema, dict)
        and schema.get("type") == "object"
        and not {"oneOf", "anyOf", "allOf", "enum", "not"} & set(schema),
        f"Invalid schema for function {name!r}: schema must have type 'object' and not have "
        "'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.",
    )
    want("properties" in schema, f"Invalid schema for function {name!r}: properties missing")
    check_schema(name, schema)


def check_schema(name: str, schema: Any) -> None:
    if not isinstance(schema, dict):
        want(isinstance(schema, bool), f"Invalid schema for function {name!r}: {schema!r}")
        return
    if "required" in schema:
        required = schema["required"]
        want(
            isinstance(required, list) and required,
            f"Invalid schema for function {name!r}: {required!r} is not a list of names",
        )
    if "properties" in schema:
        want(
            isinstance(schema["properties"], dict),
            f"Invalid schema for function {name!r}: None is not of type 'object'",
        )
        for item in schema["properties"].values():
            check_schema(name, item)
    for key in ("type", "items", "anyOf", "enum", "description", "additionalProperties"):
        want(
            schema.get(key, 0) is not None,
            f"Invalid schema for function {name!r}: {key} is null",
        )
    if schema.get("type") == "array":
        want("items" in schema, f"Invalid schema for function {name!r}: array schema missing items")
    if "items" in schema:
        check_schema(name, schema["items"])
    for item in schema.get("anyOf", ()):
        check_schema(name, item)


def check_messages(messages: Any) -> None:
    want(isinstance(messages, list) and messages, "[] is too short - 'messages'")
    seen: set[str] = set()
    open_ids: list[str] = []
    for number, message in enumerate(messages):
        where = f"messages.[{number}]"
        want(isinstance(message, dict), f"{where} is no object")
        role = message.get("role")
        if role == "tool":
            call_id = message.get("tool_call_id")
            want(
                call_id in open_ids,
                f"{where}: messages with role 'tool' must be a response to a preceding message "
                "with 'tool_calls'.",
            )
            open_ids.remove(call_id)
            _check_text(where, message.get("content"))
            continue
        want(
            not open_ids,
            "An assistant message with 'tool_calls' must be followed by tool messages responding "
            f"to each 'tool_call_id'. These did not have response messages: {open_ids}",
        )
        if role == "assistant":
            open_ids = _check_assistant(where, message, seen)
        elif role == "system":
            want(number == 0, f"{where}: a system message must be the first")
            _check_text(where, message.get("content"))
        else:
            want(role == "user", f"{where}: {role!r} is not one of the roles")
            _check_said(where, message.get("content"))
    want(not open_ids, f"These tool_call_ids did not have response messages: {open_ids}")
    want(
        messages[-1]["role"] in ("user", "tool"),
        "the conversation must end with a user message (no prefill of the assistant's answer)",
    )


def _check_assistant(where: str, message: dict[str, Any], seen: set[str]) -> list[str]:
    if "tool_calls" not in message:
        _check_text(where, message.get("content"))
        return []
    if message.get("content") is not None:
        _check_text(where, message["content"])
    calls = message["tool_calls"]
    want(isinstance(calls, list) and calls, f"{where}: [] is too short - 'tool_calls'")
    ids = []
    for call in calls:
        call_id = call.get("id")
        want(
            isinstance(call_id, str) and _ID.fullmatch(call_id),
            f"{where}: invalid tool call id {call_id!r}",
        )
        want(call_id not in seen, f"{where}: duplicate tool call id {call_id!r}")
        seen.add(call_id)
        ids.append(call_id)
        want(call.get("type") == "function", f"{where}: tool call without a type")
        function = call.get("function", {})
        name = function.get("name")
        want(
            isinstance(name, str) and _NAME.fullmatch(name),
            f"{where}: tool call name {name!r} does not match the pattern",
        )
        want(
            is_object(function.get("arguments")),
            f"{where}: arguments are not the JSON of an object",
        )
    return ids


def _check_text(where: str, content: Any) -> None:
    want(isinstance(content, str), f"{where}: content must be a string")
    want(content.strip() != "", f"{where}: text content must be non-empty")


def _check_said(where: str, content: Any) -> None:
    """What a person says: text, or a list of text, images and files."""
    if not isinstance(content, list):
        _check_text(where, content)
        return
    want(content, f"{where}: [] is too short - 'content'")
    for part in content:
        want(isinstance(part, dict), f"{where}: a content part must be an object")
        kind = part.get("type")
        want(kind in ("text", "image_url", "file"), f"{where}: invalid content type {kind!r}")
        want(set(part) == {"type", kind}, f"{where}: unknown fields in a part of type {kind!r}")
        if kind == "text":
            _check_text(where, part["text"])
        elif kind == "image_url":
            url = part["image_url"].get("url")
            want(
                isinstance(url, str) and _IMAGE_URL.match(url),
                f"{where}: invalid image url; supported are png, jpeg, gif and webp",
            )
        else:
            file = part["file"]
            want(set(file) == {"filename", "file_data"}, f"{where}: invalid file")
            want(isinstance(file["filename"], str) and file["filename"], f"{where}: no file name")
            want(
                isinstance(file["file_data"], str) and _FILE_DATA.match(file["file_data"]),
                f"{where}: invalid file_data",
            )


def is_object(text: Any) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (TypeError, ValueError):
        return False


def want(condition: object, message: str) -> None:
    if not condition:
        raise Refused(message)
