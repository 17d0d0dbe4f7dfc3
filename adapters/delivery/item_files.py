"""Which files stand in a thread: those that the agent has handed out, and replies too long for it (pure)."""

from collections.abc import Iterable

from adapters.delivery.reply_items import FileItem, ItemKey, ReplyItem
from engine.chat.content import FilePart, Message
from engine.chat.ids import MessageId

WHOLE_NAME = "reply.md"
"""What a reply is called that is too long for the thread."""
WHOLE_BELOW = f"*The answer goes on. All of it is in the file `{WHOLE_NAME}` below.*"
_UNITS = ((1024 * 1024, "MB"), (1024, "KB"))


def files_of_turn(turn_id: MessageId, replies: Iterable[Message]) -> list[FileItem]:
    """The stored files that came with what the agent said and did in a turn, each once."""
    parts = {
        part.file_id: part
        for message in replies
        for part in message.content
        if isinstance(part, FilePart) and part.file_id is not None
    }
    return [
        FileItem(
            key=ItemKey(turn_id=turn_id, file=str(file_id)),
            file_id=file_id,
            name=part.name,
            size=part.size or 0,
        )
        for file_id, part in parts.items()
    ]


def key_of_whole(item: ReplyItem) -> ItemKey:
    """The key of the file that holds all of a reply."""
    return ItemKey(turn_id=item.key.turn_id, file=f"reply{item.key.segment or ''}")


def too_large(item: FileItem) -> str:
    """What is said of a file that is larger than this thread takes."""
    return f"📎 {_named(item)} is too large for this thread. It is kept with the chat."


def not_taken(item: FileItem) -> str:
    """What is said of a file where the thread takes none."""
    return f"📎 {_named(item)} cannot be shown in this thread. It is kept with the chat."


def not_kept(item: FileItem) -> str:
    """What is said of a file that is gone."""
    return f"📎 {_named(item)} is not kept any more."


def _named(item: FileItem) -> str:
    name = item.name.replace("`", "'")
    return f"`{name}` ({size_text(item.size)})" if item.size else f"`{name}`"


def size_text(size: int) -> str:
    """A size in bytes as people say it: `12 KB`, `3.4 MB`."""
    for unit, name in _UNITS:
        if size >= unit:
            return f"{size / unit:.1f}".removesuffix(".0") + f" {name}"
    return f"{size} bytes"
