"""How the blocks of an Anthropic reply grow, whatever their pieces leave out or repeat."""

from typing import Any

import pytest

from engine.chat.content import Content, Part, ProviderPart, ReasoningPart, TextPart, ToolCallPart
from engine.chat.ids import ToolCallId
from engine.models.anthropic_blocks import Blocks
from engine.models.anthropic_wire import WireDelta
from engine.models.parts import StreamPart, TextDelta

SEARCH = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}


def grown(start: Any, *deltas: WireDelta, is_odd: bool = False) -> Content:
    """The content of one block that began so, grew by these pieces, and ended."""
    blocks, parts = Blocks("harbour"), list[StreamPart]()
    blocks.begin(0, start, parts)
    for delta in deltas:
        blocks.grow(0, delta, parts, is_odd=is_odd)
    blocks.close(0, parts)
    return blocks.content()


def thought(text: str, signature: str | None = None) -> ReasoningPart:
    return ReasoningPart(text=text, provider="harbour", signature=signature)


def called(args: str, name: str = "look") -> ToolCallPart:
    return ToolCallPart(tool_call_id=ToolCallId("a"), tool_name=name, args=args)


def own(data: Any) -> ProviderPart:
    return ProviderPart(provider="harbour", wire="anthropic", data=data)


@pytest.mark.parametrize(
    ("start", "deltas", "content"),
    [
        ({"type": "text"}, [], ()),
        ({"type": "text", "text": None}, [WireDelta(text="Hi")], (TextPart(text="Hi"),)),
        ({"type": "thinking", "signature": None}, [WireDelta(thinking="Hm."), WireDelta(signature="a"),
          WireDelta(signature="b")], (thought("Hm.", "ab"),)),
        ({"type": "tool_use", "id": "a", "name": None}, [], (called("{}", ""),)),
        ({"type": "compaction", "content": None}, [WireDelta(content="All "), WireDelta(content=7),
          WireDelta(content="said.")], (own({"type": "compaction", "content": "All said."}),)),
        (SEARCH, [WireDelta(partial_json='{"query":'), WireDelta(partial_json='"x"}')],
         (own(SEARCH | {"input": {"query": "x"}}),)),
        (SEARCH, [WireDelta(partial_json="[1]")], ()),
        (None, [WireDelta(text="Hi")], ()),
        ({"type": 7}, [WireDelta(text="Hi")], ()),
    ],
)  # fmt: skip
def test_a_block_is_what_its_start_and_its_pieces_say(
    start: Any, deltas: list[WireDelta], content: Content
) -> None:
    assert grown(start, *deltas) == content


@pytest.mark.parametrize(
    ("delta", "content"),
    [
        (WireDelta(text="Hi"), (TextPart(text="Hi"),)),
        (WireDelta(thinking="Hm."), (thought("Hm."),)),
        (WireDelta(signature="s"), ()),
        (WireDelta(partial_json="{}"), ()),
    ],
)
def test_a_piece_without_a_start_is_read_where_it_shows_what_it_is(
    delta: WireDelta, content: tuple[Part, ...]
) -> None:
    blocks = Blocks("harbour")
    blocks.grow(0, delta, [], is_odd=False)
    blocks.close(0, [])
    assert blocks.content() == content


def test_a_call_that_is_announced_twice_is_one() -> None:
    blocks, use = Blocks("harbour"), {"type": "tool_use", "id": "a", "name": "look"}
    for _ in range(2):
        blocks.begin(0, use, [])
    blocks.grow(0, WireDelta(partial_json="{}"), [], is_odd=False)
    assert blocks.content() == (called("{}"),)


def test_half_a_character_is_replaced_where_no_other_half_can_come() -> None:
    use = {"type": "tool_use", "id": "a", "name": "look"}
    torn = WireDelta(partial_json='{"a":"\ud83d"}')
    assert grown(use, torn, is_odd=True) == (called('{"a":"\ufffd"}'),)
    assert grown({"type": "text"}, WireDelta(text="ab\ud83d"), is_odd=True) == (
        TextPart(text="ab\ufffd"),
    )
    assert grown({"type": "thinking"}, WireDelta(thinking="ab\ud83d"), is_odd=True) == (
        thought("ab"),
    )


def test_what_comes_after_the_end_of_a_block_is_not_joined_with_its_half() -> None:
    blocks, parts = Blocks("harbour"), list[StreamPart]()
    blocks.begin(0, {"type": "text"}, parts)
    blocks.grow(0, WireDelta(text="a\ud83d"), parts, is_odd=True)
    blocks.close(0, parts)
    blocks.grow(0, WireDelta(text="b"), parts, is_odd=False)
    assert parts == [TextDelta("a\ufffdb")]


@pytest.mark.parametrize("whole", ["\U00010000", "\U0001f6a4", "\U0010ffff"])
def test_a_character_in_two_pieces_is_one(whole: str) -> None:
    high, low = (
        whole.encode("utf-16-le")[at : at + 2].decode("utf-16-le", "surrogatepass") for at in (0, 2)
    )
    blocks, parts = Blocks("harbour"), list[StreamPart]()
    blocks.begin(0, {"type": "text"}, parts)
    blocks.grow(0, WireDelta(text=f"abc{high}"), parts, is_odd=True)
    assert parts == [TextDelta("abc")]
    blocks.grow(0, WireDelta(text=f"{low}d"), parts, is_odd=True)
    assert parts == [TextDelta(f"abc{whole}d")]
