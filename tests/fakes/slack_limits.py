"""Owns what Slack rejects in text, blocks and modals, as data and pure checks; promises Slack's error words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.fakes.slack_text import text_leaves

Json = dict[str, Any]

POST_TEXT_MAX = 40_000
UPDATE_TEXT_MAX = 4_000
MARKDOWN_MAX = 12_000
MESSAGE_BLOCKS_MAX = 50
VIEW_BLOCKS_MAX = 100
ATTACHMENTS_MAX = 100
METADATA_BYTES_MAX = 8_000
VIEW_BYTES_MAX = 250_000
VIEW_STACK_MAX = 3
LOADING_MESSAGES_MAX = 10
LOADING_MESSAGE_CHARS_MAX = 50
TABLE_ROWS_MAX = 100
TABLE_COLUMNS_MAX = 20
TABLE_CHARS_MAX = 10_000
# Undocumented: about 13,200 characters are accepted in few blocks (bolt-js#2509) and fewer in
# many blocks (bolt-js#2867), so each block is charged something for its container.
MESSAGE_CHARS_MAX = 13_200
BLOCK_CONTAINER_CHARS = 40

_PLACEHOLDER = {"placeholder": 150}
_CONTROL = {"action_id": 255}
_SELECT = {**_CONTROL, **_PLACEHOLDER}

# Longest text of a field; the field is a string or a text object.
TEXT_MAX: dict[str, dict[str, int]] = {
    "section": {"text": 3000},
    "header": {"text": 150},
    "markdown": {"text": MARKDOWN_MAX},
    "image": {"image_url": 3000, "alt_text": 2000, "title": 2000},
    "input": {"label": 2000, "hint": 2000},
    "button": {
        **_CONTROL,
        "text": 75,
        "value": 2000,
        "url": 3000,
        "accessibility_label": 75,
    },
    "static_select": _SELECT,
    "multi_static_select": _SELECT,
    "external_select": _SELECT,
    "multi_external_select": _SELECT,
    "users_select": _SELECT,
    "multi_users_select": _SELECT,
    "conversations_select": _SELECT,
    "multi_conversations_select": _SELECT,
    "channels_select": _SELECT,
    "multi_channels_select": _SELECT,
    "plain_text_input": _SELECT,
    "email_text_input": _SELECT,
    "url_text_input": _SELECT,
    "number_input": _SELECT,
    "rich_text_input": _SELECT,
    "datepicker": _SELECT,
    "timepicker": _SELECT,
    "datetimepicker": _CONTROL,
    "overflow": _CONTROL,
    "checkboxes": _CONTROL,
    "radio_buttons": _CONTROL,
    "file_input": _CONTROL,
    "feedback_buttons": _CONTROL,
    "icon_button": {**_CONTROL, "value": 2000, "accessibility_label": 75},
}
# Fewest and most items of a list field.
ITEMS: dict[str, dict[str, tuple[int, int]]] = {
    "section": {"fields": (1, 10)},
    "actions": {"elements": (1, 25)},
    "context": {"elements": (1, 10)},
    "context_actions": {"elements": (1, 5)},
    "static_select": {"options": (1, 100), "option_groups": (1, 100)},
    "multi_static_select": {"options": (1, 100), "option_groups": (1, 100)},
    "overflow": {"options": (1, 5)},
    "checkboxes": {"options": (1, 10)},
    "radio_buttons": {"options": (1, 10)},
    "table": {"rows": (1, TABLE_ROWS_MAX), "column_settings": (1, TABLE_COLUMNS_MAX)},
}
REQUIRED: dict[str, tuple[str, ...]] = {
    "header": ("text",),
    "markdown": ("text",),
    "image": ("alt_text",),
    "input": ("label", "element"),
    "actions": ("elements",),
    "context": ("elements",),
    "context_actions": ("elements",),
    "rich_text": ("elements",),
    "table": ("rows",),
    "button": ("text",),
    "overflow": ("options",),
    "checkboxes": ("options",),
    "radio_buttons": ("options",),
}
PLAIN_ONLY: dict[str, tuple[str, ...]] = {
    "header": ("text",),
    "button": ("text",),
    "input": ("label", "hint"),
}
CONFIRM_MAX = {"title": 100, "text": 300, "confirm": 30, "deny": 30}
OPTION_MAX = {"text": 75, "value": 150, "description": 75, "url": 3000}
VIEW_MAX = {
    "title": 24,
    "submit": 24,
    "close": 24,
    "private_metadata": 3000,
    "callback_id": 255,
    "external_id": 255,
}

_INTERACTIVE = frozenset(TEXT_MAX) - {"section", "header", "markdown", "image", "input"}
BLOCK_TYPES = frozenset(
    [
        "section",
        "header",
        "markdown",
        "image",
        "divider",
        "context",
        "actions",
        "rich_text",
        "table",
        "context_actions",
        "input",
        "video",
        "file",
        "call",
        "plan",
        "task_card",
        "card",
        "carousel",
        "alert",
        "container",
        "data_table",
    ]
)
_SURFACE_BARS = {"message": frozenset({"file_input"}), "modal": frozenset({"table"})}


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One rejected place: Slack's sentence and the JSON pointer it ends with."""

    sentence: str
    pointer: str

    def __str__(self) -> str:
        return f"{self.sentence} [json-pointer:{self.pointer}]"


