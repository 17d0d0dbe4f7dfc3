"""Owns the Markdown tree of one text: its leaves in reading order, each with its containers. Pure.

A leaf is what a reader sees as one block (paragraph, heading, code, formula, table, rule). Quotes
and list items are not nodes of their own: each leaf carries the path of those it stands in, so a
page can begin at any leaf and still know its context. Leaf numbers and positions inside a leaf's
content stay valid when text is appended to the source, except in an unfinished last line.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from markdown_it.rules_block.table import escapedSplit
from markdown_it.token import Token

from adapters.delivery.markdown_parser import block_tokens, parse_placed


class LeafKind(StrEnum):
    """What a leaf is, which says how it may be cut."""

    TEXT = "text"
    HEADING = "heading"
    CODE = "code"
    MATH = "math"
    TABLE = "table"
    RULE = "rule"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """A block quote around a leaf."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A list item around a leaf. `opens`: the leaf is the item's first and carries its marker."""

    number: int | None
    opens: bool
    checked: bool | None = None


Container = Quote | Item


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """The place from which parsing can begin again to meet the same leaf: a top-level block or item.

    `line` is its first source line, `leaf` the number of its first leaf, `number` the ordinal that
    its list item shows.
    """

    line: int
    leaf: int
    number: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """One block. `lines` is its half-open range of source lines; `content` is inline Markdown for
    texts and headings, the bare text for code and formulas."""

    kind: LeafKind
    containers: tuple[Container, ...]
    lines: tuple[int, int]
    root: Root
    content: str = ""
    level: int = 0
    language: str = ""
    is_fenced: bool = False
    is_closed: bool = True
    header: tuple[str, ...] = ()
    alignments: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """Literal text. It may hold line breaks."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """A code span; `text` is shown byte for byte."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Math:
    """A formula with its delimiters; `text` is shown byte for byte."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """An allowed name, lower case, as the caller listed it."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link or an image. `label` is what it shows; `is_bare`: the address itself stands there."""

    url: str
    label: tuple["Inline", ...]
    is_bare: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Styled:
    """`style` is one of strong, em, s."""

    style: str
    children: tuple["Inline", ...]


Inline = Text | Code | Math | Mention | Link | Styled


def parse_inline(source: str, names: tuple[str, ...] = ()) -> tuple[Inline, ...]:
    """The inline tree of a leaf's content. `names` are the mentions to recognise, lower case."""
    return _inlines(iter(parse_placed(source, names).tokens))


def plain(nodes: Sequence[Inline]) -> str:
    """What a reader sees of inline nodes, without any markup."""
    parts: list[str] = []
    for node in nodes:
        match node:
            case Text(text=text) | Code(text=text) | Math(text=text):
                parts.append(text)
            case Mention(name=name):
                parts.append(name)
            case Link(label=children) | Styled(children=children):
                parts.append(plain(children))
    return "".join(parts)


def _inlines(tokens: Iterator[Token]) -> tuple[Inline, ...]:
    nodes: list[Inline] = []
    for token in tokens:
        match token.type:
            case "text" | "text_special":
                _append_text(nodes, token.content)
            case "softbreak" | "hardbreak":
                _append_text(nodes, "\n")
            case "code_inline":
                nodes.append(Code(text=token.content))
            case "math_inline":
                nodes.append(Math(text=token.content))
            case "mention":
                nodes.append(Mention(name=token.content))
            case "image":
                label = _inlines(iter(token.children or []))
                nodes.append(Link(url=str(token.attrs.get("src", "")), label=label))
            case "link_open":
                nodes.append(_link(token, _inlines(tokens)))
            case "strong_open" | "em_open" | "s_open":
                style = token.type.removesuffix("_open")
                nodes.append(Styled(style=style, children=_inlines(tokens)))
            case _:
                # A closing token: the caller's node ends here.
                break
    return tuple(nodes)


def _append_text(nodes: list[Inline], text: str) -> None:
    if nodes and isinstance(last := nodes[-1], Text):
        nodes[-1] = Text(text=last.text + text)
    elif text:
        nodes.append(Text(text=text))


def _link(token: Token, label: tuple[Inline, ...]) -> Link:
    url = str(token.attrs.get("href", ""))
    if token.info != "auto":
        return Link(url=url, label=label)
    # Models that know Slack write <address|label>.
    address, bar, shown = plain(label).partition("|")
    if bar and shown:
        return Link(url=address, label=(Text(text=shown),))
    return Link(url=url, label=label, is_bare=True)


def parse_blocks(source: str, *, first_number: int | None = None) -> tuple[Leaf, ...]:
    """The leaves of a text. `first_number` renumbers an ordered list that begins the text."""
    return tuple(_LeafBuilder(source, first_number).build(block_tokens(source)))


