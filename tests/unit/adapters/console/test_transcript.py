from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from adapters.console.markdown import Markdown
from adapters.console.pages import Pages
from adapters.console.pieces import LAID_OUT_MAX
from adapters.console.transcript import (
    PAGE_LAID_OUT_MAX,
    EntryView,
    FileView,
    Transcript,
    answer_label,
    shown_json_text,
)
from engine.chat.actions import RequiredAction
from engine.chat.content import (
    Author,
    FilePart,
    Finish,
    Message,
    Part,
    QueuedMessage,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    Visibility,
)
from engine.chat.form import Form, FormKind, Option
from engine.chat.ids import ActionId, ChatId, FileId, MessageId, QueuedId, ToolCallId
from engine.chat.snapshot import Executor
from engine.chat.summaries import SUMMARY_TOOL
from engine.chat.writes import ActionState

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
CHAT = ChatId(UUID(int=1))
ADA = Author(identity="slack:ada", name="Ada")
FORM = Form(
    question="Tea or coffee?",
    kind=FormKind.BUTTONS,
    options=(Option(label="Tea", value={"answer": "tea"}),),
)


def message(id_: int, role: Role, *parts: Part, **fields: Any) -> Message:
    at = NOON + timedelta(minutes=id_)
    return Message(
        id=MessageId(id_), chat_id=CHAT, role=role, content=parts, created_at=at, **fields
    )


def call(name: str = "ask_people", id_: str = "c1") -> ToolCallPart:
    return ToolCallPart(tool_call_id=ToolCallId(id_), tool_name=name, args='{"a":1}')


def result(value: Any, id_: str = "c1", *, is_error: bool = False) -> ToolResultPart:
    return ToolResultPart(
        tool_call_id=ToolCallId(id_), tool_name="x", result=value, is_error=is_error
    )


def action(state: ActionState, at_message: int, **fields: Any) -> RequiredAction:
    return RequiredAction(
        id=ActionId(at_message),
        chat_id=CHAT,
        tool_call_id=ToolCallId("c1"),
        tool_name="ask_people",
        executor=Executor.PEOPLE,
        args="{}",
        state=state,
        created_at=NOON + timedelta(minutes=at_message),
        form=FORM,
        **fields,
    )


def transcript() -> Transcript:
    return Transcript(Markdown(), visitor="console:local", bot="Wren")


def test_page_of_long_answers_lays_out_the_newest_and_shows_all() -> None:
    text = "a *b* " * 20 + "\n\n"
    text *= LAID_OUT_MAX // len(text)
    shown = transcript()
    count = 2 * PAGE_LAID_OUT_MAX // len(text)
    shown.load([message(id_, Role.ASSISTANT, TextPart(text=text)) for id_ in range(1, count)], ())
    are_laid_out = ["<em>" in entry.blocks[0] for entry in shown.entries()]
    assert are_laid_out == sorted(are_laid_out)
    assert sum(are_laid_out) == PAGE_LAID_OUT_MAX // len(text)
    assert all("".join(entry.blocks).count("b") >= text.count("b") for entry in shown.entries())


def test_who_speaks_is_named_and_the_visitor_is_you() -> None:
    shown = transcript()
    shown.add(message(1, Role.USER, TextPart(text="a"), author=ADA))
    mine = Author(identity="console:local", name="Console")
    shown.add(message(2, Role.USER, TextPart(text="b"), author=mine))
    shown.add(message(3, Role.USER, TextPart(text="c")))
    shown.add(message(4, Role.ASSISTANT, TextPart(text="d")))
    assert [entry.name for entry in shown.entries()] == ["Ada", "You", "Somebody", "Wren"]


def test_text_of_people_is_plain_and_of_the_agent_is_laid_out() -> None:
    shown = transcript()
    (user,) = shown.add(message(1, Role.USER, TextPart(text="*a*")))
    (bot,) = shown.add(message(2, Role.ASSISTANT, TextPart(text="*a*")))
    assert (user.text, user.blocks) == ("*a*", ())
    assert bot.blocks == ("<p><em>a</em></p>\n",)


