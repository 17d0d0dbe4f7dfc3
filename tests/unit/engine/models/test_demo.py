"""The demo model shows everything that a thread can do, the same way each time."""

import json
from typing import Any

import pytest

from engine.chat.content import Content, Finish, NewMessage, Role, ToolResultPart, plain
from engine.chat.ids import ToolCallId
from engine.models.demo import DemoModel
from engine.models.demo_script import Lines, next_lines
from engine.models.model import Model, ModelPrompt, ToolOffer
from engine.models.parts import StreamPart, StreamResult, TextDelta

TOOLS = (ToolOffer(name="current_time"), ToolOffer(name="ask_people"))
HELLO = (Role.USER, plain("Hello")), (Role.ASSISTANT, plain("Ahoy"))


def prompt(*messages: tuple[Role, Content], tools: tuple[ToolOffer, ...] = TOOLS) -> ModelPrompt:
    rows = tuple(NewMessage(role=role, content=content) for role, content in messages)
    return ModelPrompt(model="demo", messages=rows, tools=tools)


def asked(text: str) -> ModelPrompt:
    return prompt(*HELLO, (Role.USER, plain(text)))


async def play(asked: ModelPrompt) -> tuple[list[StreamPart], StreamResult, list[float]]:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    model: Model = DemoModel(sleep=sleep)
    async with model.stream(asked) as answer:
        parts = [part async for batch in answer for part in batch]
    return parts, answer.result(), slept


async def test_first_message_is_answered_with_what_can_be_tried() -> None:
    parts, result, slept = await play(prompt((Role.USER, plain("Good evening"))))
    for word in ("time", "ask us", "table", "code", "long"):
        assert word in result.text
    assert "".join(p.text for p in parts if isinstance(p, TextDelta)) == result.text
    assert len(parts) > 50
    assert len(slept) >= len(parts)
    assert result.finish is Finish.STOP
    assert result.usage is not None


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("please ask us tea or coffee", ["Tea", "Coffee"]),
        ("I have a question", ["Harbour", "Lighthouse"]),
        ("let us choose", ["Harbour", "Lighthouse"]),
        ("somebody must approve this", ["Approve", "Decline"]),
    ],
)
async def test_people_are_asked_with_options(text: str, options: list[str]) -> None:
    _, result, _ = await play(asked(text))
    (call,) = result.tool_calls
    assert (call.tool_name, result.runnable) == ("ask_people", True)
    args = json.loads(call.args)
    assert args["options"] == options
    assert args["question"].endswith("?")
    assert result.text


async def test_time_calls_the_clock_and_reads_it_aloud() -> None:
    _, result, _ = await play(asked("What time is it?"))
    (call,) = result.tool_calls
    assert (call.tool_name, call.args) == ("current_time", "{}")
    assert await reply_to("current_time", {"time": "12:00"}) == "The clock says **12:00**."


async def reply_to(tool: str, value: Any, *, is_error: bool = False) -> str:
    part = ToolResultPart(
        tool_call_id=ToolCallId("demo_2"), tool_name=tool, result=value, is_error=is_error
    )
    messages = (*HELLO, (Role.USER, plain("ask")), (Role.ASSISTANT, plain("?")))
    _, result, _ = await play(prompt(*messages, (Role.TOOL, (part,))))
    assert result.finish is Finish.STOP
    return result.text


@pytest.mark.parametrize("value", ["Tea", {"answer": "Tea"}, {"answer": {"choice": "Tea"}}])
async def test_answer_of_people_is_taken_up(value: Any) -> None:
    assert await reply_to("ask_people", value) == "Thank you! I will go with **Tea**."


async def test_missing_answer_is_not_an_endless_question() -> None:
    text = await reply_to("ask_people", {"error": "timed out"}, is_error=True)
    assert text == "That did not work out: timed out"


@pytest.mark.parametrize("text", ["ask", "time"])
async def test_tools_that_are_not_offered_are_not_called(text: str) -> None:
    _, result, _ = await play(prompt(*HELLO, (Role.USER, plain(text)), tools=()))
    assert result.tool_calls == ()
    assert result.text


@pytest.mark.parametrize(("text", "sign"), [("a table", "|---|"), ("some code", "```python")])
async def test_markdown_is_shown(text: str, sign: str) -> None:
    assert sign in (await play(asked(text)))[1].text


