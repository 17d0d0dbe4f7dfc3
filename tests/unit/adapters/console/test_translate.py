from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace

from adapters.console import translate
from adapters.console.translate import AnswerInvalid, answer_of, cursor_of, cursor_text, written
from engine.api import ChatCursor
from engine.chat.actions import RequiredAction
from engine.chat.commands import BusyBehavior
from engine.chat.content import Author, text_of
from engine.chat.form import Field, FieldKind, Form, FormKind, Option
from engine.chat.ids import ActionId, ChatId, ToolCallId
from engine.chat.snapshot import Executor
from engine.chat.writes import ActionState

ADA = Author(identity="console:ada", name="Ada")


def asked(form: Form | None) -> RequiredAction:
    return RequiredAction(
        id=ActionId(1),
        chat_id=ChatId(UUID(int=1)),
        tool_call_id=ToolCallId("c"),
        tool_name="t",
        executor=Executor.PEOPLE,
        args="{}",
        state=ActionState.OPEN,
        created_at=datetime(2026, 12, 1, tzinfo=UTC),
        form=form,
    )


CHOICE = Form(
    question="Tea?",
    kind=FormKind.BUTTONS,
    options=(Option(label="Yes", value={"answer": True}),),
)
SHEET = Form(
    question="Details",
    kind=FormKind.MODAL,
    fields=(
        Field(name="cups", label="Cups", kind=FieldKind.INTEGER, required=True),
        Field(name="milk", label="Milk", kind=FieldKind.BOOLEAN),
        Field(
            name="with",
            label="With",
            kind=FieldKind.CHOICES,
            options=(Option(label="Sugar", value=1), Option(label="Lemon", value=2)),
        ),
    ),
)


def test_chat_is_left_to_the_engine_to_name() -> None:
    data = {"content": ["\r\n  Why is it down? \r\nSee below"], "bot": ["robin"]}
    command = translate.create_chat(data, ADA, UUID(int=1), ("wren", "robin"))
    assert (command.title, command.bot) == (None, "robin")
    assert text_of(command.content) == "\n  Why is it down? \nSee below"


def test_bot_that_is_not_there_is_the_default() -> None:
    data = {"content": ["x"], "bot": ["nobody"]}
    assert translate.create_chat(data, ADA, UUID(int=1), ("wren",)).bot == "wren"


def test_message_has_the_key_of_its_page_and_the_button_that_was_pressed() -> None:
    queued = translate.send_message({"content": ["x"], "key": ["k"]}, ADA)
    assert (queued.source_key, queued.busy) == ("console:ada:k", BusyBehavior.QUEUE)
    now = translate.send_message({"content": ["x"], "busy": ["interrupt"]}, ADA)
    assert (now.source_key, now.busy) == (None, BusyBehavior.INTERRUPT)


def test_option_and_fields_become_the_result() -> None:
    assert answer_of({"option": ["0"]}, asked(CHOICE)) == {"answer": True}
    filled = {
        "field.cups": ["2"],
        "field.milk": ["Yes"],
        "field.with": ["Sugar", "Lemon"],
        "cups": ["9"],
    }
    assert answer_of(filled, asked(SHEET)) == {"cups": 2, "milk": True, "with": [1, 2]}
    assert answer_of({"field.cups": ["2"], "field.milk": [""]}, asked(SHEET)) == {"cups": 2}


@pytest.mark.parametrize(
    ("data", "form", "says"),
    [
        ({}, CHOICE, "choose one"),
        (
            {},
            replace(CHOICE, fields=(Field(name="a", label="A", kind=FieldKind.TEXT),)),
            "choose one",
        ),
        ({"option": [""]}, replace(CHOICE, kind=FormKind.SELECT), "choose one"),
        ({"option": ["1"]}, CHOICE, "no such option"),
        ({"option": ["-1"]}, CHOICE, "no such option"),
        ({"option": ["x"]}, CHOICE, "no such option"),
        ({}, SHEET, "Cups: Please fill this in."),
        ({"field.cups": ["two"]}, SHEET, "Cups: This must be a whole number."),
        ({"option": ["0"]}, None, "A program"),
    ],
)
def test_answer_that_does_not_fit_says_how_to_mend_it(
    data: dict[str, list[str]], form: Form | None, says: str
) -> None:
    with pytest.raises(AnswerInvalid) as raised:
        answer_of(data, asked(form))
    assert says in raised.value.sentence


def test_cursor_comes_back_exactly() -> None:
    at = datetime(2026, 12, 1, 6, 4, 5, 123457, tzinfo=UTC)
    cursor = ChatCursor(created_at=at, chat_id=ChatId(UUID(int=9)))
    assert cursor_of(cursor_text(cursor)) == cursor
    for text in ("", "-", "1-x", "x-" + "0" * 32, "9" * 18 + "-" + "0" * 32):
        assert cursor_of(text) is None


@pytest.mark.parametrize(
    ("kind", "initial", "text"),
    [
        (FieldKind.TEXT, None, ""),
        (FieldKind.TEXT, "a\nb", "a\nb"),
        (FieldKind.LINES, ["a", "b"], "a\nb"),
        (FieldKind.JSON, ["a", 1], '["a", 1]'),
        (FieldKind.JSON, {"å": 1}, '{"å": 1}'),
    ],
)
def test_a_field_begins_as_people_would_write_it(kind: FieldKind, initial: Any, text: str) -> None:
    assert written(Field(name="a", label="A", kind=kind, initial=initial)) == text
