"""Owns how blocks are found: which rules are tried at a line, by the sign that it begins with. Pure.

The rules are markdown-it's and the dialect's own, in their order, and the outcome is that of trying
each of them everywhere. It is only found sooner: no rule can match at a sign that it is not listed
for, so most lines meet two rules instead of eleven, and a paragraph's lines are looked at once.
"""

import re
from collections.abc import Callable
from itertools import chain

from markdown_it import MarkdownIt, rules_block
from markdown_it.common.utils import mdTrim
from markdown_it.parser_block import ParserBlock
from markdown_it.ruler import Ruler
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token

from adapters.delivery.markdown_rules import block_json, block_math

_BlockRule = Callable[[StateBlock, int, int, bool], bool]
_CODE_INDENT = 4
_TAB_STOP = 4


_LIST_MARKER = re.compile(r"(?:[*+-]|\d{1,9}[.)])(?:[ \t\n]|$)")


def _table(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:  # noqa: FBT001
    """A table, looked for only above a line that could be its second one.

    A line with a list's marker begins an item and no table, as it does inside a list, so that it is
    the same thing wherever parsing begins.
    """
    line = start_line + 1
    if line >= end_line or state.isEmpty(line):
        return False
    if state.src[state.bMarks[line] + state.tShift[line]] not in "|-:":
        return False
    if _LIST_MARKER.match(state.src, state.bMarks[start_line] + state.tShift[start_line]):
        return False
    return rules_block.table(state, start_line, end_line, silent)


def _text(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:  # noqa: FBT001, ARG001
    """A paragraph, or a heading where a line of `=` or `-` ends it; never silent."""
    interrupts = state.md.block.ruler.getRules("paragraph")[0]
    parent = state.parentType
    state.parentType = "paragraph"
    line, level = start_line + 1, 0
    while line < end_line and not state.isEmpty(line):
        indent = state.sCount[line]
        if indent - state.blkIndent < _CODE_INDENT:
            level = _underline_level(state, line) if indent >= state.blkIndent else 0
            # Below zero are the lines that go on with a quote's paragraph without its mark.
            if level or (indent >= 0 and interrupts(state, line, end_line, True)):  # noqa: FBT003
                break
        line += 1
    content = mdTrim(state.getLines(start_line, line, state.blkIndent, False))  # noqa: FBT003
    state.line = line + (level > 0)
    _push_text(state, content, [start_line, state.line], level)
    state.parentType = parent
    return True


def _underline_level(state: StateBlock, line: int) -> int:
    start, end = state.bMarks[line] + state.tShift[line], state.eMarks[line]
    marker = state.src[start]
    if marker not in "=-" or state.src[start:end].rstrip(" \t").strip(marker):
        return 0
    return 1 if marker == "=" else 2


def _push_text(state: StateBlock, content: str, lines: list[int], level: int) -> None:
    kind, tag = ("heading", f"h{level}") if level else ("paragraph", "p")
    state.push(f"{kind}_open", tag, 1).map = lines
    token = state.push("inline", "", 0)
    token.content, token.map, token.children = content, lines, []
    state.push(f"{kind}_close", tag, -1)


_PARAGRAPH = frozenset(["paragraph"])
_QUOTE_TOO = frozenset(["paragraph", "blockquote"])
_ANY = frozenset(["paragraph", "blockquote", "list"])
_RULES: tuple[tuple[_BlockRule, str, frozenset[str]], ...] = (
    (_table, "", _PARAGRAPH),
    (rules_block.code, "", frozenset()),
    (block_math, "$\\", _ANY),
    (rules_block.fence, "`~", _ANY),
    (rules_block.blockquote, ">", _ANY),
    (rules_block.hr, "*-_", _ANY),
    (rules_block.list_block, "*+-0123456789", _QUOTE_TOO),
    (rules_block.heading, "#", _QUOTE_TOO),
    (block_json, "{[", frozenset()),
    (_text, "", frozenset()),
)
"""Each rule, the signs that its block can begin with (none: any), and what its block interrupts."""


class _Rules(Ruler[_BlockRule]):
    """Gives for each chain the one rule that tries all that may match."""

    def __init__(self) -> None:
        super().__init__()
        names = ("", "paragraph", "blockquote", "list")
        self._chains = {name: [_first_of(name)] for name in names}

    def getRules(self, chainName: str = "") -> list[_BlockRule]:  # noqa: N802, N803
        return self._chains[chainName]

    def get_active_rules(self) -> list[str]:
        return ["code"]


def _first_of(name: str) -> _BlockRule:
    chosen = [(rule, signs) for rule, signs, ends in _RULES if not name or name in ends]
    anywhere = tuple(rule for rule, signs in chosen if not signs)
    listed = frozenset(chain.from_iterable(signs for _, signs in chosen))
    by_sign = {
        sign: tuple(rule for rule, signs in chosen if not signs or sign in signs) for sign in listed
    }

    def first(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:  # noqa: FBT001
        start = state.bMarks[start_line] + state.tShift[start_line]
        if start >= state.eMarks[start_line]:
            return False
        for rule in by_sign.get(state.src[start], anywhere):
            if rule(state, start_line, end_line, silent):
                return True
        return False

    return first


class _BlockState(StateBlock):
    """Finds lines and their indents by whole strings rather than sign by sign."""

    def __init__(self, src: str, md: MarkdownIt, tokens: list[Token]) -> None:
        super().__init__("", md, {}, tokens)
        self.src = src
        lines = src.split("\n")
        if not lines[-1].strip(" \t"):
            lines.pop()
        starts, ends, shifts, indents = [], [], [], []
        start = 0
        for line in lines:
            shift = len(line) - len(line.lstrip(" \t"))
            starts.append(start)
            shifts.append(shift)
            indents.append(len(line[:shift].expandtabs(_TAB_STOP)) if shift else 0)
            start += len(line) + 1
            ends.append(start - 1)
        length = len(src)
        self.bMarks, self.eMarks = [*starts, length], [*ends, length]
        self.tShift, self.sCount = [*shifts, 0], [*indents, 0]
        self.bsCount = [0] * (len(lines) + 1)
        self.lineMax = len(lines)


class BlockParser(ParserBlock):
    """Keeps what is nested too deep as a paragraph, where markdown-it drops it."""

    def __init__(self) -> None:
        super().__init__()
        self.ruler = _Rules()

    def tokens_of(self, source: str, md: MarkdownIt) -> list[Token]:
        """The blocks of a text, their inline contents unparsed."""
        tokens: list[Token] = []
        if source:
            state = _BlockState(source, md, tokens)
            self.tokenize(state, state.line, state.lineMax)
        return tokens

    def tokenize(self, state: StateBlock, startLine: int, endLine: int) -> None:  # noqa: N803
        """Find the blocks of some lines, down to where nesting is no longer structure."""
        if state.level < state.md.options.maxNesting:
            super().tokenize(state, startLine, endLine)
            return
        content = state.getLines(startLine, endLine, state.blkIndent, False).strip()  # noqa: FBT003
        if content:
            _push_text(state, content, [startLine, endLine], 0)
        state.line = endLine
