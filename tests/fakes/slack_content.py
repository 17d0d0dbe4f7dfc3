"""Owns the reading of what a post or an edit wants to show; pure: arguments in, content or Slack's error out."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.fakes.slack_limits import (
    ATTACHMENTS_MAX,
    MARKDOWN_MAX,
    MESSAGE_BLOCKS_MAX,
    METADATA_BYTES_MAX,
    POST_TEXT_MAX,
    UPDATE_TEXT_MAX,
    Problem,
    check_blocks,
    check_message_total,
    has_one_table_at_most,
)
from tests.fakes.slack_wire import Call, SlackError

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What a call says about a message. None means the call did not mention it."""

    text: str | None
    blocks: list[Json] | None
    attachments: list[Json] | None
    metadata: Json | None
    warnings: tuple[str, ...] = ()


def read_content(call: Call, new_id: Callable[[str], str], *, is_update: bool) -> Content:
    """The content of a call, checked against every limit; raises SlackError with Slack's word for it."""
    text = None if call.args.get("text") is None else call.text("text")
    blocks = _array(call, "blocks", "invalid_blocks_format")
    attachments = _array(call, "attachments", "invalid_attachments")
    metadata = read_metadata(call)
    markdown = call.args.get("markdown_text")
    if markdown is not None:
        if text or blocks:
            raise SlackError("markdown_text_conflict")
        if len(str(markdown)) > MARKDOWN_MAX:
            raise SlackError("msg_too_long")
        text = str(markdown)
        blocks = [{"type": "markdown", "text": str(markdown)}]
    elif text is not None and is_update and len(text) > UPDATE_TEXT_MAX:
        raise SlackError("msg_too_long")
    if blocks:
        check_message_blocks(blocks)
        blocks = dressed(blocks, new_id)
    if attachments is not None and len(attachments) > ATTACHMENTS_MAX:
        raise SlackError("too_many_attachments")
    _refuse_empty(call, text, blocks, attachments, is_update=is_update)
    warnings: tuple[str, ...] = ()
    if text is not None and len(text) > POST_TEXT_MAX:
        text, warnings = text[:POST_TEXT_MAX], ("message_truncated",)
    return Content(
        text=text, blocks=blocks, attachments=attachments, metadata=metadata, warnings=warnings
    )


def check_message_blocks(blocks: list[Json]) -> None:
    if not has_one_table_at_most([b for b in blocks if isinstance(b, dict)]):
        raise SlackError("invalid_attachments", errors=["only_one_table_allowed"])
    if problems := check_blocks(blocks):
        raise invalid_blocks(problems)
    if not check_message_total(blocks):
        raise SlackError("msg_blocks_too_long")


def invalid_blocks(problems: list[Problem]) -> SlackError:
    sentences = [str(problem) for problem in problems]
    return SlackError(
        "invalid_blocks",
        errors=sentences,
        response_metadata={"messages": [f"[ERROR] {sentence}" for sentence in sentences]},
    )


def dressed(blocks: list[Json], new_id: Callable[[str], str]) -> list[Json]:
    """A copy with the block ids, action ids and emoji flags Slack fills in where they are missing."""
    ready = copy.deepcopy(blocks)
    for block in ready:
        block.setdefault("block_id", new_id("b")[-5:])
        inner = [*(block.get("elements") or []), block.get("accessory"), block.get("element")]
        for element in inner:
            if isinstance(element, dict) and block["type"] not in ("context", "rich_text"):
                element.setdefault("action_id", new_id("a")[-5:])
        _add_emoji_flags(block)
    return ready


def _add_emoji_flags(value: object) -> None:
    if isinstance(value, dict):
        if value.get("type") == "plain_text":
            value.setdefault("emoji", True)
        for inner in value.values():
            _add_emoji_flags(inner)
    elif isinstance(value, list):
        for inner in value:
            _add_emoji_flags(inner)


def _array(call: Call, name: str, broken: str) -> list[Json] | None:
    value = call.structure(name, broken)
    if value is None:
        return None
    if not isinstance(value, list):
        raise SlackError(broken)
    if name == "blocks" and len(value) > MESSAGE_BLOCKS_MAX:
        raise invalid_blocks(
            [
                Problem(
                    sentence=f"no more than {MESSAGE_BLOCKS_MAX} items allowed", pointer="/blocks"
                )
            ]
        )
    return value


def read_metadata(call: Call) -> Json | None:
    value = call.structure("metadata", "invalid_metadata_format")
    if value is None or value == {}:
        return None if value is None else {}
    if not isinstance(value, dict):
        raise SlackError("invalid_metadata_format")
    has_type = isinstance(value.get("event_type"), str)
    if not has_type or not isinstance(value.get("event_payload"), dict):
        raise SlackError("invalid_metadata_schema")
    if len(json.dumps(value).encode()) > METADATA_BYTES_MAX:
        raise SlackError("metadata_too_large")
    return value


def _refuse_empty(
    call: Call,
    text: str | None,
    blocks: list[Json] | None,
    attachments: list[Json] | None,
    *,
    is_update: bool,
) -> None:
    if text or blocks or attachments:
        return
    metadata_alone = call.args.get("metadata") is not None
    if is_update and metadata_alone and text is None and blocks is None:
        return
    raise SlackError("no_text")
