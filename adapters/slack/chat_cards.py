"""A person's chats as Slack shows them in a list (pure): title, status, a way there, a way to stop."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from adapters.slack import limits
from adapters.slack.orders import OPEN_CHAT_ID, STOP_CHAT_ID
from adapters.slack.plain_labels import label_of, plain_object
from adapters.slack.question_blocks import button, section
from engine.api import ThreadChat
from engine.chat.view import ChatView, ShownStatus

UNTITLED: Final = "Untitled"
TITLE_MAX: Final = 120
_SAID: Final[Mapping[ShownStatus, str]] = {
    ShownStatus.PENDING: "⏳ waiting for its turn",
    ShownStatus.RUNNING: "⏳ working",
    ShownStatus.INTERRUPTING: "🛑 stopping",
    ShownStatus.REQUIRES_ACTION: "❓ waiting for an answer",
    ShownStatus.WAITING: "✅ at rest",
    ShownStatus.ERROR: "⚠️ failed",
}
STOPPABLE: Final = frozenset(
    {ShownStatus.PENDING, ShownStatus.RUNNING, ShownStatus.REQUIRES_ACTION}
)
Block = dict[str, Any]


def title_of(chat: ChatView, longest: int = TITLE_MAX) -> str:
    """A chat's title for a line of text, escaped."""
    return label_of(chat.title or UNTITLED, longest)


def status_said(chat: ChatView) -> str:
    """How a chat is getting on, with how many messages wait in it."""
    waiting = f", {chat.queue_length} waiting" if chat.queue_length else ""
    return _SAID[chat.status] + waiting


def chat_blocks(
    chats: Sequence[ThreadChat], links: Mapping[tuple[str, str], str], *, with_channel: bool = False
) -> list[Block]:
    """A section for each chat, and where it has any a row of buttons. `links`: by channel and thread."""
    blocks: list[Block] = []
    for listed in chats:
        place = f" in <#{listed.channel}>" if with_channel and listed.channel[:1] in "CG" else ""
        text = f"*{title_of(listed.chat).replace('*', '')}*\n{status_said(listed.chat)}{place}"
        blocks.append(section(text))
        if buttons := _buttons(listed, links.get((listed.channel, listed.thread), "")):
            blocks.append({"type": "actions", "elements": buttons})
    return blocks


def chat_lines(chats: Sequence[ThreadChat]) -> str:
    """The same as text, for notifications and screen readers."""
    return "\n".join(f"{title_of(each.chat)}: {status_said(each.chat)}" for each in chats)


def _buttons(listed: ThreadChat, link: str) -> list[Block]:
    buttons = []
    if link and len(link) <= limits.BUTTON_URL_MAX:
        opener: Block = {
            "type": "button",
            "action_id": OPEN_CHAT_ID,
            "text": plain_object("Open", limits.BUTTON_TEXT_MAX),
            "url": link,
        }
        buttons.append(opener)
    if listed.chat.status in STOPPABLE:
        buttons.append(button(STOP_CHAT_ID, "Stop", str(listed.chat.id)) | {"style": "danger"})
    return buttons
