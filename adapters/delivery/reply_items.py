"""What a thread shows, item by item, and the keys under which items are known for good (pure).

A reply's key names the turn by its user message and that message's source. An edited message is a new
one with the same source, which is how its reply takes over the pages of the old reply.
"""

from dataclasses import dataclass

from adapters.contract import TaskCard
from adapters.delivery.chat_mirror import NO_MESSAGE
from engine.chat.answerers import Answerers
from engine.chat.content import Author
from engine.chat.form import Form
from engine.chat.ids import ActionId, FileId, MessageId
from engine.chat.writes import ActionState


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemKey:
    """Names an item over its whole life.

    `turn_id` and `segment` for replies, `turn_id` and `file` for files, `action_id` for questions.
    """

    turn_id: MessageId = NO_MESSAGE
    source_key: str | None = None
    segment: int = 0
    action_id: ActionId | None = None
    file: str = ""

    def __str__(self) -> str:
        """`reply:12`, `reply:12.1@T1:C1:1700000000.000100`, `action:7`, `file:12.reply`."""
        if self.action_id is not None:
            return f"action:{self.action_id}"
        if self.file:
            return f"file:{self.turn_id}.{self.file}"
        segment = f".{self.segment}" if self.segment else ""
        source = f"@{self.source_key}" if self.source_key else ""
        return f"reply:{self.turn_id}{segment}{source}"

    @staticmethod
    def parse(text: str) -> "ItemKey | None":
        """The key that `str` gave; None for another writer's."""
        kind, _, rest = text.partition(":")
        head, at, source = rest.partition("@")
        number, _, segment = head.partition(".")
        if kind == "file" and number.isdecimal() and segment:
            return ItemKey(turn_id=MessageId(int(number)), file=segment)
        if not number.isdecimal() or not (segment or "0").isdecimal():
            return None
        if kind == "action":
            return ItemKey(action_id=ActionId(int(number)))
        if kind != "reply":
            return None
        return ItemKey(
            turn_id=MessageId(int(number)),
            source_key=source if at else None,
            segment=int(segment or 0),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyItem:
    """One run of text. `is_growing`: more is to come, so what is shown is a draft.

    `activity`: a line below the text for now, about what takes time. It is no part of the text,
    which only grows. `tasks`: the same for platforms that show it as cards. `reader`: the author of
    what is answered, as messages name authors; empty where nobody is known. `rates`: the answer is
    whole, so people may say what they think of it; the message that it answers.
    """

    key: ItemKey
    markdown: str
    activity: str = ""
    is_growing: bool = False
    can_stop: bool = False
    tasks: tuple[TaskCard, ...] = ()
    reader: str = ""
    rates: MessageId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionItem:
    """One question to people, open or closed. `outcome`: what became of it, once it is closed.

    `answerers`, `asker` and `named`: see adapters.contract.Question.
    """

    key: ItemKey
    form: Form
    state: ActionState
    outcome: str = ""
    answerers: Answerers | None = None
    asker: Author | None = None
    named: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FileItem:
    """One stored file that the agent has handed out. `size` in bytes, as far as it is known."""

    key: ItemKey
    file_id: FileId
    name: str
    size: int


Item = ReplyItem | QuestionItem | FileItem
