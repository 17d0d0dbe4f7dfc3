"""Owns a line of Slack's mrkdwn: escapes, styles that Slack will show, links that say where they go.

Pure. Nothing that a model wrote can become a control sequence: `&`, `<` and `>` of its text are
escaped exactly once, and the only angle brackets that stay are of links and granted mentions.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from adapters.delivery.markdown_tree import (
    Code,
    Inline,
    Link,
    Math,
    Mention,
    Styled,
    Text,
)
from adapters.slack.markup_links import shown_link, without_bidi

ZERO_WIDTH_SPACE = "\u200b"
_MARKERS = {"strong": "*", "em": "_", "s": "~"}
# Slack ends an address at a bar and knows no escape for one in a label.
LABEL_BAR = "\u2223"
"""What stands for a bar in a link's label; it looks the same."""


def escape(text: str) -> str:
    """Text that Slack shows as it is, whatever it holds."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def break_fences(text: str) -> str:
    """Text with no three backticks in a row, which would open or close a code block."""
    if "```" not in text:
        return text
    return re.sub("`{3,}", lambda run: _pairs_of_ticks(len(run[0])), text)


def _pairs_of_ticks(count: int) -> str:
    return ZERO_WIDTH_SPACE.join(["``"] * (count // 2) + ["`"] * (count % 2))


@dataclass(frozen=True, slots=True)
class _Run:
    """Escaped text under one set of markers. Literal runs may hold characters that Slack styles."""

    text: str
    styles: tuple[str, ...]
    is_literal: bool = False
    is_code: bool = False


class InlineWriter:
    """Writes inline trees as mrkdwn. `mentions` maps lower-case names to user ids."""

    def __init__(self, mentions: Mapping[str, str]) -> None:
        self._mentions = mentions

    def lines(self, nodes: Sequence[Inline], styles: tuple[str, ...] = ()) -> list[str]:
        """The text, line by line; no style crosses a line, since Slack would not show it."""
        if len(nodes) == 1 and isinstance(node := nodes[0], Text) and not styles:
            text = escape(without_bidi(node.text))
            return [_write_plain_line(line) for line in text.split("\n")]
        lines: list[list[_Run]] = [[]]
        for run in self._runs(nodes, styles):
            if "\n" not in run.text:
                lines[-1].append(run)
                continue
            first, *others = run.text.split("\n")
            lines[-1].append(replace(run, text=first))
            lines.extend([replace(run, text=part)] for part in others)
        return [_write_line(line) for line in lines]

    def _runs(self, nodes: Sequence[Inline], styles: tuple[str, ...]) -> Iterator[_Run]:
        for node in nodes:
            match node:
                case Text(text=text):
                    yield _literal(without_bidi(text), styles)
                case Math(text=text):
                    yield _literal(text, styles)
                case Code(text=text):
                    yield _code(text, styles)
                case Mention(name=name):
                    yield _Run(f"<@{self._mentions[name]}>", styles)
                case Link():
                    yield from _link(node, styles)
                case Styled(style=style, children=children):
                    marker = _MARKERS[style]
                    inner = styles if marker in styles else (*styles, marker)
                    yield from self._runs(children, inner)


def _literal(text: str, styles: tuple[str, ...]) -> _Run:
    return _Run(escape(text), styles, is_literal=True)


def _code(text: str, styles: tuple[str, ...]) -> _Run:
    # Slack has one code delimiter and no escape for it.
    if "`" in text or not text.strip():
        return _literal(text, styles)
    return _Run(f"`{escape(text)}`", styles, is_code=True)


def _link(link: Link, styles: tuple[str, ...]) -> Iterator[_Run]:
    for part in shown_link(link):
        target = escape(part.target)
        if not target:
            yield _literal(part.text, styles)
        elif part.text:
            label = escape(part.text).replace("|", LABEL_BAR)
            yield _Run(f"<{target}|{label}>", styles)
        else:
            yield _Run(f"<{target}>", styles)


# Lines.


def _write_plain_line(text: str) -> str:
    """A line without styles, as `_write_line` writes it."""
    return _finished(_break_markers(text, set()).rstrip())


def _finished(line: str) -> str:
    line = break_fences(line)
    # Slack takes an escaped > at the start of a line for a quote, too.
    return ZERO_WIDTH_SPACE + line if line.startswith("&gt;") else line


def _write_line(runs: list[_Run]) -> str:
    used = {style for run in runs for style in run.styles}
    line = _Line()
    for run in runs:
        text = _break_markers(run.text, used) if run.is_literal else run.text
        line.add(text, run.styles, is_code=run.is_code)
    return line.finish()


class _Line:
    """Sets style markers where Slack will see them: beside text, and with an edge outside."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._open: tuple[str, ...] = ()
        self._blank = ""
        self._last = "open"  # what was written last: open, close, text
        self._last_character = ""

    def add(self, text: str, styles: tuple[str, ...], *, is_code: bool) -> None:
        core = text.strip()
        if not core:
            self._blank += text
            return
        lead = text[: len(text) - len(text.lstrip())]
        self._blank += lead
        kept = _common(self._open, styles)
        self._close(len(kept))
        if self._blank:
            self._write(self._blank, "text")
            self._blank = ""
        for marker in styles[len(kept) :]:
            self._open_marker(marker)
        if self._needs_edge(core[0], is_code=is_code):
            self._parts.append(ZERO_WIDTH_SPACE)
        self._write(core, "code" if is_code else "text")
        self._blank = text[len(lead) + len(core) :]

    def finish(self) -> str:
        self._close(0)
        return _finished("".join(self._parts))

    def _close(self, keep: int) -> None:
        for marker in reversed(self._open[keep:]):
            self._write(marker, "close")
        self._open = self._open[:keep]

    def _open_marker(self, marker: str) -> None:
        if self._last == "close" or (self._last != "open" and not _is_edge(self._last_character)):
            self._parts.append(ZERO_WIDTH_SPACE)
        self._write(marker, "open")
        self._open = (*self._open, marker)

    def _needs_edge(self, character: str, *, is_code: bool) -> bool:
        if self._last == "close":
            return not _is_edge(character) or is_code
        if is_code:
            return self._last == "code" or (
                self._last == "text" and not _is_edge(self._last_character)
            )
        return self._last == "code" and not _is_edge(character)

    def _write(self, text: str, kind: str) -> None:
        self._parts.append(text)
        self._last = kind
        self._last_character = text[-1]


