from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from adapters.console.live import Change, LiveChat
from adapters.console.markdown import Markdown
from adapters.console.pages import Pages
from adapters.console.sentences import SUMMARISING
from adapters.console.transcript import Transcript
from engine.chat.changes import Episode
from engine.chat.content import Author, Message, Role, TextPart
from engine.chat.ids import ChatId, MessageId, ToolCallId
from engine.chat.summaries import SUMMARY_TOOL
from engine.chat.view import ShownStatus
from engine.stream.events import (
    ActionsEvent,
    Event,
    HistoryReset,
    HistoryResetReason,
    MessageEvent,
    PartEvent,
    PreviewReset,
    PreviewResetReason,
    QueueEvent,
    StatusEvent,
    TextDelta,
    ToolCallDelta,
)

CHAT = ChatId(UUID(int=1))
PAGES = Pages()
COMMITTED = PreviewReset(reason=PreviewResetReason.COMMITTED)


def live() -> LiveChat:
    markdown = Markdown()
    return LiveChat(
        PAGES,
        markdown,
        Transcript(markdown, visitor="console:local", bot="Wren"),
        chat_id=CHAT,
        visitor=Author(identity="console:local", name="Console"),
        bot="Wren",
    )


def part(text: str, attempt: int = 1) -> PartEvent:
    episode = Episode(history_version=1, attempt=attempt)
    return PartEvent(episode=episode, seq=1, part=TextDelta(text=text))


def said(id_: int, text: str) -> MessageEvent:
    return MessageEvent(
        message=Message(
            id=MessageId(id_),
            chat_id=CHAT,
            role=Role.ASSISTANT,
            content=(TextPart(text=text),),
            created_at=datetime(2026, 12, 1, tzinfo=UTC),
        )
    )


def running(version: int = 1) -> StatusEvent:
    return StatusEvent(status=ShownStatus.RUNNING, archived=False, snapshot_version=version)


def kinds(changes: list[Change]) -> list[str]:
    return [change["do"] for change in changes]


def preview_of(changes: list[Change]) -> Any:
    return next((c["from"], c["blocks"]) for c in changes if c["do"] == "preview")


def test_growing_answer_is_dropped_and_stored_in_one_go() -> None:
    chat = live()
    assert preview_of(chat.changes([running(), part("Good")])) == (0, ["<p>Good</p>\n"])
    changes = chat.changes([part(" morning."), COMMITTED, said(1, "Good morning.")])
    assert kinds(changes) == ["clear", "put"]
    assert chat.last_id == 1


def test_making_a_summary_is_said_in_words() -> None:
    call = ToolCallDelta(tool_call_id=ToolCallId("s"), tool_name=SUMMARY_TOOL, args_delta="{}")
    event = PartEvent(episode=Episode(history_version=1, attempt=1), seq=1, part=call)
    _, (block,) = preview_of(live().changes([running(), event]))
    assert SUMMARISING in block
    assert SUMMARY_TOOL not in block


def test_next_answer_begins_empty() -> None:
    chat = live()
    chat.changes([running(), part("Good morning."), COMMITTED, said(1, "Good morning.")])
    assert preview_of(chat.changes([part("At six.", 2)])) == (0, ["<p>At six.</p>\n"])


def test_events_of_one_batch_that_undo_each_other_send_what_is_left() -> None:
    chat = live()
    retry = PreviewReset(reason=PreviewResetReason.RETRY)
    changes = chat.changes([part("half"), retry, part("anew", 2)])
    assert preview_of(changes) == (0, ["<p>anew</p>\n"])


def test_messages_taken_back_are_dropped_and_forgotten() -> None:
    chat = live()
    chat.changes([said(1, "one"), said(2, "two")])
    reset = HistoryReset(reason=HistoryResetReason.TRUNCATED, after_id=MessageId(1))
    changes = chat.changes([reset, said(5, "five")])
    assert changes[:2] == [{"do": "clear"}, {"do": "reset", "after": 1}]
    assert changes[2]["id"] == "m-5"
    assert chat.last_id == 5


def test_status_is_told_once() -> None:
    chat = live()
    assert kinds(chat.changes([running()])) == ["region", "state"]
    assert chat.changes([running(2)]) == []


def test_nothing_new_is_nothing_told() -> None:
    chat = live()
    chat.changes([running(), QueueEvent(messages=())])
    assert chat.changes([]) == []


def test_questions_are_asked_for_when_they_change() -> None:
    chat = live()
    quiet: list[Event] = [running(), ActionsEvent(actions=())]
    chat.changes(quiet)
    assert chat.needs_actions is False
