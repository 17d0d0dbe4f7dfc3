"""The Markdown texts that every markup must survive, and what a reader sees in Slack."""

import html
import re
from collections.abc import Iterator
from pathlib import Path

from markdown_it import MarkdownIt

CASES = Path(__file__).parents[3] / "recordings" / "markdown"
FILES = sorted(CASES.glob("*/*.md"))
ZERO_WIDTH = dict.fromkeys(map(ord, "\u200b"))


def read(path: Path) -> str:
    """The text as a model could have sent it, lone surrogates included."""
    return path.read_bytes().decode("utf-8", "surrogatepass" if "lone" in path.name else "strict")


def unescaped(text: str) -> str:
    """Slack's three escapes, undone once."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def shown(page: str) -> str:
    """What Slack shows of a page: labels of links, escapes undone; a ticked box as its x."""
    page = re.sub(r"<[^<>|]*\|([^<>]*)>", r"\1", page)
    page = re.sub(r"<([^<>]*)>", r"\1", page)
    return unescaped(page).translate(ZERO_WIDTH).replace("☑", "x")


def code_blocks(page: str) -> list[str]:
    """The contents of a page's code blocks, as Slack's users would copy them."""
    blocks: list[list[str]] = []
    inside = False
    for line in page.split("\n"):
        if line == "```":
            inside = not inside
            if inside:
                blocks.append([])
        elif inside:
            blocks[-1].append(unescaped(line).translate(ZERO_WIDTH))
    return ["\n".join(lines) for lines in blocks]


def letters(text: str) -> str:
    """Letters and digits alone, in order; a box that is ticked by X looks like any other."""
    return "".join(character for character in text.casefold() if character.isalnum())


def is_subsequence(part: str, whole: str) -> bool:
    """Whether all of `part` stands in `whole`, in order."""
    rest: Iterator[str] = iter(whole)
    return all(character in rest for character in part)


_REFERENCE = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def reference_words(markdown: str) -> tuple[str, list[str]]:
    """What a plain CommonMark renderer shows: the text outside tables, and the tables' cells."""
    page = _REFERENCE.render(markdown)
    cells = [_text(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", page, re.DOTALL)]
    outside = re.sub(r"<table>.*?</table>", "", page, flags=re.DOTALL)
    return _text(outside), cells


def _text(markup: str) -> str:
    markup = re.sub(r'<img [^>]*alt="([^"]*)"[^>]*>', r"\1", markup)
    return html.unescape(re.sub(r"<[^>]*>", "", markup))
