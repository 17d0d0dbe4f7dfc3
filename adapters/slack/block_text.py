"""What blocks and attachments say, in Slack's own escaped text, bounded (pure).

A message may leave its `text` empty, or hold only a notice there, and say everything in blocks: of
rich text, of an app's making, of kinds that did not exist yet when this was written. All become text
with tokens (`<@U1>`) and entities, as if somebody had typed it; inbound_text reads that on.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from adapters.slack.wire import Json, object_at, objects_at, text_at

BLOCKS_CHARACTERS_MAX = 20_000
"""Of one message's blocks, and of one attachment."""
_DEPTH_MAX = 12
"""Blocks within blocks. Slack nests four deep."""
_CUT = "…"
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_TEXT_OBJECTS = ("mrkdwn", "plain_text", "raw_text")
_TEXT_FIELDS = (
    "title", "subtitle", "header", "label", "text", "body", "description", "details", "output",
    "alt_text",
)  # fmt: skip
_LIST_FIELDS = (
    "fields", "elements", "blocks", "children", "cards", "items", "tasks", "columns",
)  # fmt: skip


def escaped(text: str) -> str:
    """Text that is as it stands, the way Slack would have sent it."""
    return text.translate(_ESCAPES)


def cut(text: str, characters_max: int) -> str:
    """At most so many characters; what was longer says so at its end."""
    return text if len(text) <= characters_max else text[: characters_max - 1] + _CUT


def blocks_text(blocks: list[Json]) -> str:
    """The text of a message's blocks, each on lines of its own."""
    said = (block_text(block).strip() for block in blocks)
    return cut("\n".join(text for text in said if text), BLOCKS_CHARACTERS_MAX)


def block_text(block: Json, depth: int = 0) -> str:
    """The text of one block, of whatever kind."""
    kind = text_at(block, "type")
    if depth > _DEPTH_MAX:
        return ""
    if kind in _TEXT_OBJECTS:
        return text_at(block, "text")
    if kind.startswith("rich_text") or (kind in _RICH_LEAVES and depth > 0):
        return _rich_text(block, depth)
    return _BLOCKS.get(kind, _any_block)(block, depth)


def attachment_text(attachment: Json) -> str:
    """What an app says in an attachment: an alert, mostly."""
    lines = [text_at(attachment, "pretext"), text_at(attachment, "title")]
    inner = blocks_text(objects_at(attachment, "blocks"))
    lines.append(text_at(attachment, "text") or inner or text_at(attachment, "fallback"))
    for field in objects_at(attachment, "fields"):
        title, value = text_at(field, "title"), text_at(field, "value")
        lines.append(f"{title}: {value}" if title and value else title or value)
    shown = (line.strip() for line in lines)
    return cut("\n".join(line for line in shown if line), BLOCKS_CHARACTERS_MAX)


def forwarded_text(attachment: Json) -> str:
    """What a forwarded message says; its text is empty where it was made of blocks."""
    if text := text_at(attachment, "text").strip():
        return cut(text, BLOCKS_CHARACTERS_MAX)
    inside = (
        blocks_text(objects_at(inner, "message", "blocks"))
        for inner in objects_at(attachment, "message_blocks")
    )
    said = "\n".join(text for text in inside if text)
    return said or blocks_text(objects_at(attachment, "blocks")) or text_at(attachment, "fallback")


def _any_block(block: Json, depth: int) -> str:
    """Texts where blocks have them; most blocks are a heading, a text, and more of the same."""
    said: list[str] = []
    for name in _TEXT_FIELDS:
        inner = block.get(name)
        if isinstance(inner, str):
            said.append(inner)
        elif isinstance(inner, Mapping):
            said.append(block_text(inner, depth + 1))
    for name in _LIST_FIELDS:
        said += [block_text(inner, depth + 1) for inner in objects_at(block, name)]
    return "\n".join(text for text in said if text)


def _context(block: Json, depth: int) -> str:
    said = (block_text(element, depth + 1) for element in objects_at(block, "elements"))
    return " ".join(text for text in said if text)


def _nothing(_block: Json, _depth: int) -> str:
    """Labels of buttons say nothing without their buttons."""
    return ""


def _table(block: Json, depth: int) -> str:
    return "\n".join(_rows(block, depth))


def _rows(block: Json, depth: int) -> Iterator[str]:
    rows = block.get("rows")
    for row in rows if isinstance(rows, list) else ():
        cells = objects_at({"cells": row}, "cells") or objects_at(row, "cells")
        yield " | ".join(" ".join(block_text(cell, depth + 1).split()) for cell in cells)


def _rich_text(element: Json, depth: int) -> str:
    kind = text_at(element, "type")
    if kind in _RICH_LEAVES:
        return _RICH_LEAVES[kind](element)
    if depth > _DEPTH_MAX:
        return ""
    inner = [_rich_text(part, depth + 1) for part in objects_at(element, "elements")]
    text = "".join(inner)
    match kind:
        case "rich_text_list":
            text = "".join(f"{_bullet(element, at)} {item}\n" for at, item in enumerate(inner))
        case "rich_text_preformatted":
            text = f"```\n{text}\n```\n"
        case "rich_text_quote":
            text = "".join(f"&gt; {line}\n" for line in text.split("\n"))
        case "rich_text_section" if depth == 1:
            text += "\n"
    return text


def _bullet(element: Json, at: int) -> str:
    indent, offset = element.get("indent"), element.get("offset")
    deep = indent if isinstance(indent, int) and 0 < indent <= _DEPTH_MAX else 0
    if text_at(element, "style") != "ordered":
        return "  " * deep + "-"
    first = offset if isinstance(offset, int) and 0 <= offset <= 10_000 else 0
    return "  " * deep + f"{first + at + 1}."


def _rich_words(element: Json) -> str:
    text = escaped(text_at(element, "text"))
    is_code = object_at(element, "style").get("code") is True
    return f"`{text}`" if is_code and "`" not in text else text


def _rich_link(element: Json) -> str:
    url, text = text_at(element, "url"), text_at(element, "text")
    address = escaped(url).replace("|", "%7C")
    return f"<{address}|{escaped(text)}>" if text and text != url else f"<{address}>"


def _token(sign: str, name: str) -> Callable[[Json], str]:
    def spell(element: Json) -> str:
        target = escaped(text_at(element, name)).replace("|", "")
        return f"<{sign}{target}>" if target else ""

    return spell


def _rich_date(element: Json) -> str:
    at: Any = element.get("timestamp")
    return escaped(text_at(element, "fallback") or (str(at) if isinstance(at, int) else ""))


_RICH_LEAVES: Mapping[str, Callable[[Json], str]] = {
    "text": _rich_words,
    "user": _token("@", "user_id"),
    "channel": _token("#", "channel_id"),
    "usergroup": _token("!subteam^", "usergroup_id"),
    "broadcast": _token("!", "range"),
    "link": _rich_link,
    "emoji": lambda element: f":{escaped(text_at(element, 'name'))}:",
    "date": _rich_date,
    "color": lambda element: escaped(text_at(element, "value")),
}

_BLOCKS: Mapping[str, Callable[[Json, int], str]] = {
    "context": _context,
    "actions": _nothing,
    "table": _table,
    "data_table": _table,
}
