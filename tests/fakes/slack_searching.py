"""Owns menus whose options the app finds while somebody types: the question to the app and what is shown of its answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from tests.fakes.slack_deliveries import Delivery
from tests.fakes.slack_limits import OPTION_MAX, length_of
from tests.fakes.slack_shapes import view_json
from tests.fakes.slack_shown import NotShownError, ShownMessage
from tests.fakes.slack_state import View
from tests.fakes.slack_text import controls_in

Json = dict[str, Any]
OPTIONS_MAX = 100
EXTERNAL = ("external_select", "multi_external_select")


async def find_options(
    where: ShownMessage | View,
    typed: str,
    payload: Json,
    ask: Callable[[Json], Awaitable[Delivery]],
    *,
    label: str | None = None,
) -> list[Json]:
    """What the menu shows when somebody has typed this; empty where the app did not answer in time.

    Raises AssertionError for options that Slack would not show.
    """
    block_id, element = _menu(where, label)
    # Slack sends no trigger with it: nothing can be opened while somebody types.
    del payload["trigger_id"]
    payload |= {"action_id": element["action_id"], "block_id": block_id, "value": typed}
    if len(typed) < int(element.get("min_query_length", 3)):
        return []
    if isinstance(where, View):
        payload |= {
            "container": {"type": "view", "view_id": where.id},
            "view": view_json(where),
        }
    else:
        payload |= {
            "container": {
                "type": "message",
                "message_ts": where.ts,
                "channel_id": where.channel_id,
                "is_ephemeral": where.is_ephemeral,
            },
            "channel": {"id": where.channel_id},
        }
    delivery = await ask(payload)
    answer = delivery.response if delivery.is_acked else None
    options = answer.get("options", []) if isinstance(answer, dict) else []
    _check(options)
    return list(options)


def _menu(where: ShownMessage | View, label: str | None) -> tuple[str, Json]:
    for block in where.blocks:
        named = (block.get("label") or {}).get("text")
        for block_id, element in controls_in([block]):
            if element["type"] in EXTERNAL and label in (None, named, element["action_id"]):
                return block_id, element
    raise NotShownError(f"no menu {label!r} to search in")


def _check(options: list[Json]) -> None:
    assert len(options) <= OPTIONS_MAX, f"{len(options)} options"
    for option in options:
        for name, most in OPTION_MAX.items():
            assert (length_of(option.get(name)) or 0) <= most, f"{name} of {option}"
        assert option["value"], option
        assert option["text"]["type"] == "plain_text", option
