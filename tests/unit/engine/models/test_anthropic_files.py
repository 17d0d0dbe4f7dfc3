"""Which files Anthropic is given, and as what."""

import base64
from typing import Any
from uuid import UUID

import pytest

from engine.chat.content import FilePart, NewMessage, Role, TextPart
from engine.chat.ids import FileId
from engine.models import anthropic_files
from engine.models.attachments import FileData
from tests.unit.engine.models.anthropic_asked import ADA, body, wire

PNG = b"\x89PNG\r\n\x1a\n" + b"p" * 8
PICTURE = FileId(UUID(int=1))


def picture(name: str = "tide.png", media_type: str = "image/png") -> FilePart:
    return FilePart(name=name, media_type=media_type, file_id=PICTURE)


def with_file(file: FilePart) -> NewMessage:
    return NewMessage(role=Role.USER, content=(TextPart(text="See"), file), author=ADA)


def blocks_for(data: bytes, media_type: str = "image/png", **fields: Any) -> list[dict[str, Any]]:
    files = {PICTURE: FileData(media_type=media_type, data=data)}
    fields = {"accepts": frozenset({"image", "pdf"})} | fields
    sent = body(with_file(picture(media_type=media_type)), files=files, **fields)
    return [dict(block) for block in sent["messages"][0]["content"]]


def test_picture_is_sent_behind_the_words_it_came_with() -> None:
    text, image = blocks_for(PNG)
    assert text["text"] == "Ada: See\n[file: tide.png (image/png)]"
    data = base64.b64encode(PNG).decode()
    assert image["source"] == {"type": "base64", "media_type": "image/png", "data": data}


def test_picture_is_sent_as_what_it_is_and_not_as_what_it_is_called() -> None:
    assert blocks_for(b"\xff\xd8\xff...")[1]["source"]["media_type"] == "image/jpeg"


def test_pdf_is_a_document() -> None:
    _, document = blocks_for(b"%PDF-1.7", "application/pdf")
    assert document["type"] == "document"
    assert document["source"]["media_type"] == "application/pdf"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "cannot be read"),
        (b"no picture", "cannot be read"),
        (b"%PDF-1.7", "cannot be read"),
        (PNG + b"p" * anthropic_files.IMAGE_BYTES_MAX, "too large for this model"),
    ],
)
def test_picture_that_would_be_refused_is_named(data: bytes, why: str) -> None:
    (text,) = blocks_for(data)
    assert text["text"] == f"Ada: See\n[file: tide.png (image/png); {why}]"


def test_words_are_not_missed_where_only_a_picture_came() -> None:
    message = NewMessage(role=Role.USER, content=(picture(),), author=ADA)
    assert wire(message) == [
        ("user", ["Ada: [file: tide.png (image/png); this model cannot read it]"])
    ]


@pytest.mark.parametrize(("bound", "most"), [("FILES_BYTES_MAX", 2 * len(PNG)), ("FILES_MAX", 2)])
def test_newest_pictures_stay_where_all_are_too_many(
    bound: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(anthropic_files, bound, most)
    files = {PICTURE: FileData(media_type="image/png", data=PNG)}
    history = [with_file(picture(f"{number}.png")) for number in range(3)]
    sent = wire(*history, files=files, accepts=frozenset({"image"}))
    first, *rest = sent[0][1]
    assert "[file: 0.png (image/png); left out" in first
    assert rest[1::2] == ["image", "image"]
