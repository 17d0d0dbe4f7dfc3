from adapters.console.markdown import Markdown
from adapters.console.preview import Preview
from engine.chat.content import ToolCallPart, ToolResultPart
from engine.chat.ids import ToolCallId
from engine.stream.events import ReasoningDelta, TextDelta, ToolCallDelta

CALL = ToolCallId("c1")


def preview() -> Preview:
    return Preview(Markdown(), reasoning=lambda text: f"?{text}", tool=lambda n, s: f"{n} {s}")


def test_only_what_changed_is_sent_again() -> None:
    growing = preview()
    growing.add(TextDelta(text="one\n\ntw"))
    assert growing.changes() == (0, ["<p>one</p>\n", "<p>tw</p>\n"])
    assert growing.changes() is None
    growing.add(TextDelta(text="o"))
    assert growing.changes() == (1, ["<p>two</p>\n"])


def test_block_that_becomes_another_is_sent_again() -> None:
    growing = preview()
    growing.add(TextDelta(text="one\n\nTitle"))
    growing.changes()
    growing.add(TextDelta(text="\n---\n"))
    assert growing.changes() == (1, ["<h4>Title</h4>\n"])


def test_blocks_that_are_gone_are_dropped() -> None:
    growing = preview()
    growing.add(TextDelta(text="a\n\n-"))
    growing.changes()
    growing.clear()
    growing.add(TextDelta(text="b"))
    assert growing.changes() == (0, ["<p>b</p>\n"])


def test_thoughts_text_and_calls_come_in_their_order() -> None:
    growing = preview()
    growing.add(ReasoningDelta(text="Hm"))
    growing.add(ReasoningDelta(text="."))
    growing.add(TextDelta(text="Let me see."))
    growing.add(ToolCallDelta(tool_call_id=CALL, tool_name="clock", args_delta="{"))
    assert growing.changes() == (0, ["?Hm.", "<p>Let me see.</p>\n", "clock calling"])


def test_call_shows_how_it_ended_in_its_place() -> None:
    growing = preview()
    growing.add(ToolCallDelta(tool_call_id=CALL, tool_name="clock"))
    growing.add(ToolCallPart(tool_call_id=CALL, tool_name="clock"))
    growing.add(TextDelta(text="and"))
    growing.changes()
    growing.add(ToolResultPart(tool_call_id=CALL, tool_name="clock", result=1, is_error=True))
    assert growing.changes() == (0, ["clock failed", "<p>and</p>\n"])
