"""Files in threads by our surface: shown once, found again by their name, refused in words that delivery understands."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import pytest

from adapters.contract import Document, MessageRef, Page
from adapters.errors import Denied, FilesRefused, RateLimited, Unavailable
from adapters.slack import uploads
from tests.contract.test_slack_pages import Thread, thread
from tests.fakes.slack_methods_files import UPLOAD

__all__ = ["thread"]

NONCE = UUID("6f1d4a52-2a0c-4d6b-9b2e-5a1f0c7e9d34")
TIDES = Document(name="tides.csv", data=b"a,b\n", instead=Page(text="tides.csv"))
BEGIN, COMPLETE = "files.getUploadURLExternal", "files.completeUploadExternal"


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "SHARED_SECONDS", (0.01, 0.02))


async def test_a_file_is_in_the_thread_under_its_title(thread: Thread) -> None:
    message_id = await thread.surface.post(thread.place, TIDES, NONCE)
    (shown,) = thread.slack.replies(thread.channel, thread.question)
    assert (shown.ts, shown.files) == (message_id, ("tides.csv",))
    (sent,) = thread.slack.calls(UPLOAD)
    assert sent.token is None


async def test_a_file_is_found_again_and_no_other_is(thread: Thread) -> None:
    message_id = await thread.surface.post(thread.place, TIDES, NONCE)
    assert await thread.surface.find(thread.place, NONCE, since=None) == message_id
    assert await thread.surface.find(thread.place, UUID(int=7), since=None) is None


async def test_a_file_that_is_there_is_left_as_it_is_and_can_be_taken_back(thread: Thread) -> None:
    message_id = await thread.surface.post(thread.place, TIDES, NONCE)
    ref = MessageRef(place=thread.place, message_id=message_id)
    await thread.surface.edit(ref, TIDES)
    assert thread.slack.calls("chat.update") == []
    await thread.surface.delete(ref)
    assert thread.slack.replies(thread.channel, thread.question) == []


async def test_a_file_that_slack_shows_later_is_waited_for(thread: Thread) -> None:
    thread.slack.hold_shares()
    posting = asyncio.create_task(thread.surface.post(thread.place, TIDES, NONCE))
    await thread.slack.wait_until(lambda: thread.slack.calls("files.info"))
    thread.slack.release_shares()
    assert await posting == thread.shown.ts


async def test_a_file_that_is_shown_although_no_answer_came_is_found_by_its_id(
    thread: Thread,
) -> None:
    """D3"""
    thread.slack.fail_next(COMPLETE, drop_connection_after_handling=True)
    assert await thread.surface.post(thread.place, TIDES, NONCE) == thread.shown.ts
    assert len(thread.slack.calls(COMPLETE)) == 1


@pytest.mark.parametrize("fault", [{"status": 500}, {"error": "fatal_error"}], ids=str)
async def test_the_last_call_is_made_once_whatever_becomes_of_it(
    thread: Thread, fault: dict[str, Any]
) -> None:
    """D3: a file whose fate is unknown is looked for, not shown again."""
    thread.slack.fail_next(COMPLETE, **fault)
    with pytest.raises(Unavailable) as caught:
        await thread.surface.post(thread.place, TIDES, NONCE)
    assert caught.value.outcome_unknown
    assert len(thread.slack.calls(COMPLETE)) == 1


@pytest.mark.parametrize("method", [BEGIN, UPLOAD])
async def test_what_fails_before_the_last_call_is_known_not_to_be_shown(
    thread: Thread, method: str
) -> None:
    thread.slack.fail_next(method, status=503)
    with pytest.raises(Unavailable) as caught:
        await thread.surface.post(thread.place, TIDES, NONCE)
    assert not caught.value.outcome_unknown
    assert thread.slack.calls(COMPLETE) == []


@pytest.mark.parametrize("method", [BEGIN, COMPLETE])
@pytest.mark.parametrize(
    ("code", "meant"),
    [
        ("missing_scope", FilesRefused),
        ("file_uploads_disabled", FilesRefused),
        ("slack_connect_file_upload_sharing_blocked", FilesRefused),
        ("token_revoked", Denied),
        ("not_in_channel", Denied),
        ("ratelimited", RateLimited),
    ],
)
async def test_refusals_say_whether_words_would_pass(
    thread: Thread, method: str, code: str, meant: type[Exception]
) -> None:
    thread.slack.fail_next(method, error=code)
    with pytest.raises(meant) as caught:
        await thread.surface.post(thread.place, TIDES, NONCE)
    assert type(caught.value) is meant
    assert thread.slack.replies(thread.channel, thread.question) == []


def test_names_keep_their_suffix_and_hold_the_tag() -> None:
    assert uploads.name_with_tag("a.tar.gz", str(NONCE)) == "a.tar-6f1d4a522a0c.gz"
    assert uploads.name_with_tag("README", str(NONCE)) == "README-6f1d4a522a0c"
    assert uploads.name_with_tag(".env", str(NONCE)) == ".env-6f1d4a522a0c"
