"""Owns the Markdown dialect: CommonMark with tables and strikes, and where constructs stand. Pure.

The parser is markdown-it's, with three promises added for text that is still being written.
Blocks that stand before the last one never change when text is appended (there are no reference
definitions, and math runs to its end mark or a blank line). Nothing is dropped: what is nested too
deep is a paragraph. Every inline construct knows its place in the source, so that a cut can avoid it.
"""

import re
from collections.abc import MutableMapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.parser_inline import ParserInline
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.state_inline import Scanned
from markdown_it.token import Token

from adapters.delivery.markdown_blocks import BlockParser
from adapters.delivery.markdown_rules import INLINE_RULES, TRIGGERS, link
from adapters.delivery.plain_text import is_cjk

# Lists take two levels each. Deeper text is shown, but not as structure.
NESTING_MAX = 40
_EMPHASIS = "*_~"
_MARKERS_MAX = 400
"""A block with more emphasis markers, and those a quarter of it, has none that anybody meant."""

# Most marks of these two end a sentence or a clause and begin nothing.
_RARE = {"!": r"!(?=\[)", ":": ":(?=//)"}
_TRIGGER = re.compile(
    "|".join(
        ["[" + re.escape("".join(sign for sign in TRIGGERS if sign not in _RARE)) + "]"]
        + [_RARE[sign] for sign in TRIGGERS if sign in _RARE]
    )
)

Environment = MutableMapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Atom:
    """A construct `source[start:end]` that must not be cut; `rule` names what it is."""

    start: int
    end: int
    rule: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """One emphasis marker `text` at `start`; `partner` is the start of its other half, or -1."""

    start: int
    text: str
    partner: int
    can_open: bool
    can_close: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class InlineParse:
    """The constructs of one inline text: as tokens, and where those at its top level stand."""

    tokens: tuple[Token, ...]
    atoms: tuple[Atom, ...]
    markers: tuple[Marker, ...]