def length_of(value: object) -> int | None:
    """Characters of a string or of a text object; None for anything else."""
    if isinstance(value, dict):
        value = value.get("text")
    return len(value) if isinstance(value, str) else None


def check_blocks(blocks: object, *, surface: str = "message") -> list[Problem]:
    """Everything Slack would call `invalid_blocks` about these blocks."""
    if not isinstance(blocks, list):
        return [Problem(sentence="must be an array", pointer="/blocks")]
    most = MESSAGE_BLOCKS_MAX if surface == "message" else VIEW_BLOCKS_MAX
    problems = list(_count(blocks, 0, most, "/blocks"))
    for index, block in enumerate(blocks):
        problems += _check_block(block, f"/blocks/{index}", surface)
    shaped = [block for block in blocks if isinstance(block, dict)]
    problems += _check_duplicates(shaped)
    problems += _check_markdown_total(shaped)
    return problems


def check_message_total(blocks: list[Json]) -> bool:
    """Whether the message as a whole is short enough; False is `msg_blocks_too_long`."""
    chars = sum(len(leaf) for leaf, _ in text_leaves(blocks))
    return chars + BLOCK_CONTAINER_CHARS * (len(blocks) - 1) <= MESSAGE_CHARS_MAX


def has_one_table_at_most(blocks: list[Json]) -> bool:
    """Slack shows one table per message; a second one is `invalid_attachments`."""
    return sum(block.get("type") in ("table", "data_table") for block in blocks) <= 1


def check_view(view: Json) -> list[Problem]:
    """Everything Slack would call `invalid_arguments` about this modal."""
    problems: list[Problem] = []
    if view.get("type") not in ("modal", "home"):
        problems.append(Problem(sentence="must be a valid view type", pointer="/view/type"))
    if view.get("type") == "modal" and "title" not in view:
        problems.append(Problem(sentence="missing required field: title", pointer="/view"))
    for name, most in VIEW_MAX.items():
        if name in view:
            problems += _text_length(view[name], most, f"/view/{name}", fewest=0)
    has_input = any(b.get("type") == "input" for b in view.get("blocks", []) if isinstance(b, dict))
    if view.get("type") == "modal" and has_input and "submit" not in view:
        sentence = "missing required field: submit (a view with inputs needs it)"
        problems.append(Problem(sentence=sentence, pointer="/view"))
    if not isinstance(view.get("blocks"), list):
        problems.append(Problem(sentence="missing required field: blocks", pointer="/view"))
        return problems
    return problems + check_blocks(view["blocks"], surface="modal")


def view_is_too_large(view: Json) -> bool:
    return len(json.dumps(view).encode()) > VIEW_BYTES_MAX


def _check_block(block: object, at: str, surface: str) -> Iterator[Problem]:
    if not isinstance(block, dict):
        yield Problem(sentence="must be an object", pointer=at)
        return
    kind = block.get("type")
    if kind not in BLOCK_TYPES:
        yield Problem(sentence=f"unsupported type: {kind}", pointer=f"{at}/type")
        return
    if kind in _SURFACE_BARS[surface]:
        yield Problem(sentence=f"unsupported type: {kind}", pointer=f"{at}/type")
    if "block_id" in block:
        yield from _text_length(block["block_id"], 255, f"{at}/block_id")
    if kind == "section" and not (block.get("text") or block.get("fields")):
        yield Problem(sentence="missing required field: text or fields", pointer=at)
    yield from _check_shape(block, at)
    yield from _check_children(block, at, surface)
    if kind == "table":
        yield from _check_table(block, at)


def _check_children(block: Json, at: str, surface: str) -> Iterator[Problem]:
    kind = block["type"]
    if kind == "section":
        for index, entry in enumerate(block.get("fields") or []):
            yield from _text_length(entry, 2000, f"{at}/fields/{index}/text")
    if isinstance(block.get("accessory"), dict):
        yield from _check_element(block["accessory"], f"{at}/accessory", surface)
    if isinstance(block.get("element"), dict):
        yield from _check_element(block["element"], f"{at}/element", surface)
    if kind in ("actions", "context_actions"):
        for index, element in enumerate(block.get("elements") or []):
            yield from _check_element(element, f"{at}/elements/{index}", surface)
    if kind == "context":
        for index, element in enumerate(block.get("elements") or []):
            yield from _check_context_element(element, f"{at}/elements/{index}")


def _check_context_element(element: Json, at: str) -> Iterator[Problem]:
    if element.get("type") not in ("mrkdwn", "plain_text", "image"):
        yield Problem(sentence=f"unsupported type: {element.get('type')}", pointer=f"{at}/type")
    elif element["type"] != "image":
        yield from _text_length(element, 3000, f"{at}/text")


