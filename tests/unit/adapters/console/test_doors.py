"""Sessions, the limit on sign-ins, and what counts as this machine."""

import pytest

from adapters.console.access import host_of
from adapters.console.gate import _safe_next
from adapters.console.sessions import Session, SessionKey
from adapters.console.sign_in_limit import (
    ADDRESSES_MAX,
    FAILURES_MAX,
    FAILURES_OF_ALL_MAX,
    WINDOW_SECONDS,
    SignInLimit,
)

KEY = SessionKey.derive("admin", "secret")
ADA = Session(name="Ada", expires_at=1000)


def test_session_comes_back_until_it_is_over() -> None:
    cookie = KEY.seal(ADA)
    assert KEY.open(cookie, now=999) == ADA
    assert KEY.open(cookie, now=1000) is None


def test_name_may_be_in_any_script() -> None:
    session = Session(name="Ægir 浜 \U0001f9f5", expires_at=1000)
    assert KEY.open(KEY.seal(session), now=0) == session


@pytest.mark.parametrize(
    "other",
    [
        SessionKey.derive("admin2", "secret"),
        SessionKey.derive("admin"),
        SessionKey.derive("adminsecret"),
        SessionKey.derive("secret", "admin"),
    ],
)
def test_other_secrets_make_another_key(other: SessionKey) -> None:
    assert other.open(KEY.seal(ADA), now=0) is None


def test_cookie_that_was_touched_is_refused() -> None:
    cookie = KEY.seal(ADA)
    for at in range(len(cookie)):
        touched = cookie[:at] + ("A" if cookie[at] != "A" else "B") + cookie[at + 1 :]
        # The last character of base64 has bits that say nothing.
        if at != len(cookie) - 1:
            assert KEY.open(touched, now=0) is None, at


@pytest.mark.parametrize("cookie", ["", ".", "a.b", "é.x", "x" * 5000, "e30.", "\x00"])
def test_what_is_no_cookie_is_refused(cookie: str) -> None:
    assert KEY.open(cookie, now=0) is None


def test_guessing_has_to_wait_and_may_go_on_later() -> None:
    limit = SignInLimit()
    for second in range(FAILURES_MAX):
        assert limit.wait_seconds("a", second) == 0
        limit.note_failure("a", second)
    assert limit.wait_seconds("a", 10) == WINDOW_SECONDS - 10
    assert limit.wait_seconds("b", 10) == 0
    assert limit.wait_seconds("a", WINDOW_SECONDS) == 0


def test_guessing_from_many_addresses_is_guessing_too() -> None:
    limit = SignInLimit()
    for number in range(FAILURES_OF_ALL_MAX):
        limit.note_failure(f"a{number}", 0)
    assert limit.wait_seconds("new", 1) > 0


def test_success_forgets_and_memory_has_an_end() -> None:
    limit = SignInLimit()
    for _ in range(FAILURES_MAX):
        limit.note_failure("a", 0)
    limit.note_success("a")
    assert limit.wait_seconds("a", 1) == 0
    for number in range(ADDRESSES_MAX + 10):
        limit.note_failure(f"b{number}", 0)
    assert len(limit._by_address) == ADDRESSES_MAX


@pytest.mark.parametrize(
    ("page", "goes_to"),
    [
        ("/chats/1", "/chats/1"),
        ("/", "/"),
        ("", "/"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("https://evil.example", "/"),
        ("/a\r\nSet-Cookie: x", "/"),
        ("/é", "/"),
    ],
)
def test_sign_in_leads_nowhere_else(page: str, goes_to: str) -> None:
    assert _safe_next(page) == goes_to


@pytest.mark.parametrize(
    ("header", "host"),
    [
        ("localhost:8080", "localhost"),
        ("127.0.0.1", "127.0.0.1"),
        ("[::1]:8080", "::1"),
        ("evil.example:8080", "evil.example"),
        ("[::1", ""),
        ("", ""),
    ],
)
def test_host_is_told_from_its_port(header: str, host: str) -> None:
    assert host_of(header) == host
