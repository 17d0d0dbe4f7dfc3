"""Files in a thread: replies that are too long for it, and what the agent hands out."""

from dataclasses import replace

import pytest

from adapters.slack import uploads
from engine.tools.attach_file import ATTACH_FILE
from tests.acceptance.slack_house import (
    FAST_DELIVERY,
    answers,
    both_ways,
    house,
    texts,
    until_says,
)
from tests.fakes.model_server import FakeModel
from tests.fakes.slack_server import FakeSlack
from tests.fakes.slack_shown import ShownMessage
from tests.fakes.slack_state import Channel, Message

LONG = "\n\n".join(f"Entry {number}: the wind was fair in the harbour." for number in range(400))
TWO_PAGES = replace(FAST_DELIVERY, pages_max=2)
COMPLETE = "files.completeUploadExternal"


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "SHARED_SECONDS", (0.05, 0.1))


async def until_file(slack: FakeSlack, channel: Channel, root: Message) -> list[ShownMessage]:
    """The bot's messages once the last of them shows a file."""
    found = await slack.wait_until(
        lambda: (shown := answers(slack, channel, root)) and shown[-1].files and shown, timeout=20
    )
    assert isinstance(found, list)
    return found


def bytes_of(slack: FakeSlack, message: ShownMessage) -> bytes:
    file_id = message.wire["files"][0]["id"]
    return slack.team.workspace.files[file_id].content


@both_ways
async def test_a_reply_of_too_many_pages_is_its_first_ones_and_a_file(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D5: nothing of it is lost, and the thread stays readable."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.say(LONG)
    async with house(slack, model, database_url, delivery=TWO_PAGES):
        question = await ada.say(harbour, "<@BOT> read me the log")
        first, second, file = await until_file(slack, harbour, question)
        await slack.wait_until(lambda: "reply.md" in texts(slack, harbour, question)[1])
        await slack.wait_until_settled()
        assert len(answers(slack, harbour, question)) == 3
    assert first.plain.startswith("Entry 0:")
    assert second.plain
    assert file.files == ("reply.md",)
    assert bytes_of(slack, file).decode() == LONG


async def test_a_reply_of_just_as_many_pages_as_may_be_is_no_file(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.say("\n\n".join(["word " * 600, "end"]))
    async with house(slack, model, database_url, delivery=TWO_PAGES):
        question = await ada.say(harbour, "<@BOT> hi")
        await slack.wait_until(lambda: texts(slack, harbour, question)[-1:] and
                               texts(slack, harbour, question)[-1].endswith("end"))  # fmt: skip
        await slack.wait_until_settled()
    assert slack.calls(COMPLETE) == []


async def test_what_the_agent_hands_out_stands_below_its_reply(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.call("attach_file", {"name": "catch.csv", "content": "cod,3\n"}, id="c1")
    model.say("Here it is.")
    async with house(slack, model, database_url, tools=(ATTACH_FILE,)):
        question = await ada.say(harbour, "<@BOT> the catch, as a table")
        said, file = await until_file(slack, harbour, question)
    assert said.plain == "Here it is."
    assert file.files == ("catch.csv",)
    assert bytes_of(slack, file) == b"cod,3\n"


async def test_a_file_that_is_too_large_is_named_in_words(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.call("attach_file", {"name": "log.txt", "content": "x" * 2048}, id="c1")
    model.say("Here it is.")
    small = replace(FAST_DELIVERY, file_bytes_max=1024)
    async with house(slack, model, database_url, tools=(ATTACH_FILE,), delivery=small):
        question = await ada.say(harbour, "<@BOT> the log")
        words = "📎 log.txt (2 KB) is too large for this thread. It is kept with the chat."
        await until_says(slack, harbour, question, "Here it is.", words)
    assert slack.calls(COMPLETE) == []


async def test_where_slack_takes_no_files_all_is_said_in_words(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """An app without the scope loses nothing of a reply, however long."""
    slack.bot.scopes = slack.bot.scopes - {"files:write"}
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.call("attach_file", {"name": "catch.csv", "content": "cod"}, id="c1")
    model.say(LONG)
    async with house(slack, model, database_url, delivery=TWO_PAGES, tools=(ATTACH_FILE,)):
        question = await ada.say(harbour, "<@BOT> read me the log")
        await slack.wait_until(
            lambda: "cannot be shown" in "".join(texts(slack, harbour, question)[-1:]), timeout=20
        )
        shown = " ".join(texts(slack, harbour, question))
    assert [n for n in range(400) if f"Entry {n}:" not in shown] == []
    assert "reply.md" not in shown


async def test_an_upload_whose_answer_is_lost_is_in_the_thread_once(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D3"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.call("attach_file", {"name": "catch.csv", "content": "cod"}, id="c1")
    model.say("Here it is.")
    lost = slack.fail_next(COMPLETE, drop_connection_after_handling=True)
    slack.fail_next("files.info", error="fatal_error", times=50)
    async with house(slack, model, database_url, tools=(ATTACH_FILE,)):
        question = await ada.say(harbour, "<@BOT> the catch")
        await lost.reached.wait()
        await until_file(slack, harbour, question)
        model.say("You are welcome.")
        await ada.say(harbour, "thanks", thread_ts=question.ts)
        await slack.wait_until(lambda: "You are welcome." in texts(slack, harbour, question)[-1:])
    assert [m.files for m in answers(slack, harbour, question) if m.files] == [("catch.csv",)]
    assert len(slack.calls(COMPLETE)) == 1


async def test_files_of_an_answer_that_was_taken_back_go_with_it(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D13: an edited question has one answer."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.call("attach_file", {"name": "catch.csv", "content": "cod"}, id="c1")
    model.say("Here it is.")
    async with house(slack, model, database_url, tools=(ATTACH_FILE,)):
        question = await ada.say(harbour, "<@BOT> the catch")
        await until_file(slack, harbour, question)
        model.say("No catch today.")
        await ada.edit(question, "<@BOT> was there a catch?")
        await until_says(slack, harbour, question, "No catch today.")
