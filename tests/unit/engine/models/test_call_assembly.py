"""Pieces of tool calls find their call, whichever of index, id and name a server leaves out."""

import pytest

from engine.models.call_assembly import CallAssembly
from engine.models.parts import ToolCallDelta

Piece = tuple[int | None, str | None, str | None, str | None]


def assembled(*pieces: Piece) -> list[tuple[str, str, str]]:
    """The calls (id, name, arguments) of pieces (index, id, name, arguments)."""
    assembly = CallAssembly()
    for index, wire_id, name, args in pieces:
        assembly.add(index=index, wire_id=wire_id, name=name, args=args)
    return [(call.tool_call_id, call.tool_name, call.args) for call in assembly.calls()]


@pytest.mark.parametrize(
    ("pieces", "calls"),
    [
        # Whole arguments end a call that has no id: another object or another name is the next.
        ([(None, None, "a", '{"x"'), (None, None, None, ":1} "), (None, None, "a", ' {"x":2}')],
         [("call_1", "a", '{"x":1} '), ("call_2", "a", ' {"x":2}')]),
        ([(0, None, "a", "{}"), (0, None, "b", None)], [("call_1", "a", "{}"), ("call_2", "b", "{}")]),
        ([(0, None, "a", "{}"), (0, None, "a", None)], [("call_1", "a", "{}")]),
        ([(0, None, "a", "{}"), (0, None, "a", " ")], [("call_1", "a", "{} ")]),
        ([(0, None, "a", "{}"), (0, None, None, " \n"), (0, None, "b", None)],
         [("call_1", "a", "{} \n"), ("call_2", "b", "{}")]),
        ([(None, None, "a", '{"x":1'), (None, None, None, "} "), (None, None, None, "\n"),
          (None, None, "a", '{"x":2}')],
         [("call_1", "a", '{"x":1} \n'), ("call_2", "a", '{"x":2}')]),
        # Until then only a change of name without an index is the next.
        ([(None, None, "a", '{"x"'), (None, None, "b", "{}")],
         [("call_1", "a", '{"x"'), ("call_2", "b", "{}")]),
        ([(None, None, "a", '{"x"'), (None, None, "a", ":1}")], [("call_1", "a", '{"x":1}')]),
        ([(None, None, None, '{"x"'), (None, None, "a", ":1}")], [("call_1", "a", '{"x":1}')]),
        ([(0, None, "a", '{"x"'), (0, None, "b", ":1}")], [("call_1", "a", '{"x":1}')]),
        ([(0, None, "loo", None), (0, None, "look", None)], [("call_1", "look", "{}")]),
        ([(0, None, "lo", None), (0, None, "ok", None)], [("call_1", "look", "{}")]),
        ([(0, None, "a", '{"x":{}'), (0, None, "b", "}")], [("call_1", "a", '{"x":{}}')]),
        # An id decides, but for one that is made up for every piece.
        ([(0, "i", "a", "{"), (0, "j", "b", "{}")], [("i", "a", "{"), ("j", "b", "{}")]),
        ([(0, "i", "a", "{"), (0, "j", None, "}")], [("i", "a", "{}")]),
        ([(0, None, "a", "{"), (0, "j", "a", "}")], [("call_1", "a", "{}")]),
        ([(0, "i", "a", "{"), (1, "i", "b", "{}")], [("i", "a", "{"), ("i_2", "b", "{}")]),
        ([(0, "i", "a", None), (1, "i", "b", None), (2, "i", "c", None)],
         [("i", "a", "{}"), ("i_2", "b", "{}"), ("i_3", "c", "{}")]),
        ([(None, "i", "a", "{"), (None, "j", "b", "{"), (None, "i", None, "}")],
         [("i", "a", "{}"), ("j", "b", "{")]),
        ([(None, "i", "a", "{"), (1, "i", None, "}")], [("i", "a", "{}")]),
        ([(0, "", "a", "{"), (1, "", "b", "{}"), (0, None, None, "}")],
         [("call_1", "a", "{}"), ("call_2", "b", "{}")]),
        ([(0, None, "a", "{"), (0, "i", None, None), (1, "i", "b", None)],
         [("call_1", "a", "{"), ("i", "b", "{}")]),
        ([(None, None, "a", "{"), (None, "i", None, None), (None, "j", "b", "{}"),
          (None, "i", None, "}")], [("call_1", "a", "{}"), ("j", "b", "{}")]),
        ([(0, "call_2", "a", None), (1, None, "b", None)],
         [("call_2", "a", "{}"), ("call_2_2", "b", "{}")]),
        # Nothing, null and an announcing `{}` are no arguments of their own.
        ([(0, "i", "a", " null ")], [("i", "a", "{}")]),
        ([(0, "i", "a", "{}"), (0, "i", None, '{"x":1}')], [("i", "a", '{"x":1}')]),
        ([(0, "i", "a", "{}x")], [("i", "a", "{}x")]),
    ],
)  # fmt: skip
def test_pieces_find_their_call(pieces: list[Piece], calls: list[tuple[str, str, str]]) -> None:
    assert assembled(*pieces) == calls


def test_a_piece_is_told_unless_it_says_nothing_new() -> None:
    assembly = CallAssembly()
    assert not assembly
    assert assembly.add(index=0, wire_id="i", name="a", args=None) == ToolCallDelta("i", "a", "")
    assert assembly.add(index=0, wire_id="i", name="a", args="") is None
    assert assembly.add(index=0, wire_id="i", name="ab", args="{") == ToolCallDelta("i", "ab", "{")
    assert assembly
