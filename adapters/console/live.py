"""What a live page of a chat is told: events of the engine become small changes of the page.

A batch of events is one list of changes, which the page applies at once, so nothing flickers. The
changes: `put` (replace an entry, or append it), `region` (replace what a part of the page holds),
`preview` (replace the blocks of the growing answer from one on), `clear` (drop the growing answer),
`reset` (drop entries after one), `state` (what buttons there are).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

from adapters.console.markdown import Markdown
from adapters.console.pages import Pages
from adapters.console.preview import Preview
from adapters.console.sentences import status_view
from adapters.console.transcript import EntryView, Transcript
from engine.chat.actions import RequiredAction
from engine.chat.content import Author
from engine.chat.errors import ChatError, RetryState
from engine.chat.ids import ChatId, MessageId
from engine.chat.view import ShownStatus
from engine.stream.events import (
    ActionsEvent,
    ErrorEvent,
    Event,
    HistoryReset,
    MessageEvent,
    PartEvent,
    PreviewReset,
    QueueEvent,
    RetryEvent,
    StatusEvent,
)

Change = dict[str, Any]


@dataclass(slots=True)
class _Standing:
    """What the status line is made of."""

    status: ShownStatus = ShownStatus.WAITING
    archived: bool = False
    retry: RetryState | None = None
    error: ChatError | None = None


class LiveChat:
    """The page of one visitor as far as the server knows it."""

    def __init__(
        self,
        pages: Pages,
        markdown: Markdown,
        transcript: Transcript,
        *,
        chat_id: ChatId,
        visitor: Author,
        bot: str,
    ) -> None:
        self._pages = pages
        self._transcript = transcript
        self._chat_id = chat_id
        self._visitor = visitor
        self._bot = bot
        self._preview = Preview(markdown, reasoning=pages.reasoning, tool=pages.tool)
        self._standing = _Standing()
        self._told_status = ""
        self._open_actions: tuple[RequiredAction, ...] = ()
        self.last_id = transcript.last_id
        self.needs_actions = False

    @property
    def preview_length(self) -> int:
        """Characters of the growing answer."""
        return self._preview.length

    def begin_again(self) -> list[Change]:
        """What a page is told whose entries are void."""
        return self._reset(MessageId(0))

    def changes(self, events: Iterable[Event]) -> list[Change]:
        """What these events change on the page."""
        changes = [change for event in events for change in self.take(event)]
        return changes + self.settle()

    def take(self, event: Event) -> list[Change]:
        """What this event changes on the page, but for what `settle` gives once for many."""
        match event:
            case StatusEvent() | RetryEvent() | ErrorEvent():
                self._stand(event)
            case PartEvent():
                self._preview.add(event.part)
            case MessageEvent():
                self.last_id = max(self.last_id, event.message.id)
                return self._put(self._transcript.add(event.message))
            case PreviewReset():
                self._preview.clear()
                return [{"do": "clear"}]
            case HistoryReset():
                return self._reset(event.after_id)
            case QueueEvent():
                return self._queue(event)
            case ActionsEvent():
                return self._actions(event.actions)
            case _:
                assert_never(event)
        return []

    def settle(self) -> list[Change]:
        """How the growing answer and the status changed since they were told."""
        changes: list[Change] = []
        if (news := self._preview.changes()) is not None:
            changes.append({"do": "preview", "from": news[0], "blocks": news[1]})
        return changes + self._status()

    def set_actions(self, actions: Sequence[RequiredAction]) -> list[Change]:
        """What the history of questions changes on the page."""
        self.needs_actions = False
        return self._put(self._transcript.set_actions(actions))

    def _stand(self, event: StatusEvent | RetryEvent | ErrorEvent) -> None:
        match event:
            case StatusEvent():
                self._standing.status, self._standing.archived = event.status, event.archived
            case RetryEvent():
                self._standing.retry = event.retry
            case ErrorEvent():
                self._standing.error = event.error

    def _put(self, entries: Iterable[EntryView]) -> list[Change]:
        return [
            {
                "do": "put",
                "id": entry.anchor,
                "html": self._pages.entry(entry, chat_id=self._chat_id),
            }
            for entry in entries
        ]

    def _reset(self, after_id: MessageId) -> list[Change]:
        self._preview.clear()
        self._transcript.reset(after_id)
        self.last_id = after_id
        return [{"do": "clear"}, {"do": "reset", "after": after_id}]

    def _queue(self, event: QueueEvent) -> list[Change]:
        html = self._pages.queue(event.messages, chat_id=self._chat_id, visitor=self._visitor)
        return [{"do": "region", "id": "queue", "html": html}]

    def _actions(self, actions: tuple[RequiredAction, ...]) -> list[Change]:
        self.needs_actions = actions != self._open_actions
        self._open_actions = actions
        html = self._pages.actions(actions, chat_id=self._chat_id)
        return [{"do": "region", "id": "actions", "html": html}]

    def _status(self) -> list[Change]:
        standing = self._standing
        view = status_view(
            standing.status,
            bot=self._bot,
            archived=standing.archived,
            retry=standing.retry,
            error=standing.error,
        )
        html = self._pages.status(view)
        told = f"{standing.status} {standing.archived} {html}"
        if told == self._told_status:
            return []
        self._told_status = told
        state = {
            "do": "state",
            "status": standing.status.value,
            "archived": standing.archived,
        }
        return [{"do": "region", "id": "status", "html": html}, state]
