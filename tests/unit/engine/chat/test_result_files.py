"""Files that came with a tool's result: stored behind it, and left out where it is."""

from uuid import UUID

from engine.chat.content import FilePart, NewMessage, Role, ToolResultPart, plain
from engine.chat.ids import FileId, ToolCallId
from engine.chat.snapshot import OpenCall
from engine.chat.synthetic import result_message, settle, without_files

CALL = OpenCall(tool_call_id=ToolCallId("c1"), tool_name="attach_file")
FILE = FilePart(name="a.csv", media_type="text/csv", size=3, file_id=FileId(UUID(int=1)))
BARE = ToolResultPart(tool_call_id=CALL.tool_call_id, tool_name=CALL.tool_name, result="ok")
GIVEN = ToolResultPart(
    tool_call_id=CALL.tool_call_id, tool_name=CALL.tool_name, result="ok", files=(FILE,)
)


def test_files_stand_behind_the_result_that_they_came_with() -> None:
    message = result_message(GIVEN)
    assert message == NewMessage(role=Role.TOOL, content=(BARE, FILE))
    assert settle([CALL], [message], "no result") == ((message,), ())


def test_result_without_files_is_stored_as_it_is() -> None:
    assert result_message(BARE).content == (BARE,)
    assert without_files(BARE) is BARE
    assert without_files(GIVEN) == BARE


def test_second_result_of_a_call_is_left_out_with_its_files() -> None:
    first, second = result_message(BARE), result_message(GIVEN)
    assert settle([CALL], [first, second], "no result") == ((first,), ())


def test_files_of_the_result_that_counts_stay_beside_one_that_does_not() -> None:
    both = NewMessage(role=Role.TOOL, content=(BARE, FILE, BARE, FILE))
    wanted = NewMessage(role=Role.TOOL, content=(BARE, FILE))
    assert settle([CALL], [both], "no result") == ((wanted,), ())


def test_files_of_people_stay() -> None:
    said = NewMessage(role=Role.USER, content=(*plain("look"), FILE))
    assert settle([], [said], "no result") == ((said,), ())
