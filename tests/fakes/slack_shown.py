"""Owns what the channel shows, for assertions: messages as a person sees them, frozen at the moment of looking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.fakes.slack_shapes import message_json
from tests.fakes.slack_state import Message, Workspace
from tests.fakes.slack_stream_state import StreamState
from tests.fakes.slack_text import (
    controls_in,
    is_button,
    pings_in,
    plain_of_blocks,
    plain_of_mrkdwn,
)

Json = dict[str, Any]


class NotShownError(AssertionError):
    """The person looks for something that is not on the screen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """A button or a menu as shown; `label` is its text or placeholder."""

    label: str
    action_id: str
    block_id: str
    element: Json

    @property
    def value(self) -> str | None:
        return self.element.get("value")

    @property
    def options(self) -> list[Json]:
        groups = self.element.get("option_groups") or []
        return [*(self.element.get("options") or []), *(o for g in groups for o in g["options"])]

    @property
    def option_labels(self) -> list[str]:
        return [option["text"]["text"] for option in self.options]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownMessage:
    """One message on the screen. `plain` is what is read: the blocks if there are any, else the text."""

    ts: str
    channel_id: str
    team_id: str
    thread_ts: str | None
    author: str
    author_id: str | None
    text: str
    plain: str
    blocks: list[Json]
    edits: int
    buttons: tuple[Control, ...]
    menus: tuple[Control, ...]
    reactions: dict[str, list[str]]
    files: tuple[str, ...]
    metadata: Json | None
    pings: frozenset[str]
    is_tombstone: bool
    is_ephemeral: bool
    is_broadcast: bool
    is_streaming: bool
    tasks: tuple[tuple[str, str], ...]
    wire: Json

    @property
    def button_labels(self) -> list[str]:
        return [button.label for button in self.buttons]

    def control(self, wanted: str) -> Control:
        """The button or menu with this action id or label; raises NotShownError."""
        for control in (*self.buttons, *self.menus):
            if wanted in (control.action_id, control.label):
                return control
        shown = [control.label for control in (*self.buttons, *self.menus)]
        raise NotShownError(f"no control {wanted!r} on {self.plain!r}; shown: {shown}")


def shown_message(workspace: Workspace, message: Message) -> ShownMessage:
    frozen = message.snapshot()
    names = _names(workspace)
    controls = [_control(block_id, element) for block_id, element in controls_in(frozen.blocks)]
    author = frozen.username or names.get(frozen.user or "", frozen.user or "")
    plain = plain_of_blocks(frozen.blocks, names) or plain_of_mrkdwn(frozen.text, names)
    return ShownMessage(
        ts=frozen.ts,
        channel_id=frozen.channel_id,
        team_id=workspace.id,
        thread_ts=frozen.thread_ts,
        author=author,
        author_id=frozen.user,
        text=frozen.text,
        plain=plain,
        blocks=frozen.blocks,
        edits=frozen.edits,
        buttons=tuple(c for c in controls if is_button(c.element)),
        menus=tuple(c for c in controls if not is_button(c.element)),
        reactions=frozen.reactions,
        files=tuple(str(file.shown.get("title", file.name)) for file in frozen.files),
        metadata=frozen.metadata,
        pings=pings_in(frozen.text, frozen.blocks),
        is_tombstone=frozen.subtype == "tombstone",
        is_ephemeral=frozen.visible_to is not None,
        is_broadcast=frozen.subtype == "thread_broadcast",
        is_streaming=frozen.stream is not None and frozen.stream.state is StreamState.LIVE,
        tasks=_tasks(frozen),
        wire=message_json(workspace, frozen, with_metadata=True),
    )


def _tasks(message: Message) -> tuple[tuple[str, str], ...]:
    """The task cards above the text, by title and status."""
    cards = message.stream.tasks.values() if message.stream is not None else ()
    return tuple((str(card["title"]), str(card["status"])) for card in cards)


def _names(workspace: Workspace) -> dict[str, str]:
    names = {account.id: account.name for account in workspace.accounts.values()}
    return names | {channel.id: channel.name for channel in workspace.channels.values()}


def _control(block_id: str, element: Json) -> Control:
    text = element.get("text") or element.get("placeholder") or {}
    label = text.get("text", "") if isinstance(text, dict) else str(text)
    return Control(label=label, action_id=element["action_id"], block_id=block_id, element=element)


def describe(messages: list[ShownMessage]) -> str:
    """The messages as lines, for the words of a failed assertion."""
    lines = []
    for m in messages:
        extras = f" [{', '.join(m.button_labels)}]" if m.buttons else ""
        edits = f" (edited {m.edits}x)" if m.edits else ""
        edits += " (streaming)" if m.is_streaming else ""
        lines.append(f"{m.ts} {m.author}: {m.plain!r}{extras}{edits}")
    return "\n".join(lines)
