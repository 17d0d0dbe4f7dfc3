"""Owns how fake Slack shows the Markdown of `markdown` blocks and streams: plain CommonMark with tables and strikes.

Slack's own sequences are read before the Markdown, outside code, and entities are never read again. It is a
parser of its own, not the one that the program renders with, so it is a second opinion on what people see.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

CODE = re.compile(
    r"^(`{3,}|~{3,}).*?(?:^\1[`~]*[ \t]*$|\Z)|(?<!\\)(?<!`)(`+)(?!`).*?(?<!`)\2(?!`)",
    re.DOTALL | re.MULTILINE,
)
_USER = re.compile(r"<@([UW][A-Z0-9]+)>")


class _Reader(MarkdownIt):
    def normalizeLinkText(self, link: str) -> str:  # noqa: N802
        """Addresses are shown as they are written."""
        return link


@cache
def _parser() -> MarkdownIt:
    return _Reader("commonmark", {"html": False, "maxNesting": 200}).enable(
        ["table", "strikethrough"]
    )


def plain_of_markdown(text: str, names: dict[str, str]) -> str:
    """What a person reads: no markup, bullets and numbers of lists, table rows with bars, code as it is.

    A blank line stands where the Markdown has one between two blocks.
    """
    shown, end = "", 0
    for start, stop, line in _lines(_parser().parse(_named(text, names))):
        if not line:
            end = stop
            continue
        shown += ("\n\n" if start > end else "\n") + line if shown else line
        end = stop
    return shown.rstrip("\n")


def code_blocks_of(text: str) -> list[str]:
    """The contents of the code blocks, as people would copy them."""
    return [
        token.content.removesuffix("\n")
        for token in _parser().parse(text)
        if token.type in ("fence", "code_block")
    ]


def without_code(text: str) -> str:
    """The Markdown with its code left out: what Slack looks for sequences in."""
    return CODE.sub("", text)


def _named(text: str, names: dict[str, str]) -> str:
    parts: list[str] = []
    at = 0
    for code in CODE.finditer(text):
        parts += _with_names(text[at : code.start()], names), code[0]
        at = code.end()
    return "".join(parts) + _with_names(text[at:], names)


def _with_names(text: str, names: dict[str, str]) -> str:
    return _USER.sub(lambda user: "@" + names.get(user[1], user[1]), text)


def _lines(tokens: list[Token]) -> Iterator[tuple[int, int, str]]:
    """What is shown, with the lines of the source that it comes from."""
    marker = ""
    row: list[str] | None = None
    numbers: list[int | None] = []
    start, stop = 0, 0
    for token in tokens:
        start, stop = token.map or (start, stop)
        match token.type:
            case "bullet_list_open":
                numbers.append(None)
            case "ordered_list_open":
                numbers.append(int(token.attrs.get("start", 1)))
            case "bullet_list_close" | "ordered_list_close":
                numbers.pop()
            case "list_item_open":
                number = numbers[-1]
                marker = "• " if number is None else f"{number}. "
                numbers[-1] = None if number is None else number + 1
            case "list_item_close" if marker:
                yield start, stop, marker.rstrip()
                marker = ""
            case "tr_open":
                row = []
            case "tr_close":
                yield start, stop, " | ".join(row or [])
                row = None
            case "thead_close":
                # The row of dashes below the header is no blank line.
                yield start, stop + 1, ""
            case "inline" if row is not None:
                row.append(_text(token))
            case "inline":
                yield start, stop, marker + _text(token)
                marker = ""
            case "fence" | "code_block":
                yield start, stop, marker + token.content.removesuffix("\n")
                marker = ""
            case "hr":
                yield start, stop, "---"


def _text(token: Token) -> str:
    breaks = ("softbreak", "hardbreak")
    return "".join("\n" if c.type in breaks else c.content for c in token.children or [])
