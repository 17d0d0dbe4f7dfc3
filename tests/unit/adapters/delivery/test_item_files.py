"""Which files stand in a thread, under keys that are known for good."""

from uuid import UUID

import pytest

from adapters.delivery.item_files import files_of_turn, key_of_whole, size_text
from adapters.delivery.reply_items import FileItem, ItemKey, ReplyItem
from adapters.delivery.reply_view import view_of
from engine.chat.content import FilePart, Role, TextPart
from engine.chat.ids import FileId, MessageId
from engine.chat.view import ShownStatus
from tests.unit.adapters.delivery.threads import asks, calls, message, mirror_of, says

FIRST, SECOND = FileId(UUID(int=1)), FileId(UUID(int=2))


def part(file_id: FileId | None, name: str = "catch.csv") -> FilePart:
    return FilePart(name=name, media_type="text/csv", size=5, file_id=file_id)


def test_files_that_came_with_results_are_handed_out_once_and_in_order() -> None:
    result = message(3, Role.TOOL, part(SECOND), part(FIRST), part(None, "only named"))
    items = files_of_turn(MessageId(1), [result, message(4, Role.TOOL, part(SECOND))])
    assert [item.file_id for item in items] == [SECOND, FIRST]


def test_files_stand_below_the_reply_once_the_turn_is_over() -> None:
    spoken = (asks(1), calls(2, "attach_file"), message(3, Role.TOOL, part(FIRST)))
    growing = view_of(mirror_of(*spoken, shown=ShownStatus.RUNNING))
    assert not any(isinstance(item, FileItem) for item in growing.items)
    over = view_of(mirror_of(*spoken, says(4, "Done."), shown=ShownStatus.WAITING))
    assert [type(item) for item in over.items] == [ReplyItem, FileItem]


def test_files_that_people_sent_are_not_handed_out() -> None:
    asked = message(1, Role.USER, TextPart(text="Look"), part(FIRST))
    view = view_of(mirror_of(asked, says(2, "I see."), shown=ShownStatus.WAITING))
    assert [type(item) for item in view.items] == [ReplyItem]


@pytest.mark.parametrize(
    "key",
    [
        ItemKey(turn_id=MessageId(7), file=str(FIRST)),
        key_of_whole(ReplyItem(key=ItemKey(turn_id=MessageId(7), segment=2), markdown="x")),
    ],
    ids=str,
)
def test_keys_of_files_are_read_as_they_are_written(key: ItemKey) -> None:
    assert ItemKey.parse(str(key)) == key


def test_each_segment_of_a_reply_has_a_file_of_its_own() -> None:
    keys = {
        key_of_whole(ReplyItem(key=ItemKey(turn_id=MessageId(7), segment=n), markdown="x"))
        for n in range(3)
    }
    assert len(keys) == 3


@pytest.mark.parametrize("text", ["file:7", "file:7.", "file:x.reply", "file:"])
def test_what_is_no_key_of_a_file_is_nobodys(text: str) -> None:
    assert ItemKey.parse(text) is None


@pytest.mark.parametrize(
    ("size", "text"),
    [(9, "9 bytes"), (1024, "1 KB"), (3_565_158, "3.4 MB"), (1536, "1.5 KB")],
)
def test_sizes_are_said_as_people_say_them(size: int, text: str) -> None:
    assert size_text(size) == text
