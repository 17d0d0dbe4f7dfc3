from typing import Any
from uuid import UUID

import pytest

from adapters.http import translate
from adapters.http.errors import Problem
from adapters.http.translate import Sender
from engine.chat.commands import BusyBehavior
from engine.chat.content import Author, FilePart, TextPart
from engine.chat.form import Field, FieldKind, Form, FormKind, Option
from engine.chat.ids import ActionId, MessageId

ADA = Author(identity="api:ada", name="Ada")
SENDER = Sender(author=ADA, scope="api:1")
KEYED = Sender(author=ADA, scope="api:1", idempotency_key="k")
NEW_ID = UUID(int=1)


def create(body: Any, sender: Sender = SENDER) -> Any:
    return translate.create_chat(
        body, sender, NEW_ID, bots=("wren", "robin"), check_tools=lambda _raw: []
    )


def test_text_alone_is_enough_for_a_chat() -> None:
    command = create({"content": "Good morning"})
    assert command.content == (TextPart(text="Good morning"),)
    assert (command.chat_id, command.bot, command.author) == (NEW_ID, "wren", ADA)
    assert command.source_key is None


def test_id_of_a_chat_with_a_key_follows_from_the_key_and_its_token() -> None:
    again = Sender(author=ADA, scope="api:1", idempotency_key="k")
    other = Sender(author=ADA, scope="api:2", idempotency_key="k")
    body = {"content": "Good morning"}
    assert create(body, KEYED).chat_id == create(body, again).chat_id
    assert create(body, KEYED).chat_id != create(body, other).chat_id
    assert create(body, KEYED).source_key.startswith("api:1:chat:k:")
    assert create(body, KEYED).source_key != create({"content": "Hello"}, KEYED).source_key


def test_problems_of_tools_name_their_fields() -> None:
    with pytest.raises(Problem) as raised:
        translate.create_chat(
            {"content": "x", "dynamic_tools": [{}]},
            SENDER,
            NEW_ID,
            bots=("wren",),
            check_tools=lambda _raw: [("dynamic_tools[0].name", "has none")],
        )
    assert [item.field for item in raised.value.validations] == ["dynamic_tools[0].name"]


def test_message_queues_unless_it_says_otherwise() -> None:
    assert translate.send_message({"content": "x"}, SENDER).busy is BusyBehavior.QUEUE
    body = {"content": "x", "busy_behavior": "interrupt"}
    assert translate.send_message(body, KEYED).busy is BusyBehavior.INTERRUPT
    assert translate.send_message(body, KEYED).source_key == "api:1:message:k"


def test_parts_become_text_and_files() -> None:
    parts = [
        {"type": "text", "text": "a\x00"},
        {"type": "file", "name": "b", "media_type": "text/plain"},
    ]
    command = translate.edit_message({"content": parts}, SENDER, MessageId(7))
    assert command.content == (
        TextPart(text="a\x00"),
        FilePart(name="b", media_type="text/plain"),
    )
    assert command.rerun is True


FORM = Form(
    question="Tea?",
    kind=FormKind.MODAL,
    options=(Option(label="Yes", value={"answer": True}),),
    fields=(Field(name="cups", label="Cups", kind=FieldKind.INTEGER, required=True),),
)


@pytest.mark.parametrize(
    ("body", "result"),
    [
        ({"option": 0}, {"answer": True}),
        ({"values": {"cups": "2"}}, {"cups": 2}),
        ({"result": None}, None),
        ({"result": [1, "x"]}, [1, "x"]),
    ],
)
def test_answer_is_an_option_or_values_or_a_result(body: Any, result: Any) -> None:
    command = translate.answer_action(body, ActionId(3), FORM, ADA)
    assert (command.result, command.by, command.is_error) == (result, ADA, False)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "option"),
        ({"option": 0, "values": {}}, "option"),
        ({"option": 1}, "option"),
        ({"option": None}, "option"),
        ({"option": -1}, "option"),
        ({"values": {"cups": "many"}}, "values.cups"),
        ({"values": {"cups": 1, "sugar": 2}}, "values.sugar"),
        ({"option": 0, "is_error": True}, "is_error"),
    ],
)
def test_answer_that_does_not_fit_names_its_field(body: Any, field: str) -> None:
    with pytest.raises(Problem) as raised:
        translate.answer_action(body, ActionId(3), FORM, ADA)
    assert [item.field for item in raised.value.validations] == [field]


def test_values_for_a_question_of_options_are_refused() -> None:
    buttons = Form(question="Tea?", kind=FormKind.BUTTONS, options=FORM.options)
    with pytest.raises(Problem) as raised:
        translate.answer_action({"values": {}}, ActionId(3), buttons, ADA)
    (item,) = raised.value.validations
    assert (item.field, "option" in item.detail) == ("values", True)


@pytest.mark.parametrize("name", ["a\nb", "a\x00", "a\x7f", "a\u2028b", "\u202enimda", "\u2066a"])
def test_name_of_a_token_must_read_as_it_is(name: str) -> None:
    with pytest.raises(Problem) as raised:
        translate.new_token({"name": name}, ("client",))
    assert [item.field for item in raised.value.validations] == ["name"]
    assert translate.new_token({"name": "Zoë's ship 🚢"}, ("client",)).name == "Zoë's ship 🚢"


def test_option_of_a_question_without_a_form_is_refused() -> None:
    with pytest.raises(Problem) as raised:
        translate.answer_action({"option": 0}, ActionId(3), None, ADA)
    assert raised.value.status == 422
