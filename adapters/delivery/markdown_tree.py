"""Owns the Markdown tree of one text: its leaves in reading order, each with its containers. Pure.

A leaf is what a reader sees as one block (paragraph, heading, code, formula, table, rule). Quotes
and list items are not nodes of their own: each leaf carries the path of those it stands in, so a
page can begin at any leaf and still know its context. Leaf numbers and positions inside a leaf's
content stay valid when text is appended to the source, except in an unfinished last line.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from markdown_it.token import Token

from adapters.delivery.markdown_parser import may_be_markup, parse_placed


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
    if not may_be_markup(source):
        return (Text(text=source),) if source else ()
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