def test_message_that_is_only_a_file_names_it_and_says_nothing_else() -> None:
    shown = transcript()
    chart = FilePart(name="chart <1>.pdf", media_type="application/pdf", size=12_345)
    (entry,) = shown.add(message(1, Role.USER, chart))
    assert (entry.text, entry.files) == (
        "",
        (FileView(name="chart <1>.pdf", about="application/pdf, 12 kB"),),
    )
    html = Pages().entry(entry, chat_id=CHAT)
    assert 'class="plain said"' not in html
    assert "chart &lt;1&gt;.pdf" in html
    assert "application/pdf, 12 kB" in html
    queued = QueuedMessage(
        id=QueuedId(1), chat_id=CHAT, content=(chart,), author=ADA, created_at=NOON
    )
    assert "chart &lt;1&gt;.pdf" in Pages().queue([queued], chat_id=CHAT, visitor=ADA)


def test_file_that_is_stored_can_be_opened() -> None:
    shown = transcript()
    stored = FilePart(name="catch.csv", media_type="text/csv", file_id=FileId(UUID(int=5)))
    (entry,) = shown.add(message(1, Role.USER, stored))
    assert f'href="/files/{UUID(int=5)}"' in Pages().entry(entry, chat_id=CHAT)


def test_files_of_a_tool_belong_to_the_message_that_called_it() -> None:
    shown = transcript()
    first = FilePart(name="a.csv", media_type="text/csv", file_id=FileId(UUID(int=5)))
    second = FilePart(name="b.csv", media_type="text/csv", file_id=FileId(UUID(int=6)))
    shown.add(message(1, Role.ASSISTANT, call("attach_file", "c1"), call("attach_file", "c2")))
    (entry,) = shown.add(message(2, Role.TOOL, result("ok", "c1"), first))
    assert [file.name for file in entry.files] == ["a.csv"]
    entries = shown.add(message(3, Role.TOOL, result("ok", "c2"), second))
    assert [file.name for file in entries[-1].files] == ["a.csv", "b.csv"]
    html = Pages().entry(entries[-1], chat_id=CHAT)
    assert f'href="/files/{UUID(int=6)}"' in html
    shown.add(message(4, Role.ASSISTANT, call("attach_file", "c1"), call("attach_file", "c2")))
    both = (result("ok", "c1"), first, result("ok", "c2"), second)
    entries = shown.add(message(5, Role.TOOL, *both))
    assert [file.name for file in entries[-1].files] == ["a.csv", "b.csv"]
    assert shown.add(message(6, Role.TOOL, first)) == ()


@pytest.mark.parametrize(
    ("media_type", "size", "about"),
    [
        ("image/png", None, "image/png"),
        ("text/plain", 999, "text/plain, 999 bytes"),
        ("image/svg+xml", 5_000_000, "image/svg+xml, 5.0 MB"),
        ("", None, "file"),
        ("", 0, "file, 0 bytes"),
    ],
)
def test_file_is_told_by_its_kind_and_size(media_type: str, size: int | None, about: str) -> None:
    file = FilePart(name="a", media_type=media_type, size=size)
    (entry,) = transcript().add(message(1, Role.USER, file))
    assert [shown.about for shown in entry.files] == [about]


def test_result_belongs_to_the_message_with_its_call() -> None:
    shown = transcript()
    (asking,) = shown.add(message(1, Role.ASSISTANT, call("clock"), call("map", "c2")))
    assert [tool.state for tool in asking.tools] == ["calling", "calling"]
    (changed,) = shown.add(message(2, Role.TOOL, result({"time": "12:00"})))
    (again,) = shown.add(message(3, Role.TOOL, result("no map", "c2", is_error=True)))
    assert changed.id == again.id == 1
    assert [(tool.state, tool.result) for tool in again.tools] == [
        ("done", '{\n  "time": "12:00"\n}'),
        ("failed", "no map"),
    ]
    assert len(list(shown.entries())) == 1


def test_same_id_of_a_call_may_come_back_later() -> None:
    shown = transcript()
    shown.add(message(1, Role.ASSISTANT, call("clock")))
    shown.add(message(2, Role.TOOL, result("first")))
    shown.add(message(3, Role.ASSISTANT, call("clock")))
    (changed,) = shown.add(message(4, Role.TOOL, result("second")))
    assert changed.id == 3
    assert [entry.tools[0].result for entry in shown.entries()] == ["first", "second"]


