"""Titles and notifications say in plain words what a model said, and call nobody."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from engine.agent.notices import FINISHED, NOTICE_MAX, last_answer, notice_of
from engine.agent.titles import CONVERSATION_MAX, conversation, title_of
from engine.chat.content import Message, Role, plain
from engine.chat.ids import ChatId, MessageId
from engine.chat.title import TITLE_MAX, fallback_title


@pytest.mark.parametrize(
    ("answer", "title"),
    [
        ("The blinking lighthouse", "The blinking lighthouse"),
        ('"The blinking lighthouse."', "The blinking lighthouse"),
        ("**Title: The `blinking` lighthouse**", "The blinking lighthouse"),
        ("\n\n# Harbour lights\n\nBecause it is about them.", "Harbour lights"),
        ("“Harbour lights”", "Harbour lights"),
        ("[Harbour lights](https://evil.example)", "Harbour lights"),
        ("Ask <!here> about lights", "Ask <\u200b!here> about lights"),
        ("Tell @everyone about lights", "Tell @\u200beveryone about lights"),
        ("Lights\u202e at night", "Lights at night"),
        ("Learning C#", "Learning C#"),
        ("港の明かり", "港の明かり"),
    ],
)
def test_title_is_cleaned(answer: str, title: str) -> None:
    assert title_of(answer) == title


@pytest.mark.parametrize(
    "answer",
    [
        "",
        " \n\t",
        '"""',
        "Lights",
        "one two three four five six seven eight nine",
        "w" * TITLE_MAX + " w",
    ],
)
def test_answer_that_is_no_title_is_none(answer: str) -> None:
    assert title_of(answer) is None


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("", None),
        (" \n ", None),
        ("Hello", "Hello"),
        ("one two three four five six", "one two three four five six"),
        ("one two three four five six seven", "one two three four five six…"),
        ("one\ntwo\x00three", "one two three"),
        ("w" * 200, "w" * (TITLE_MAX - 1) + "…"),
        ("w " + "v" * 5000, "w " + "v" * (TITLE_MAX - 3) + "…"),
    ],
)
def test_first_words_are_a_title(text: str, title: str | None) -> None:
    assert fallback_title(text) == title


def test_notice_is_one_short_line_that_calls_nobody() -> None:
    notice = notice_of("All **done**,\n<@U1>. " + "word " * 200, FINISHED)
    assert notice.startswith("All done, <\u200b@U1>. word")
    assert len(notice) <= NOTICE_MAX
    assert notice.endswith("word…")


@pytest.mark.parametrize("text", ["", "  ", "\n", '""', "**"])
def test_blank_text_is_the_fallback(text: str) -> None:
    assert notice_of(text, FINISHED) == FINISHED


def test_conversation_is_bounded_and_shows_both_ends() -> None:
    said = conversation([message(f"{number} " + "word " * 300) for number in range(50)])
    assert said.startswith("user: 0 word")
    assert "user: 49 word" in said
    assert "user: 25 word" not in said
    assert len(said) <= CONVERSATION_MAX + 3


def test_last_answer_is_that_of_the_turn_that_is_told_of() -> None:
    asked, answered = message("Why?", 1), message("Because.", 2, Role.ASSISTANT)
    later = [message("And?", 3), message("So.", 4, Role.ASSISTANT)]
    assert last_answer([asked, answered, *later], 2) == "Because."
    assert last_answer([asked, answered, *later], 4) == "So."
    assert last_answer([asked, answered, later[0]], 3) == ""


def message(text: str, revision: int = 1, role: Role = Role.USER) -> Message:
    return Message(
        id=MessageId(revision),
        chat_id=ChatId(UUID(int=1)),
        role=role,
        content=plain(text),
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        revision=revision,
    )
