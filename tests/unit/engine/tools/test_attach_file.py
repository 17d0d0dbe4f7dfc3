"""attach_file: what a model writes becomes a file for people, or a sentence for the model."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from engine.chat.content import FilePart
from engine.chat.files import FileInfo, FileRefusal, NewFile, check_file
from engine.chat.ids import ChatId, FileId
from engine.tools.attach_file import ATTACH_FILE
from engine.tools.registry import ToolContext, ToolOutput

FILE_ID = FileId(UUID(int=5))


async def keep(file: NewFile) -> FileInfo | FileRefusal:
    checked = check_file(file, bytes_max=1000)
    if isinstance(checked, FileRefusal):
        return checked
    return FileInfo(
        id=FILE_ID,
        name=checked.name,
        media_type=checked.media_type,
        size=len(checked.data),
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


async def attach(**args: Any) -> ToolOutput:
    context = ToolContext(chat_id=ChatId(UUID(int=1)), tool_call_id="c1", keep_file=keep)
    output = await ATTACH_FILE.run(args, context)
    assert isinstance(output, ToolOutput)
    return output


def test_it_is_in_the_ledger() -> None:
    assert not ATTACH_FILE.definition.read_only


async def test_text_becomes_a_file_with_a_part_for_people() -> None:
    output = await attach(name="/tmp/catch.csv", content="cod,3\nå")
    assert output.result == {
        "ok": True,
        "file_id": str(FILE_ID),
        "name": "catch.csv",
        "media_type": "text/csv",
        "size": 8,
    }
    part = FilePart(name="catch.csv", media_type="text/csv", size=8, file_id=FILE_ID)
    assert output.files == (part,)


async def test_base64_becomes_bytes_of_any_type() -> None:
    output = await attach(name="a.bin", content="AAEC\nAw==", encoding="base64")
    assert (output.result["media_type"], output.result["size"]) == ("application/octet-stream", 4)
    zipped = await attach(
        name="a.zip", content="AAEC", encoding="base64", media_type="application/zip"
    )
    assert zipped.result["media_type"] == "application/zip"


async def test_odd_text_is_mended() -> None:
    assert (await attach(name="a", content="\ud800", encoding=None)).result["size"] == 1


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({"content": "a"}, "name must be text, and is required."),
        ({"name": " ", "content": "a"}, "name must be text, and is required."),
        ({"name": "a"}, "content must be the whole content"),
        ({"name": "a", "content": 7}, "content must be the whole content"),
        ({"name": "a", "content": "a", "encoding": "hex"}, '"text" or "base64"'),
        ({"name": "a", "content": "a", "media_type": 7}, "media_type must be text."),
        ({"name": "a", "content": "!", "encoding": "base64"}, "content is not base64"),
        ({"name": "a", "content": "å", "encoding": "base64"}, "content is not base64"),
        ({"name": "a", "content": "A" * 20_000_000, "encoding": "base64"}, "longer than any"),
        ({"name": "a", "content": ""}, "The file is empty."),
        ({"name": "a", "content": "a" * 1001}, "at most 1000"),
        ({"name": "a", "content": "a", "media_type": "image/png"}, "its bytes are text"),
    ],
)
async def test_what_is_wrong_is_said(args: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        await attach(**args)


async def test_without_a_place_for_files_it_says_so() -> None:
    with pytest.raises(ValueError, match="cannot be stored"):
        await ATTACH_FILE.run(
            {"name": "a", "content": "a"},
            ToolContext(chat_id=ChatId(UUID(int=1)), tool_call_id="c1"),
        )