def test_open_question_stands_elsewhere_and_a_closed_one_says_who_answered() -> None:
    shown = transcript()
    shown.add(message(1, Role.ASSISTANT, call()))
    (asking,) = shown.set_actions([action(ActionState.OPEN, 1)])
    assert asking.tools[0].state == "asking"
    assert asking.tools[0].question is None
    answered = action(ActionState.ANSWERED, 1, answer={"answer": "tea"}, answered_by=ADA)
    (closed,) = shown.set_actions([answered])
    question = closed.tools[0].question
    assert question is not None
    assert (question.question, question.answer, question.who) == ("Tea or coffee?", "Tea", "Ada")
    assert shown.set_actions([answered]) == ()


def test_question_that_nobody_answered_says_so() -> None:
    shown = transcript()
    shown.add(message(1, Role.ASSISTANT, call()))
    notes = []
    for state in (ActionState.EXPIRED, ActionState.CANCELLED):
        (entry,) = shown.set_actions([action(state, 1)])
        question = entry.tools[0].question
        assert question is not None
        notes.append(question.note)
    assert notes == ["Nobody answered in time.", "Taken back."]


def test_action_of_an_earlier_call_with_the_same_id_is_not_this_ones() -> None:
    shown = transcript()
    shown.add(message(1, Role.ASSISTANT, call()))
    shown.add(message(5, Role.ASSISTANT, call()))
    shown.set_actions([action(ActionState.EXPIRED, 1), action(ActionState.OPEN, 5)])
    first, second = shown.entries()
    assert first.tools[0].question is not None
    assert second.tools[0].state == "asking"


def test_amended_message_stays_in_its_place() -> None:
    shown = transcript()
    shown.add(message(1, Role.USER, TextPart(text="a")))
    shown.add(message(2, Role.ASSISTANT, TextPart(text="b")))
    shown.add(message(1, Role.USER, TextPart(text="A")))
    assert [entry.text for entry in shown.entries()] == ["A", ""]


def test_messages_taken_back_are_forgotten_with_their_results() -> None:
    shown = transcript()
    shown.add(message(1, Role.USER, TextPart(text="a")))
    shown.add(message(2, Role.ASSISTANT, call()))
    shown.add(message(3, Role.TOOL, result("x")))
    shown.reset(MessageId(1))
    assert [entry.id for entry in shown.entries()] == [1]
    assert shown.last_id == 1
    shown.add(message(4, Role.ASSISTANT, call()))
    assert list(shown.entries())[-1].tools[0].state == "calling"


def test_answer_that_broke_off_says_so_and_thoughts_are_apart() -> None:
    shown = transcript()
    (entry,) = shown.add(
        message(
            1,
            Role.ASSISTANT,
            ReasoningPart(text="Hm."),
            TextPart(text="Half"),
            finish=Finish.INTERRUPTED,
        )
    )
    assert isinstance(entry, EntryView)
    assert (entry.note, entry.reasoning) == ("Stopped here.", "Hm.")


def test_answers_are_told_in_the_words_they_were_chosen_by() -> None:
    def label(answer: Any) -> str:
        return answer_label(action(ActionState.ANSWERED, 1, answer=answer))

    assert label({"answer": "tea"}) == "Tea"
    assert label({"answer": "water"}) == "water"
    assert label({"a": 1, "b": True}) == "a: 1, b: yes"
    assert label(None) == "null"


def test_arguments_are_laid_out_or_shown_as_they_are() -> None:
    assert shown_json_text('{"a":1}') == '{\n  "a": 1\n}'
    assert shown_json_text("{}") == ""
    assert shown_json_text('{"a"') == '{"a"'
    assert shown_json_text("[" * 100_000).startswith("[[[")


def test_a_summary_is_one_line() -> None:
    shown = transcript()
    shown.add(message(1, Role.ASSISTANT, call(SUMMARY_TOOL), visibility=Visibility.USER))
    shown.add(message(2, Role.TOOL, result({"summary": "Ada waits."}), visibility=Visibility.USER))
    (entry,) = shown.entries()
    assert (entry.kind, entry.text, entry.tools) == ("note", "Earlier conversation summarised.", ())
