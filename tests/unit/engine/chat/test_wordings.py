"""What people and programs are told of a mistake, to the letter: what, where and how to mend it."""

import pytest

from engine.chat.chat_query import KEYS, QUERY_MAX, TERMS_MAX, QueryInvalid, parse_chat_query
from engine.chat.content import FilePart
from engine.chat.files import FileInfo, FileRefusal, NewFile, check_file
from engine.chat.ids import FileId
from engine.chat.labels import label_mistakes
from tests.unit.engine.chat.steps import NOW

QUOTE = 'has a quote that does not enclose a whole value; write key:"value"'
KNOWN = "known are " + ", ".join(f"{key}:" for key in KEYS)
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("archived:yes", "archived: must be true, false or any"),
        ('archived:""', "archived: has no value"),
        ('status:""', "status: has no value"),
        ('search:""', "search: has no value"),
        ('label:" "', "label: has no value"),
        ('label:env:" "', "label: has no value"),
        ("label:env", "label: must be label:key:value"),
        ("search:\U0001f6a4", "search: has no letter and no digit to look for"),
        ('bot:x a"b lost boat', f'a"b {QUOTE}'),
        (f'{"x" * 60}"', f"{'x' * 40} {QUOTE}"),
        ('a\x00"', f'a " {QUOTE}'),
        ("title:\udfff", "holds a lone surrogate, which is no character"),
        ("titles", f"titles has no key; search for it with search:titles; {KNOWN}"),
    ],
)
def test_a_filter_is_told_what_is_wrong_with_it(text: str, says: str) -> None:
    with pytest.raises(QueryInvalid) as raised:
        parse_chat_query(text)
    assert raised.value.detail == str(raised.value) == says


def test_a_filter_may_be_as_long_as_is_said() -> None:
    assert parse_chat_query("title:" + "x" * (QUERY_MAX - 6)).title == "x" * (QUERY_MAX - 6)
    statuses = parse_chat_query("status:error " * TERMS_MAX).statuses
    assert len(statuses) == TERMS_MAX


@pytest.mark.parametrize(
    ("data", "claim", "says"),
    [
        (b"", "text/plain", "The file is empty."),
        (
            b"\x00",
            "text/plain",
            "The file is called text/plain, but its bytes are neither text nor a known type."
            " Text must be UTF-8 without control characters.",
        ),
        (b"red", "image/png", "The file is called image/png, but its bytes are text."),
        (
            PNG,
            "text/plain",
            "The file is called text/plain, but its bytes are image/png."
            " Text must be UTF-8 without control characters.",
        ),
        (
            b"\x00",
            "",
            "Files of this kind are not taken: bytes of an unknown type."
            " Send png, jpeg, gif, webp, pdf or text.",
        ),
        (b"red", "x" * 81, f"{'x' * 80!r} is no media type; it must look like text/plain."),
    ],
)
def test_a_file_is_told_why_it_is_not_taken(data: bytes, claim: str, says: str) -> None:
    refused = check_file(NewFile(name="a", data=data, media_type=claim))
    assert isinstance(refused, FileRefusal)
    assert refused.detail == says


def test_a_label_that_is_no_text_is_told_so() -> None:
    assert label_mistakes({"env": 7}) == [("env", "must be text")]


def test_a_message_holds_a_file_with_its_id_and_without_its_bytes() -> None:
    info = FileInfo(id=FileId(7), name="a.md", media_type="text/markdown", size=3, created_at=NOW)
    assert info.part == FilePart(name="a.md", media_type="text/markdown", size=3, file_id=FileId(7))
