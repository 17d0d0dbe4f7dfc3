"""Owns the way from a text to its leaves. Pure."""

from dataclasses import dataclass

from markdown_it.rules_block.table import escapedSplit
from markdown_it.token import Token

from adapters.delivery.markdown_parser import block_tokens
from adapters.delivery.markdown_tree import Container, Item, Leaf, LeafKind, Quote, Root


def parse_blocks(
    source: str, *, first_number: int | None = None, first_line: int = 0, first_leaf: int = 0
) -> tuple[Leaf, ...]:
    """The leaves of a text. `first_number` renumbers an ordered list that begins the text.

    `first_line`, `first_leaf`: how many lines and leaves of a whole text stand before this one.
    """
    builder = _LeafBuilder(source, first_number, first_line=first_line, first_leaf=first_leaf)
    return tuple(builder.build(block_tokens(source)))


@dataclass(slots=True)
class _OpenItem:
    number: int | None
    checked: bool | None = None
    has_leaf: bool = False
    line: int = 0


_QUOTE = Quote()


class _LeafBuilder:
    """Walks block tokens once and yields leaves."""

    def __init__(
        self, source: str, first_number: int | None, *, first_line: int, first_leaf: int
    ) -> None:
        self._source = source
        self._first_number = first_number
        self._first_line = first_line
        self._first_leaf = first_leaf
        self._open: list[_OpenItem | Quote] = []
        self._numbers: list[int | None] = []
        self._root = Root(line=first_line, leaf=first_leaf, number=None)
        self._leaves: list[Leaf] = []

    def build(self, tokens: list[Token]) -> list[Leaf]:
        """Leaves in reading order."""
        for index, token in enumerate(tokens):
            match token.type:
                case "paragraph_open":
                    self._add_text(token, tokens[index + 1].content)
                case "heading_open":
                    self._add_heading(token, tokens[index + 1].content)
                case "blockquote_open" | "list_item_open":
                    self._enter(token)
                case "blockquote_close" | "list_item_close":
                    self._leave()
                case "bullet_list_open":
                    self._numbers.append(None)
                case "ordered_list_open":
                    self._numbers.append(self._first_of_list(token))
                case "bullet_list_close" | "ordered_list_close":
                    self._numbers.pop()
                case "table_open":
                    self._add_table(tokens, index)
                case _:
                    self._add_verbatim(token)
        return self._leaves

    def _first_of_list(self, token: Token) -> int:
        if self._first_number is not None and not self._open and not self._leaves:
            return self._first_number
        return int(token.attrs.get("start", 1))

    def _enter(self, token: Token) -> None:
        line = token.map[0] if token.map else 0
        if token.type == "blockquote_open":
            self._mark_root(line)
            self._open.append(_QUOTE)
            return
        number = self._numbers[-1]
        self._mark_root(line, number)
        self._open.append(_OpenItem(number=number, line=line))
        if number is not None:
            self._numbers[-1] = number + 1

    def _leave(self) -> None:
        container = self._open[-1]
        if isinstance(container, _OpenItem) and not container.has_leaf:
            line = container.line
            self._leaves.append(self._leaf(LeafKind.TEXT, (line, line + 1)))
        self._open.pop()

    def _mark_root(self, line: int, number: int | None = None) -> None:
        if not self._open:
            self._root = Root(
                line=self._first_line + line,
                leaf=self._first_leaf + len(self._leaves),
                number=number,
            )

    def _add_text(self, token: Token, content: str) -> None:
        content = self._take_checkbox(content)
        self._leaves.append(self._leaf(LeafKind.TEXT, _lines_of(token), content))

    def _add_heading(self, token: Token, content: str) -> None:
        level = int(token.tag[1:])
        self._leaves.append(self._leaf(LeafKind.HEADING, _lines_of(token), content, level=level))

    def _add_verbatim(self, token: Token) -> None:
        lines = _lines_of(token)
        match token.type:
            case "fence":
                leaf = self._leaf(
                    LeafKind.CODE,
                    lines,
                    token.content.removesuffix("\n"),
                    language=(token.info.split() or [""])[0],
                    is_fenced=True,
                    is_closed=lines[1] - lines[0] - 1 > _line_count(token.content),
                )
            case "code_block":
                leaf = self._leaf(LeafKind.CODE, lines, token.content.rstrip("\n"))
            case "math_block":
                leaf = self._leaf(LeafKind.MATH, lines, token.content)
            case "hr":
                leaf = self._leaf(LeafKind.RULE, lines)
            case _:
                return
        self._leaves.append(leaf)

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

    def _add_table(self, tokens: list[Token], index: int) -> None:
        lines = _lines_of(tokens[index])
        rows: list[list[str]] = []
        alignments: list[str] = []
        while (token := tokens[index]).type != "table_close":
            if token.type == "tr_open":
                rows.append([])
            elif token.type == "inline":
                rows[-1].append(token.content)
            elif token.type == "th_open":
                alignments.append(str(token.attrs.get("style", "")).removeprefix("text-align:"))
            index += 1
        header, *body = [tuple(row) for row in rows]
        source_lines = self._source.split("\n")[lines[0] + 2 : lines[1]]
        body = [row + _surplus(line, row) for line, row in zip(source_lines, body, strict=False)]
        self._leaves.append(
            self._leaf(
                LeafKind.TABLE,
                lines,
                header=header,
                alignments=tuple(alignments),
                rows=tuple(body),
            )
        )

    def _leaf(
        self,
        kind: LeafKind,
        lines: tuple[int, int],
        content: str = "",
        *,
        level: int = 0,
        language: str = "",
        is_fenced: bool = False,
        is_closed: bool = True,
        header: tuple[str, ...] = (),
        alignments: tuple[str, ...] = (),
        rows: tuple[tuple[str, ...], ...] = (),
    ) -> Leaf:
        self._mark_root(lines[0])
        return Leaf(
            kind=kind,
            containers=self._path(),
            lines=(self._first_line + lines[0], self._first_line + lines[1]),
            root=self._root,
            content=content,
            level=level,
            language=language,
            is_fenced=is_fenced,
            is_closed=is_closed,
            header=header,
            alignments=alignments,
            rows=rows,
        )

    def _path(self) -> tuple[Container, ...]:
        path: list[Container] = []
        for container in self._open:
            if isinstance(container, Quote):
                path.append(container)
                continue
            opens = not container.has_leaf
            path.append(Item(number=container.number, opens=opens, checked=container.checked))
            container.has_leaf = True
        return tuple(path)


def _lines_of(token: Token) -> tuple[int, int]:
    return (token.map[0], token.map[1]) if token.map else (0, 0)


def _line_count(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n") and text != "")


def _surplus(line: str, row: tuple[str, ...]) -> tuple[str, ...]:
    """Cells of a row beyond the header's, which the parser drops."""
    text = line.strip("> \t").removeprefix("|")
    if not text.endswith("\\|"):
        text = text.removesuffix("|")
    if text.count("|") < len(row):
        return ()
    return tuple(cell.strip() for cell in escapedSplit(text)[len(row) :])