def _line_count(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n") and text != "")


@dataclass(slots=True)
class _OpenItem:
    number: int | None
    checked: bool | None = None
    has_leaf: bool = False
    line: int = 0


class _LeafBuilder:
    """Walks block tokens once and yields leaves."""

    def __init__(self, source: str, first_number: int | None) -> None:
        self._source_lines = source.split("\n")
        self._first_number = first_number
        self._open: list[_OpenItem | Quote] = []
        self._numbers: list[int | None] = []
        self._root = Root(line=0, leaf=0, number=None)
        self._leaves: list[Leaf] = []

    def build(self, tokens: list[Token]) -> list[Leaf]:
        """Leaves in reading order."""
        index = 0
        while index < len(tokens):
            index = self._take(tokens, index)
        return self._leaves

    def _take(self, tokens: list[Token], index: int) -> int:
        token = tokens[index]
        match token.type:
            case "blockquote_open" | "list_item_open":
                self._enter(token)
            case "blockquote_close" | "list_item_close":
                self._leave()
            case "bullet_list_open":
                self._numbers.append(None)
            case "ordered_list_open":
                start = int(token.attrs.get("start", 1))
                if self._first_number is not None and not self._open and not self._leaves:
                    start = self._first_number
                self._numbers.append(start)
            case "bullet_list_close" | "ordered_list_close":
                self._numbers.pop()
            case "table_open":
                return self._add_table(tokens, index)
            case _:
                self._add_block(tokens, index)
        return index + 1

    def _enter(self, token: Token) -> None:
        line = token.map[0] if token.map else 0
        if token.type == "blockquote_open":
            self._mark_root(line)
            self._open.append(Quote())
            return
        number = self._numbers[-1]
        self._mark_root(line, number)
        self._open.append(_OpenItem(number=number, line=line))
        if number is not None:
            self._numbers[-1] = number + 1

    def _leave(self) -> None:
        container = self._open[-1]
        if isinstance(container, _OpenItem) and not container.has_leaf:
            self._add(LeafKind.TEXT, (container.line, container.line + 1))
        self._open.pop()

    def _mark_root(self, line: int, number: int | None = None) -> None:
        if not self._open:
            self._root = Root(line=line, leaf=len(self._leaves), number=number)

    def _add_block(self, tokens: list[Token], index: int) -> None:
        token = tokens[index]
        lines = (token.map[0], token.map[1]) if token.map else (0, 0)
        match token.type:
            case "paragraph_open":
                self._add(LeafKind.TEXT, lines, self._take_checkbox(tokens[index + 1].content))
            case "heading_open":
                content = tokens[index + 1].content
                self._add(LeafKind.HEADING, lines, content, level=int(token.tag[1:]))
            case "fence":
                language = (token.info.split() or [""])[0]
                content = token.content.removesuffix("\n")
                self._add(LeafKind.CODE, lines, content)
                self._leaves[-1] = replace(
                    self._leaves[-1],
                    language=language,
                    is_fenced=True,
                    is_closed=lines[1] - lines[0] - 1 > _line_count(token.content),
                )
            case "code_block":
                self._add(LeafKind.CODE, lines, token.content.rstrip("\n"))
            case "math_block":
                self._add(LeafKind.MATH, lines, token.content)
            case "hr":
                self._add(LeafKind.RULE, lines)
            case _:
                pass

    def _take_checkbox(self, content: str) -> str:
        """Move a task's `[x] ` from the text to its item."""
        item = self._open[-1] if self._open else None
        if not isinstance(item, _OpenItem) or item.has_leaf or content[3:4] not in (" ", "\n"):
            return content
        checked = {"[ ]": False, "[x]": True, "[X]": True}.get(content[:3])
        if checked is None:
            return content
        item.checked = checked
        return content[4:]

    def _add_table(self, tokens: list[Token], index: int) -> int:
        """Add the table at `index`; return the index after it."""
        first = tokens[index]
        lines = (first.map[0], first.map[1]) if first.map else (0, 0)
        rows: list[list[str]] = []
        alignments: list[str] = []
        while tokens[index].type != "table_close":
            token = tokens[index]
            if token.type == "tr_open":
                rows.append([])
            elif token.type == "inline":
                rows[-1].append(token.content)
            elif token.type == "th_open":
                alignments.append(str(token.attrs.get("style", "")).removeprefix("text-align:"))
            index += 1
        header, *body = [tuple(row) for row in rows]
        body = [row + self._surplus(lines[0] + 2 + at, row) for at, row in enumerate(body)]
        self._add(LeafKind.TABLE, lines)
        self._leaves[-1] = replace(
            self._leaves[-1], header=header, alignments=tuple(alignments), rows=tuple(body)
        )
        return index + 1

    def _surplus(self, line: int, row: tuple[str, ...]) -> tuple[str, ...]:
        """Cells of a row beyond the header's, which the parser drops."""
        text = self._source_lines[line].strip("> \t").removeprefix("|")
        cells = escapedSplit(text.removesuffix("|") if not text.endswith("\\|") else text)
        return tuple(cell.strip() for cell in cells[len(row) :])

    def _add(
        self,
        kind: LeafKind,
        lines: tuple[int, int],
        content: str = "",
        *,
        level: int = 0,
    ) -> None:
        self._mark_root(lines[0])
        self._leaves.append(
            Leaf(
                kind=kind,
                containers=tuple(self._path()),
                lines=lines,
                root=self._root,
                content=content,
                level=level,
            )
        )

    def _path(self) -> Iterator[Container]:
        for container in self._open:
            if isinstance(container, Quote):
                yield container
            else:
                yield Item(
                    number=container.number,
                    opens=not container.has_leaf,
                    checked=container.checked,
                )
                container.has_leaf = True