def _check_element(element: Json, at: str, surface: str) -> Iterator[Problem]:
    kind = element.get("type")
    if kind not in (_INTERACTIVE | {"image"}) or kind in _SURFACE_BARS[surface]:
        yield Problem(sentence=f"unsupported type: {kind}", pointer=f"{at}/type")
        return
    yield from _check_shape(element, at)
    if isinstance(element.get("confirm"), dict):
        for name, most in CONFIRM_MAX.items():
            if name in element["confirm"]:
                yield from _text_length(element["confirm"][name], most, f"{at}/confirm/{name}")
    yield from _check_options(element.get("options"), f"{at}/options")
    for index, group in enumerate(element.get("option_groups") or []):
        spot = f"{at}/option_groups/{index}"
        yield from _text_length(group.get("label"), 75, f"{spot}/label")
        yield from _count(group.get("options", []), 1, 100, f"{spot}/options")
        yield from _check_options(group.get("options"), f"{spot}/options")
    if kind == "plain_text_input" and int(element.get("max_length") or 1) > 3000:
        yield Problem(sentence="must be less than 3001", pointer=f"{at}/max_length")


def _check_options(options: object, at: str) -> Iterator[Problem]:
    if not isinstance(options, list):
        return
    for index, option in enumerate(options):
        for name in ("text", "value"):
            if name not in option:
                yield Problem(sentence=f"missing required field: {name}", pointer=f"{at}/{index}")
        for name, most in OPTION_MAX.items():
            if name in option:
                yield from _text_length(option[name], most, f"{at}/{index}/{name}")


def _check_shape(part: Json, at: str) -> Iterator[Problem]:
    kind = part["type"]
    for name in REQUIRED.get(kind, ()):
        if name not in part:
            yield Problem(sentence=f"missing required field: {name}", pointer=at)
    for name, most in TEXT_MAX.get(kind, {}).items():
        if name in part:
            fewest = 0 if name in ("alt_text", "value") else 1
            yield from _text_length(part[name], most, f"{at}/{name}", fewest=fewest)
    for name in PLAIN_ONLY.get(kind, ()):
        if isinstance(part.get(name), dict) and part[name].get("type") != "plain_text":
            yield Problem(sentence="must be a plain_text object", pointer=f"{at}/{name}/type")
    for name, (fewest, most) in ITEMS.get(kind, {}).items():
        if name in part:
            yield from _count(part[name], fewest, most, f"{at}/{name}")


def _check_table(table: Json, at: str) -> Iterator[Problem]:
    rows = [row for row in table.get("rows", []) if isinstance(row, list)]
    for index, row in enumerate(rows):
        yield from _count(row, 1, TABLE_COLUMNS_MAX, f"{at}/rows/{index}")
    if sum(len(leaf) for leaf, _ in text_leaves(rows)) > TABLE_CHARS_MAX:
        sentence = f"must be less than {TABLE_CHARS_MAX + 1} characters"
        yield Problem(sentence=sentence, pointer=f"{at}/rows")


def _check_duplicates(blocks: list[Json]) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, block in enumerate(blocks):
        block_id = block.get("block_id")
        if block_id is not None and block_id in seen:
            sentence = f"block_id {block_id} already exists in the blocks"
            yield Problem(sentence=sentence, pointer=f"/blocks/{index}/block_id")
        seen.add(str(block_id))
        actions: set[str] = set()
        for spot, element in enumerate(block.get("elements") or []):
            action_id = element.get("action_id") if isinstance(element, dict) else None
            if action_id is not None and action_id in actions:
                sentence = f"action_id {action_id} already exists in the block"
                pointer = f"/blocks/{index}/elements/{spot}/action_id"
                yield Problem(sentence=sentence, pointer=pointer)
            actions.add(str(action_id))


def _check_markdown_total(blocks: list[Json]) -> Iterator[Problem]:
    lengths = [length_of(b.get("text")) or 0 for b in blocks if b.get("type") == "markdown"]
    if len(lengths) > 1 and sum(lengths) > MARKDOWN_MAX:
        sentence = f"markdown text must be less than {MARKDOWN_MAX + 1} characters in total"
        yield Problem(sentence=sentence, pointer="/blocks")


def _text_length(value: object, most: int, at: str, *, fewest: int = 1) -> Iterator[Problem]:
    length = length_of(value)
    if length is None:
        yield Problem(sentence="must be a text or a string", pointer=at)
    elif length > most:
        yield Problem(sentence=f"must be less than {most + 1} characters", pointer=at)
    elif length < fewest:
        yield Problem(sentence=f"must be more than {fewest - 1} characters", pointer=at)


def _count(items: object, fewest: int, most: int, at: str) -> Iterator[Problem]:
    if not isinstance(items, list):
        yield Problem(sentence="must be an array", pointer=at)
    elif len(items) > most:
        yield Problem(sentence=f"no more than {most} items allowed", pointer=at)
    elif len(items) < fewest:
        yield Problem(sentence=f"no fewer than {fewest} items allowed", pointer=at)
