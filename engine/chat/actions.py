"""A required action as readers see it: what people or clients are asked, and how it was answered."""

from datetime import datetime
from typing import Any

from msgspec import Struct

from engine.chat.answerers import Answerers
from engine.chat.content import Author
from engine.chat.form import Form
from engine.chat.ids import ActionId, ChatId, ToolCallId
from engine.chat.snapshot import Executor
from engine.chat.writes import ActionState


class RequiredAction(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A call that waits for an answer from outside, or that once did.

    `args` is JSON text as the model wrote it; `form` is what people are shown; `answer` any JSON
    value. `revision` is the chat snapshot that last changed it. `answerers`: who may answer (None:
    anyone); `asker` wrote the message that was being answered when it was asked.
    """

    id: ActionId
    chat_id: ChatId
    tool_call_id: ToolCallId
    tool_name: str
    executor: Executor
    args: str
    state: ActionState
    created_at: datetime
    form: Form | None = None
    answerers: Answerers | None = None
    asker: Author | None = None
    deadline_at: datetime | None = None
    closed_at: datetime | None = None
    answered_by: Author | None = None
    answer: Any = None
    revision: int = 0
