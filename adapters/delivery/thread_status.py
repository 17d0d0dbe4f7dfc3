"""How a thread's chat is getting on, in the few words that platforms have for it (pure).

Beside a reply, platforms show whether the agent is at work: a status line, a reaction. Whoever holds the
delivery tells it, so that after a crash the next holder does and nothing says "working" for ever.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from adapters.contract import Place
from adapters.delivery.chat_mirror import ChatMirror
from engine.chat.content import Finish, Message, Role
from engine.chat.ids import ChatId
from engine.chat.view import ShownStatus


class Condition(StrEnum):
    """What a thread's last turn is doing, or how it ended."""

    WORKING = "working"
    ASKING = "asking"
    DONE = "done"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadStatus:
    """The state of a thread's last turn. `source_key`: of the message that the turn answers, if it has one."""

    chat_id: ChatId
    condition: Condition
    source_key: str | None = None


OnStatus = Callable[[Place, ThreadStatus | None], None]
"""Is told of every change, and once at the beginning; None: from now on somebody else tells, if anybody
does. Must neither wait nor raise."""


def status_of(chat_id: ChatId, mirror: ChatMirror) -> ThreadStatus | None:
    """How the chat is getting on; None before anything was said in it."""
    last = max(
        (m for m in mirror.messages.values() if m.role is Role.USER),
        key=lambda message: message.id,
        default=None,
    )
    if last is None:
        return None
    return ThreadStatus(
        chat_id=chat_id, condition=_condition_of(mirror, last), source_key=last.source_key
    )


def _condition_of(mirror: ChatMirror, last: Message) -> Condition:
    match mirror.status:
        case ShownStatus.REQUIRES_ACTION:
            return Condition.ASKING
        case ShownStatus.ERROR:
            return Condition.FAILED
        case ShownStatus.WAITING:
            replies = [m for m in mirror.messages.values() if m.id > last.id]
            ended = max(replies, key=lambda message: message.id, default=None)
            is_stopped = ended is None or ended.finish is Finish.INTERRUPTED
            return Condition.STOPPED if is_stopped else Condition.DONE
        case _:
            return Condition.WORKING


class StatusTeller:
    """Tells of one thread's status whenever it is another."""

    def __init__(self, place: Place, chat_id: ChatId, tell: OnStatus | None) -> None:
        self._place = place
        self._chat_id = chat_id
        self._tell = tell
        self._told: ThreadStatus | None = None

    def look(self, mirror: ChatMirror) -> None:
        """Tell if there is something new."""
        if self._tell is None:
            return
        status = status_of(self._chat_id, mirror)
        if status is not None and status != self._told:
            self._told = status
            self._tell(self._place, status)

    def leave(self) -> None:
        """Tell no more of this thread here."""
        if self._tell is not None and self._told is not None:
            self._told = None
            self._tell(self._place, None)
