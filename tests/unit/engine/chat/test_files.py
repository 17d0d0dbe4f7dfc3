"""What may be a file: the bytes decide, names are made safe."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.chat.files import (
    BINARY,
    NAME_BYTES_MAX,
    FileRefusal,
    FileRefusalReason,
    NewFile,
    check_file,
    holds_text,
    is_text,
    safe_name,
    sniff,
)

PNG = b"\x89PNG\r\n\x1a\n\x00"
JPEG = b"\xff\xd8\xff\xe0\x00"
WEBP = b"RIFF\x10\x00\x00\x00WEBPVP8 "
PDF = b"%PDF-1.7\n\x00"
ODD = b"\x00\x01\x02"
MISMATCH, NOT_ALLOWED = FileRefusalReason.TYPE_MISMATCH, FileRefusalReason.TYPE_NOT_ALLOWED


def checked(
    data: bytes, media_type: str = "", name: str = "a", *, of_any_type: bool = False
) -> str | FileRefusalReason:
    """The true type, or why it is refused."""
    file = NewFile(name=name, data=data, media_type=media_type, of_any_type=of_any_type)
    outcome = check_file(file)
    if isinstance(outcome, FileRefusal):
        assert outcome.detail.endswith((".", "text/plain."))
        return outcome.reason
    assert (outcome.data, outcome.of_any_type) == (data, of_any_type)
    return outcome.media_type


@pytest.mark.parametrize(
    ("data", "claim", "wanted"),
    [
        (PNG, "image/png", "image/png"),
        (PNG, "IMAGE/PNG; x=y", "image/png"),
        (JPEG, "image/jpg", "image/jpeg"),
        (b"GIF87a", "image/gif", "image/gif"),
        (b"GIF89a", "image/gif", "image/gif"),
        (WEBP, "image/webp", "image/webp"),
        (PDF, "application/x-pdf", "application/pdf"),
        (b"cod", "text/plain; charset=utf-8", "text/plain"),
        (b"{}", "application/json", "application/json"),
        (b"<svg/>", "image/svg+xml", "image/svg+xml"),
        (b"\xef\xbb\xbfcod\t1\r\n\x0c", "text/csv", "text/csv"),
        (PNG, "image/jpeg", MISMATCH),
        (PNG, "text/plain", MISMATCH),
        (b"cod", "image/png", MISMATCH),
        (ODD, "image/png", MISMATCH),
        (ODD, "text/plain", MISMATCH),
        (b"cod\x7f", "text/plain", MISMATCH),
        (b"c\xf8d", "text/plain", MISMATCH),
        (b"RIFF\x10\x00\x00\x00WAVE", "image/webp", MISMATCH),
        (PDF, "application/zip", MISMATCH),
        (ODD, "application/zip", NOT_ALLOWED),
        (b"cod", "application/rtf", NOT_ALLOWED),
        (ODD, "", NOT_ALLOWED),
        (b"cod", "text", NOT_ALLOWED),
        (b"cod", "text/" + "a" * 100, NOT_ALLOWED),
        (b"", "text/plain", FileRefusalReason.EMPTY),
    ],
)
def test_bytes_must_be_what_they_are_called(
    data: bytes, claim: str, wanted: str | FileRefusalReason
) -> None:
    assert checked(data, claim) == wanted


@pytest.mark.parametrize(
    ("data", "name", "wanted"),
    [
        (PNG, "a.txt", "image/png"),
        (b"cod", "a.CSV", "text/csv"),
        (b"cod", "a.py", "text/plain"),
        (b"cod", "yaml", "application/yaml"),
        (b"# cod", "README.md", "text/markdown"),
    ],
)
def test_bytes_without_a_claim_speak_for_themselves(data: bytes, name: str, wanted: str) -> None:
    for claim in ("", BINARY, "application/x-www-form-urlencoded"):
        assert checked(data, claim, name) == wanted


def test_tool_may_give_anything_but_not_call_it_what_it_is_not() -> None:
    assert checked(ODD, "application/zip", of_any_type=True) == "application/zip"
    assert checked(b"{\\rtf1}", "application/rtf", of_any_type=True) == "application/rtf"
    assert checked(ODD, of_any_type=True) == BINARY
    assert checked(ODD, "image/png", of_any_type=True) is MISMATCH
    assert checked(ODD, "text/csv", of_any_type=True) is MISMATCH
    assert checked(PNG, "application/zip", of_any_type=True) is MISMATCH
    assert checked(ODD, "no type", of_any_type=True) is NOT_ALLOWED


def test_file_at_the_limit_is_taken_and_beyond_it_told_both_sizes() -> None:
    assert not isinstance(check_file(NewFile(name="a", data=b"abc"), bytes_max=3), FileRefusal)
    refusal = check_file(NewFile(name="a", data=b"abcd"), bytes_max=3)
    assert refusal == FileRefusal(
        reason=FileRefusalReason.TOO_LARGE, detail="The file has 4 bytes; at most 3 are taken."
    )


def test_mismatch_names_both_types() -> None:
    refusal = check_file(NewFile(name="a", data=PNG, media_type="image/jpeg"))
    assert isinstance(refusal, FileRefusal)
    assert refusal.detail == "The file is called image/jpeg, but its bytes are image/png."


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("catch.csv", "catch.csv"),
        ("/etc/passwd", "passwd"),
        ("..\\..\\boot.ini", "boot.ini"),
        ("C:\\a\\", "a"),
        ("..", "file"),
        ("", "file"),
        ("  .env. ", "env"),
        ("a\x00b\nc\x7f.csv", "abc.csv"),
        ("a\u2028b.csv", "a b.csv"),
        ("a  b\t c", "a b c"),
        ("x\u202ecsv.exe", "xcsv.exe"),
        ("\ud800a", "a"),
        ("båt 🐟.csv", "båt 🐟.csv"),
    ],
)
def test_name_is_made_safe(name: str, safe: str) -> None:
    assert safe_name(name) == safe


def test_name_that_is_too_long_keeps_its_suffix() -> None:
    assert safe_name("a" * 300 + ".csv") == "a" * 251 + ".csv"
    assert safe_name("å" * 200 + ".csv") == "å" * 125 + ".csv"
    assert safe_name("a." + "b" * 300) == ("a." + "b" * 300)[:NAME_BYTES_MAX]
    assert safe_name("a" * 300) == "a" * NAME_BYTES_MAX


@given(st.text())
def test_any_name_becomes_one_that_is_safe_and_stays_so(name: str) -> None:
    safe = safe_name(name)
    assert safe_name(safe) == safe
    assert 0 < len(safe.encode()) <= NAME_BYTES_MAX
    assert not set(safe) & set("/\\\r\n\x00\u202e")


@given(data=st.binary(), claim=st.text(max_size=20), of_any_type=st.booleans())
def test_any_bytes_under_any_claim_are_stored_as_what_they_are_or_refused(
    data: bytes, claim: str, *, of_any_type: bool
) -> None:
    outcome = checked(data, claim, of_any_type=of_any_type)
    if isinstance(outcome, FileRefusalReason):
        return
    if is_text(outcome):
        assert holds_text(data)
    if sniff(data):
        assert outcome == sniff(data)