async def test_long_answer_needs_more_than_one_page_anywhere() -> None:
    assert len((await play(asked("something long")))[1].text) > 4500


async def test_anything_else_is_repeated_the_same_each_time() -> None:
    first, second = [await play(asked("The sea\nis calm")) for _ in range(2)]
    assert first[0] == second[0]
    assert "> The sea\n> is calm" in first[1].text


async def test_stopped_answer_is_incomplete_and_keeps_its_words() -> None:
    async with DemoModel(word_seconds=0).stream(asked("long")) as answer:
        first = await anext(answer)
        await answer.aclose()
        assert [batch async for batch in answer] == []
    assert first == [TextDelta(answer.result().text)]
    assert answer.result().finish is Finish.INCOMPLETE


async def test_completion_is_a_short_title() -> None:
    result = await DemoModel().complete(asked("how is the sea tonight my friend"))
    assert result.text == "how is the sea tonight my"


INTRODUCED = next_lines(prompt()).text
HINT = "\n\n_You can also try `ask`, `table`, `code`, `long` or `time`._"


@pytest.mark.parametrize("word", ["help", "hello", "hi", "Hi there", "anything"])
def test_a_first_word_is_answered_with_the_introduction(word: str) -> None:
    assert next_lines(prompt((Role.USER, plain(word)))) == Lines(text=INTRODUCED)
    assert INTRODUCED.startswith("Ahoy!")


def test_a_chat_that_nobody_spoke_in_begins_with_the_introduction() -> None:
    assert next_lines(prompt()) == Lines(text=INTRODUCED)


@pytest.mark.parametrize("word", ["help", "hello", "hi"])
def test_a_greeting_is_answered_with_it_later_too(word: str) -> None:
    assert next_lines(asked(word)) == Lines(text=INTRODUCED)


def test_a_first_show_comes_with_a_hint_and_later_ones_do_not() -> None:
    for word in ("table", "code", "long", "story"):
        later = next_lines(asked(word))
        assert HINT not in later.text
        assert next_lines(prompt((Role.USER, plain(word)))) == Lines(text=later.text + HINT)
    for word in ("time", "ask"):
        assert next_lines(prompt((Role.USER, plain(word)))) == next_lines(asked(word))


@pytest.mark.parametrize(
    ("words", "text", "tool"),
    [
        (["time", "clock", "date"], "Let me look at the clock.", "current_time"),
        (["ask", "choose", "approve", "question", "decide", "vote"],
         "I would rather ask than guess.", "ask_people"),
    ],
)  # fmt: skip
def test_each_word_of_a_tool_calls_it(words: list[str], text: str, tool: str) -> None:
    for word in words:
        lines = next_lines(asked(word))
        assert (lines.text, lines.tool_name) == (text, tool)


@pytest.mark.parametrize(
    ("word", "question"),
    [("vote", "Which one shall it be?"), ("approve", "Do you approve?")],
)
def test_a_question_is_asked_in_words(word: str, question: str) -> None:
    assert json.loads(next_lines(asked(word)).args)["question"] == question


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("time", "I would look at the clock, but nobody gave me one."),
        ("ask", "I would ask you, but this chat has no tool for asking people."),
    ],
)
def test_a_tool_that_is_missing_is_missed_in_words(word: str, text: str) -> None:
    assert next_lines(prompt(*HELLO, (Role.USER, plain(word)), tools=())) == Lines(text=text)


def test_saying_nothing_is_repeated_as_well() -> None:
    assert "> (nothing)\n" in next_lines(asked(" ")).text


def test_a_long_answer_has_its_chapters_apart() -> None:
    chapters = next_lines(asked("long")).text.split("\n\n## ")
    assert len(chapters) == 8
    assert not any("##" in chapter for chapter in chapters[1:])
    assert chapters[0].startswith("## ")
    assert all(chapter.endswith("a lifetime.") for chapter in chapters)


def test_results_are_told_in_their_order() -> None:
    rows = [
        (Role.TOOL, (ToolResultPart(tool_call_id=ToolCallId(name), tool_name=name, result=value),))
        for name, value in (("a", {}), ("b", {"n": 1, "m": 2}), ("c", "T"), ("d", {"n": 3}))
    ]
    assert next_lines(prompt(*HELLO, *rows)).text == (
        '`a` says: {}\n\n`b` says: {"n":1,"m":2}\n\n`c` says: T\n\n`d` says: 3'
    )