class _InlineState(StateInline):
    """Emphasis as its writers mean it, also beside punctuation and in scripts without blanks."""

    def __init__(self, src: str, md: MarkdownIt, env: Environment, tokens: list[Token]) -> None:
        # An image's label is a text of its own.
        super().__init__(src, md, {**env, "last_target": src.rfind("](")}, tokens)
        self.depth = 0
        self.atoms: list[Atom] = []
        self.marker_starts: dict[int, int] = {}
        markers = sum(src.count(marker) for marker in _EMPHASIS)
        self.is_hail = markers > max(_MARKERS_MAX, len(src) // 4)

    def scanDelims(self, start: int, canSplitWord: bool) -> Scanned:  # noqa: FBT001, N802, N803
        scanned = super().scanDelims(start, canSplitWord)
        end = start + scanned.length
        before = self.src[start - 1] if start > 0 else " "
        after = self.src[end] if end < self.posMax else " "
        beside_cjk = is_cjk(before) or is_cjk(after)
        if not beside_cjk and (self.src[start] != "*" or scanned.length == 1):
            # A single * inside a word or between signs is a product: a*b*c, 2*(3+4)*5.
            is_inside = before.isalnum() and after.isalnum() and self.src[start] != "~"
            return Scanned(False, False, scanned.length) if is_inside else scanned  # noqa: FBT003
        left = not after.isspace()
        right = not before.isspace()
        if canSplitWord:
            return Scanned(left, right, scanned.length)
        return Scanned(
            left and (not right or _is_word_edge(before)),
            right and (not left or _is_word_edge(after)),
            scanned.length,
        )


def _is_word_edge(character: str) -> bool:
    return not character.isalnum() or is_cjk(character)


class _InlineParser(ParserInline):
    """Notes the place of every construct at the top level of the text."""

    def __init__(self) -> None:
        super().__init__()
        # A link's label ends at a bracket that starts nothing.
        self.terminator_re = re.compile(rf"{_TRIGGER.pattern}|\]")

    def tokenize(self, state: StateInline) -> None:
        assert isinstance(state, _InlineState)  # noqa: S101  # parse() makes no other
        state.depth += 1
        source, end = state.src, state.posMax
        while state.pos < end:
            start, tokens = state.pos, len(state.tokens)
            character = source[start]
            rules = TRIGGERS.get(character, ()) if state.level < NESTING_MAX else ()
            if state.is_hail and character in _EMPHASIS:
                rules = ()
            matched = ""
            for name, rule in rules:
                if rule(state, False):  # noqa: FBT003
                    matched = name
                    break
            if not matched:
                literal = self.terminator_re.search(source, start + 1, end)
                state.pos = literal.start() if literal else end
                state.append_pending(source[start : state.pos])
            elif state.depth == 1:
                _note_atom(state, matched, start, tokens)
        if state.pending:
            state.pushPending()
        state.depth -= 1

    def parse(self, src: str, md: MarkdownIt, env: Environment, tokens: list[Token]) -> list[Token]:
        return self.parse_placed(src, md, env, tokens)[0]

    def parse_placed(
        self, src: str, md: MarkdownIt, env: Environment, tokens: list[Token]
    ) -> tuple[list[Token], list[Atom], list[Marker]]:
        """Parse, and tell where the constructs stand."""
        state = _InlineState(src, md, env, tokens)
        self.tokenize(state)
        texts = [state.tokens[delimiter.token].content for delimiter in state.delimiters]
        if state.delimiters or any(state.tokens_meta):
            for rule in self.ruler2.getRules(""):
                rule(state)
        return state.tokens, state.atoms, _markers(state, texts)


def _note_atom(state: _InlineState, rule: str, start: int, first_token: int) -> None:
    if rule == "url":
        # The rule matches at the colon; the scheme stands before it.
        start = state.pos - len(state.tokens[-2].content)
    state.atoms.append(Atom(start=start, end=state.pos, rule=rule))
    # Map the tokens that a run of delimiters made to their places. Two tildes are one token; an odd
    # one comes first and is no delimiter.
    position = state.pos
    for delimiter in reversed(state.delimiters):
        if delimiter.token < first_token:
            break
        position -= len(state.tokens[delimiter.token].content)
        state.marker_starts[delimiter.token] = position


def _markers(state: _InlineState, texts: list[str]) -> list[Marker]:
    partners: dict[int, int] = {}
    for index, delimiter in enumerate(state.delimiters):
        if delimiter.end >= 0:
            partners[index] = delimiter.end
            partners[delimiter.end] = index
    starts = [state.marker_starts[delimiter.token] for delimiter in state.delimiters]
    return [
        Marker(
            start=starts[index],
            text=texts[index],
            partner=starts[partners[index]] if index in partners else -1,
            can_open=delimiter.open,
            can_close=delimiter.close,
        )
        for index, delimiter in enumerate(state.delimiters)
    ]


class _Dialect(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: ARG002, N802
        """Every address is a link here; which of them may be followed, the platform's markup says."""
        return True


@cache
def dialect() -> MarkdownIt:
    """The one parser. It keeps no state between texts."""
    parser = _Dialect()
    parser.inline = _InlineParser()
    parser.configure("commonmark", {"html": False, "maxNesting": NESTING_MAX})
    parser.enable(["strikethrough"])
    parser.disable(["html_inline"])
    for rule in ("link", "image"):
        parser.inline.ruler.at(rule, link)
    for name, function in INLINE_RULES:
        parser.inline.ruler.before("escape", name, function)
    # It knows its rules and takes none by name.
    parser.block = BlockParser()
    return parser


def block_tokens(source: str) -> list[Token]:
    """The blocks of a text, their inline contents unparsed."""
    parser = dialect()
    assert isinstance(parser.block, BlockParser)  # noqa: S101  # dialect() put it there
    return parser.block.tokens_of(source, parser)


def may_be_markup(source: str) -> bool:
    """False for a text in which no inline construct can stand, which is all text then."""
    return _TRIGGER.search(source) is not None


# A paragraph is looked at several times while its page is filled.
@lru_cache(maxsize=64)
def parse_placed(source: str, names: tuple[str, ...] = ()) -> InlineParse:
    """The inline constructs of one block and their places. `names`: mentions, lower case."""
    parser = dialect()
    assert isinstance(parser.inline, _InlineParser)  # noqa: S101  # dialect() put it there
    tokens, atoms, markers = parser.inline.parse_placed(source, parser, {"names": names}, [])
    return InlineParse(tokens=tuple(tokens), atoms=tuple(atoms), markers=tuple(markers))
