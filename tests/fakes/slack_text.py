"""Owns how fake Slack reads and shows text; pure: rich text of people's words, plain text of blocks, live mentions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tests.fakes.slack_markdown import plain_of_markdown, without_code

Json = dict[str, Any]

_TOKEN = re.compile(r"<([^<>\s][^<>]*)>")
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_PING = re.compile(r"<(@[UW][A-Z0-9]+|!here|!channel|!everyone|!subteam\^[A-Z0-9]+)(?:\|[^>]*)?>")
_BUTTON_TYPES = ("button", "workflow_button")


def unescape(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def rich_text_of(text: str, block_id: str) -> list[Json]:
    """The blocks the Slack composer attaches to a person's message."""
    if not text:
        return []
    elements: list[Json] = []
    position = 0
    for match in _TOKEN.finditer(text):
        if match.start() > position:
            elements.append({"type": "text", "text": unescape(text[position : match.start()])})
        elements.append(_rich_token(match.group(1)))
        position = match.end()
    if position < len(text):
        elements.append({"type": "text", "text": unescape(text[position:])})
    section = {"type": "rich_text_section", "elements": elements}
    return [{"type": "rich_text", "block_id": block_id, "elements": [section]}]


def _rich_token(token: str) -> Json:
    target, _, label = token.partition("|")
    if target.startswith("@"):
        return {"type": "user", "user_id": target[1:]}
    if target.startswith("#"):
        return {"type": "channel", "channel_id": target[1:]}
    if target.startswith("!subteam^"):
        return {"type": "usergroup", "usergroup_id": target.removeprefix("!subteam^")}
    if target.startswith("!"):
        return {"type": "broadcast", "range": target[1:]}
    return {"type": "link", "url": target, **({"text": label} if label else {})}


def plain_of_mrkdwn(text: str, names: dict[str, str]) -> str:
    """What a person reads: mentions by name, links by label, entities undone, emphasis left."""

    def shown(match: re.Match[str]) -> str:
        target, _, label = match.group(1).partition("|")
        if target.startswith("@"):
            return "@" + names.get(target[1:], label or target[1:])
        if target.startswith("#"):
            return "#" + (label or names.get(target[1:], target[1:]))
        if target.startswith("!"):
            return label or "@" + target[1:].partition("^")[0]
        return label or target

    return unescape(_TOKEN.sub(shown, text))


def plain_of_blocks(blocks: list[Json], names: dict[str, str]) -> str:
    """What a person reads of these blocks, one line per block, without the controls."""
    lines = (_plain_block(block, names) for block in blocks)
    return "\n".join(line for line in lines if line)


def _plain_block(block: Json, names: dict[str, str]) -> str:
    match block.get("type"):
        case "section":
            parts = [block.get("text"), *block.get("fields", [])]
            return "\n".join(_plain_text_object(part, names) for part in parts if part)
        case "context":
            shown = (_plain_text_object(element, names) for element in block.get("elements", []))
            return " ".join(text for text in shown if text)
        case "markdown":
            return plain_of_markdown(str(block.get("text", "")), names)
        case "rich_text":
            return "".join(_plain_rich(element, names) for element in block.get("elements", []))
        case "table":
            return "\n".join(
                " | ".join(_plain_cell(cell, names) for cell in row) for row in block["rows"]
            )
        case "divider":
            return "---"
        case "input":
            return _plain_text_object(block.get("label"), names)
        case "image":
            return str(block.get("alt_text", ""))
        case "actions" | "context_actions":
            return ""
        case _:
            return _plain_text_object(block.get("text") or block.get("title"), names)


def _plain_text_object(value: object, names: dict[str, str]) -> str:
    match value:
        case {"type": "mrkdwn", "text": str(text)}:
            return plain_of_mrkdwn(text, names)
        case {"text": str(text)}:
            return unescape(text)
        case {"alt_text": str(text)}:
            return text
        case str(text):
            return unescape(text)
        case _:
            return ""


def _plain_cell(cell: Json, names: dict[str, str]) -> str:
    if cell.get("type") == "rich_text":
        return _plain_rich(cell, names)
    return str(cell.get("text", ""))


def _plain_rich(element: Json, names: dict[str, str]) -> str:
    match element.get("type"):
        case "text":
            return str(element.get("text", ""))
        case "user":
            return "@" + names.get(str(element["user_id"]), str(element["user_id"]))
        case "channel":
            return "#" + names.get(str(element["channel_id"]), str(element["channel_id"]))
        case "broadcast":
            return f"@{element['range']}"
        case "usergroup":
            return f"@{element['usergroup_id']}"
        case "link":
            return str(element.get("text") or element.get("url", ""))
        case "emoji":
            return f":{element['name']}:"
        case "rich_text_list":
            items = (_plain_rich(item, names) for item in element.get("elements", []))
            return "\n".join(f"• {item}" for item in items)
        case _:
            return "".join(_plain_rich(inner, names) for inner in element.get("elements", []))


def text_leaves(value: object) -> Iterator[tuple[str, Json]]:
    """Every string a reader sees in a block tree, with the object that carries it."""
    if isinstance(value, dict):
        text = value.get("text")
        if isinstance(text, str):
            yield text, value
        for key, inner in value.items():
            if key != "text" or not isinstance(inner, str):
                yield from text_leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from text_leaves(inner)


def pings_in(text: str, blocks: list[Json]) -> frozenset[str]:
    """Whom a message notifies: user ids, `here`, `channel`, `everyone`, user group ids; code does not ping."""
    sources = [_CODE.sub("", text)]
    for leaf, carrier in text_leaves(blocks):
        if carrier.get("type") == "mrkdwn":
            sources.append(_CODE.sub("", leaf))
        elif carrier.get("type") == "markdown":
            sources.append(without_code(leaf))
    found = {m.group(1).lstrip("@!") for source in sources for m in _PING.finditer(source)}
    found |= set(_rich_pings(blocks))
    return frozenset(name.removeprefix("subteam^") for name in found)


def _rich_pings(value: object) -> Iterator[str]:
    if isinstance(value, list):
        for inner in value:
            yield from _rich_pings(inner)
    elif isinstance(value, dict):
        match value:
            case {"type": "user", "user_id": str(target)}:
                yield target
            case {"type": "broadcast", "range": str(target)}:
                yield target
            case {"type": "usergroup", "usergroup_id": str(target)}:
                yield target
            case _:
                for inner in value.values():
                    yield from _rich_pings(inner)


def controls_in(blocks: list[Json]) -> Iterator[tuple[str, Json]]:
    """Every interactive element with the id of its block, in the order shown."""
    for block in blocks:
        block_id = str(block.get("block_id", ""))
        inner = [*block.get("elements", []), block.get("accessory"), block.get("element")]
        for element in inner:
            if isinstance(element, dict) and "action_id" in element:
                yield block_id, element


def is_button(element: Json) -> bool:
    return element.get("type") in _BUTTON_TYPES
