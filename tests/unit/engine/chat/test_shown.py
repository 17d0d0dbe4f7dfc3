"""What readers are shown of a chat: its status, its versions, and which messages are notes."""

from uuid import UUID

import pytest
from msgspec.structs import replace

from engine.chat.changes import ChatChange, Episode, Versions
from engine.chat.content import NewMessage, Part, Role, TextPart, ToolCallPart, Visibility, text_of
from engine.chat.ids import ChatId, ToolCallId
from engine.chat.snapshot import ChatStatus
from engine.chat.summaries import SUMMARY_TOOL, is_summary_note
from engine.chat.view import ShownStatus, shown_status

VERSIONS = Versions(
    snapshot_version=9, history_version=7, queue_version=5, retry_version=3, generation_attempt=2
)


@pytest.mark.parametrize("status", list(ChatStatus))
def test_running_without_anybody_at_work_is_shown_as_pending(status: ChatStatus) -> None:
    runs = status is ChatStatus.RUNNING
    assert shown_status(status, lease_live=True) == status
    assert shown_status(status, lease_live=False) == (ShownStatus.PENDING if runs else status)


def test_a_change_tells_its_versions_and_they_their_episode() -> None:
    change = ChatChange(
        chat_id=ChatId(UUID(int=1)),
        snapshot_version=9,
        history_version=7,
        queue_version=5,
        retry_version=3,
        generation_attempt=2,
        status=ChatStatus.RUNNING,
    )
    assert change.versions == VERSIONS
    assert VERSIONS.episode == Episode(history_version=7, attempt=2)


def called(tool_name: str) -> Part:
    return ToolCallPart(tool_call_id=ToolCallId("call_1"), tool_name=tool_name, args="{}")


NOTE = NewMessage(
    role=Role.ASSISTANT,
    content=(TextPart(text="so far"), called(SUMMARY_TOOL)),
    visibility=Visibility.USER,
)


def test_only_the_call_that_nobody_made_is_a_note_of_a_summary() -> None:
    assert is_summary_note(NOTE)
    assert not is_summary_note(replace(NOTE, role=Role.USER))
    assert not is_summary_note(replace(NOTE, visibility=Visibility.BOTH))
    assert not is_summary_note(replace(NOTE, content=(called("search"),)))
    assert not is_summary_note(replace(NOTE, content=(TextPart(text=SUMMARY_TOOL),)))


def test_the_text_of_a_message_is_what_was_said_and_nothing_between() -> None:
    said = (TextPart(text="red"), called("search"), TextPart(text=" boat"))
    assert text_of(said) == "red boat"