def _common(left: tuple[str, ...], right: tuple[str, ...]) -> tuple[str, ...]:
    count = 0
    while count < min(len(left), len(right)) and left[count] == right[count]:
        count += 1
    return left[:count]


def _is_edge(character: str) -> bool:
    """Whether Slack takes the character for the edge of a word; other scripts' signs are not."""
    if character in "_*~`":
        return False
    return character.isspace() or (character.isascii() and not character.isalnum())


def _break_markers(text: str, used: set[str]) -> str:
    """Put a zero-width space behind each literal marker that Slack would read as a style."""
    if "*" not in text and "_" not in text and "~" not in text:
        return text
    last_closer = {marker: _last_closer(text, marker) for marker in "*_~"}
    parts: list[str] = []
    start = 0
    for match in re.finditer(r"(?<![^\W_])([*_~])(?=[^\s])(?!\1)", text):
        marker = match[1]
        if last_closer[marker] > match.start() + 1 or marker in used:
            parts += text[start : match.end()], ZERO_WIDTH_SPACE
            start = match.end()
    return "".join(parts) + text[start:] if parts else text


def _last_closer(text: str, marker: str) -> int:
    at = len(text)
    while (at := text.rfind(marker, 0, at)) > 0:
        if not text[at - 1].isspace() and not text[at + 1 : at + 2].isalnum():
            return at
    return -1
