"""Which addresses get the token, what is a page to sign in at, and how much of a thread is quoted."""

from typing import Any

import pytest
from yarl import URL

from adapters.slack.context_text import CONTEXT_CHARACTERS_MAX, quotation
from adapters.slack.file_download import is_slacks
from adapters.slack.people import home_of
from adapters.slack.shared_files import Missing, SharedFile, files_of, is_login_page
from tests.unit.adapters.slack.payloads import WREN

API = "https://slack.com/api/"


@pytest.mark.parametrize(
    ("url", "api", "is_theirs"),
    [
        ("https://files.slack.com/files-pri/T1-F1/download/a.png", API, True),
        ("https://slack.com/files/a.png", API, True),
        ("https://files.slack-gov.com/a.png", "https://slack-gov.com/api/", True),
        ("http://127.0.0.1:4003/files-pri/a", "http://127.0.0.1:4003/api/", True),
        ("http://127.0.0.1:4004/files-pri/a", "http://127.0.0.1:4003/api/", False),
        ("http://files.slack.com/a.png", API, False),
        ("https://files.slack.com:8443/a.png", API, False),
        ("https://files.slack.com.evil.example/a.png", API, False),
        ("https://files.slack.com@evil.example/a.png", API, False),
        ("https://evilslack.com/a.png", API, False),
        ("file:///etc/passwd", API, False),
        ("", API, False),
    ],
)
def test_the_token_is_for_slacks_own_hosts(url: str, api: str, *, is_theirs: bool) -> None:
    """B06"""
    assert is_slacks(URL(url), URL(api)) is is_theirs


PAGE = b"<!DOCTYPE html><html>sign in</html>"


@pytest.mark.parametrize(
    ("declared", "size", "received", "data", "is_page"),
    [
        ("image/png", 9, "text/html; charset=utf-8", PAGE, True),
        ("image/png", 9, "image/png", PAGE, True),
        ("application/octet-stream", None, "", PAGE, True),
        ("text/plain", 9, "text/html", PAGE, True),
        ("text/plain", len(PAGE), "text/plain", PAGE, False),
        ("text/html", len(PAGE), "text/html", PAGE, False),
        ("text/html", 9, "text/html", PAGE, True),
        ("image/png", 9, "image/png", b"\x89PNG", False),
    ],
)
def test_a_page_to_sign_in_at_is_told_from_a_file(
    declared: str, size: int | None, received: str, data: bytes, *, is_page: bool
) -> None:
    """B06"""
    file = SharedFile(id="F1", name="a", media_type=declared, size=size)
    assert is_login_page(file, received, data) is is_page


def test_files_are_told_once_with_why_they_cannot_be_had() -> None:
    files: list[dict[str, Any]] = [
        {"id": "F1", "name": "a.txt", "url_private": "https://files.slack.com/a"},
        {"id": "F1", "name": "a.txt", "url_private": "https://files.slack.com/a"},
        {"id": "F2", "mode": "tombstone"},
        {"id": "F3", "mode": "hidden_by_limit"},
        {"id": "F4", "is_external": True},
        {"id": "F5", "file_access": "check_file_info"},
        {"id": "F6", "file_access": "access_denied"},
        {},
    ]
    found = files_of({"files": files, "attachments": [{"files": [{"id": "F7"}]}]})
    assert [(file.id, file.missing, file.is_unseen) for file in found] == [
        ("F1", None, False),
        ("F2", Missing.GONE, False),
        ("F3", Missing.GONE, False),
        ("F4", Missing.EXTERNAL, False),
        ("F5", None, True),
        ("F6", Missing.GONE, False),
    ]


def test_a_quotation_keeps_the_root_and_the_newest_that_fit() -> None:
    """facts/slack.md 7.18"""
    messages = [{"user": "UBO", "text": f"{number} " + "x" * 1500} for number in range(30)]
    said = quotation(messages, WREN, {"UBO": "Bo"}, has_more=False)
    lines = [line for line in said.splitlines() if line.startswith("> ")]
    numbers = [int(line.removeprefix("> Bo: ").split()[0]) for line in lines]
    assert numbers == [0, *range(30 - len(numbers) + 1, 30)]
    assert len(said) < CONTEXT_CHARACTERS_MAX + 500
    assert "left out" in said.splitlines()[0]
    assert (
        quotation(
            [{"user": "UBO", "subtype": "channel_join", "text": "x"}], WREN, {}, has_more=False
        )
        == ""
    )


def test_a_quotation_says_who_is_who() -> None:
    messages: list[dict[str, Any]] = [
        {"user": "UBO", "text": "one", "blocks": []},
        {"user": "UWREN", "bot_id": "BWREN", "text": "two"},
        {"bot_id": "BGULL", "username": "Gull\nAda: x", "text": "three"},
        {"text": "four"},
        {"user": "UEVE", "text": "x" * 3000},
    ]
    said = quotation(messages, WREN, {"UBO": "Bo"}, has_more=False).splitlines()[1:]
    assert said[:4] == [
        "> Bo: one",
        "> You: two",
        "> Gull Ada: x (an app): three",
        "> somebody: four",
    ]
    assert said[4].startswith("> UEVE: xxx")
    assert len(said[4]) < 2100


def test_members_of_an_organization_are_at_home_where_the_app_is() -> None:
    assert home_of({"team_id": "T9"}) == "T9"
    assert home_of({"team_id": "T9", "enterprise_user": {"id": "U1"}}) == ""
    assert home_of({"team_id": "E9"}) == home_of({}) == ""
