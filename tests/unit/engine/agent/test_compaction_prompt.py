"""The request for a summary holds the history, as much of it as fits."""

from hypothesis import given
from hypothesis import strategies as st

from engine.agent.compaction_prompt import (
    INSTRUCTION_TOKENS,
    OUTPUT_TOKENS,
    input_budget,
    summary_prompt,
    transcript,
)
from engine.chat.content import (
    Author,
    FilePart,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    text_of,
)
from engine.chat.ids import MessageId, ToolCallId
from tests.unit.engine.agent.test_compaction import ASKS, SUMMARY, brain, history, row, says

ADA = Author(identity="slack:ada", name="Ada")


def result(text: str) -> dict[str, object]:
    part = ToolResultPart(tool_call_id=ToolCallId("c"), tool_name="look_out", result=text)
    return row(Role.TOOL, part)


def test_everything_is_told_by_name_but_reasoning() -> None:
    asked = row(
        Role.USER,
        TextPart(text="Where is he?"),
        FilePart(name="map.png", media_type="image/png"),
        author=ADA,
    )
    call = ToolCallPart(tool_call_id=ToolCallId("c"), tool_name="look_out", args='{"to":"sea"}')
    thinks = row(Role.ASSISTANT, ReasoningPart(text="Hm."), TextPart(text="I look."), call)
    assert transcript(history(asked, thinks, result("a sail")), 10_000) == (
        "## Ada\nWhere is he?\n\n"
        "## Ada\n[file: map.png (image/png)]\n\n"
        "## Assistant\nI look.\n\n"
        '## Assistant calls look_out\n{"to":"sea"}\n\n'
        '## Result of look_out\n"a sail"'
    )


def test_the_longest_results_are_cut_first() -> None:
    text = transcript(history(ASKS, result("short"), result("x" * 50_000), ASKS), 5_000)
    assert text.count("Where is the keeper?") == 2
    assert '"short"' in text
    assert "bytes cut to fit" in text
    assert "left out" not in text
    assert 4_000 < len(text) <= 5_000


def test_then_the_oldest_messages_are_left_out_but_never_an_earlier_summary() -> None:
    old = [row(Role.USER, TextPart(text=f"message {number} " + "y" * 200)) for number in range(50)]
    text = transcript(history(SUMMARY, *old, says()), 3_000)
    assert text.startswith("## Earlier summary\nAda asks.\n\n[")
    assert "message 0 " not in text
    assert "message 49 " in text
    assert text.endswith("## Assistant\nAye.")
    kept = text.count("message ")
    assert f"[{50 - kept} earlier parts of the conversation are left out here" in text


def test_a_newest_message_that_is_too_long_by_itself_is_cut() -> None:
    text = transcript(history(ASKS, row(Role.ASSISTANT, TextPart(text="z" * 90_000))), 3_000)
    assert len(text) <= 3_000
    assert text.count("z") > 1_000


@given(
    texts=st.lists(st.text(max_size=300) | st.text(min_size=900, max_size=2_000), max_size=12),
    budget=st.integers(1_500, 20_000),
)
def test_it_fits_whatever_was_said(texts: list[str], budget: int) -> None:
    messages = history(
        SUMMARY,
        *(
            result(text) if number % 3 else row(Role.USER, TextPart(text=text))
            for number, text in enumerate(texts)
        ),
    )
    assert len(transcript(messages, budget).encode(errors="replace")) <= budget


def test_the_budget_leaves_room_for_the_summary() -> None:
    assert input_budget(brain(limit=128_000)) == 3 * (128_000 - OUTPUT_TOKENS - INSTRUCTION_TOKENS)
    assert input_budget(brain(limit=1_000)) == 1_500
    assert input_budget(brain(limit=None)) == 600_000


def test_the_request_is_one_message_without_tools() -> None:
    prompt = summary_prompt(brain(), "## Ada\nHello")
    (message,) = prompt.messages
    assert text_of(message.content).startswith("## Ada\nHello\n")
    assert prompt.tools == ()
    assert "DONE, IN PROGRESS and REMAINS" in prompt.system


def test_an_earlier_summary_is_not_taken_for_a_person() -> None:
    assert MessageId(1) == SUMMARY["summary_of"]
    assert transcript(history(SUMMARY), 5_000).startswith("## Earlier summary")
