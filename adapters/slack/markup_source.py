"""Owns inline Markdown as Slack's `markdown` blocks and streams take it: as it was written, made harmless. Pure.

Slack reads its own `<...>` sequences in such Markdown, so every angle bracket that a model wrote becomes an
entity, which Slack shows and never reads again [seen: PostHog/posthog#95054]. Code must keep its bytes; in it
only a whole sequence that would address people is broken, by a zero-width space. Granted mentions stay bare,
the only form that notifies. What our dialect shows literally is escaped, so that Slack's does as well.
"""

import re
import unicodedata
from collections.abc import Mapping

from adapters.delivery.markdown_parser import (
    Atom,
    Marker,
    may_be_markup,
    parse_placed,
)
from adapters.delivery.markdown_tree import Link, parse_inline, plain
from adapters.slack.markup_inline import ZERO_WIDTH_SPACE
from adapters.slack.markup_links import shown_link, without_bidi

_LIVE = re.compile(
    r"<(?=!(?:here|channel|everyone|group)\b|!(?:subteam|date)\^|@[UW][A-Z0-9]|#[CG][A-Z0-9])",
    re.IGNORECASE,
)
_SPECIAL = re.compile(r"[\\`*_~\[\]]")
_ENTITY = re.compile(r"&(?=#?\w*;?\Z|#?\w+;)")
_ESCAPED = {"\n": "\n", "<": "&lt;", ">": "&gt;", "&": "&amp;"}
_PARENTHESES = str.maketrans({"(": "%28", ")": "%29"})
# A definition of an address for labels elsewhere would not be shown.
_DEFINITION = re.compile(r"\[(?=[^\[\]\n]*\]:)")
_ORDINAL = re.compile(r"(\d{1,9})([.)])(?=\s|$)")
_BLOCK_START = re.compile(r"(?:[-+*]|#{1,6})(?=\s|$)|[-=]+\s*$|[|>]|`{3}|~{3}")


def harmless_code(text: str) -> str:
    """Code in which nothing can address anybody."""
    return _LIVE.sub("<" + ZERO_WIDTH_SPACE, text) if "<" in text else text


def literal(text: str) -> str:
    """Text that is shown as it is, whatever it holds."""
    text = _ENTITY.sub("&amp;", without_bidi(text)) if "&" in text else without_bidi(text)
    return _entities(_SPECIAL.sub(r"\\\g<0>", text))


def of_no_block(line: str) -> str:
    """A line of a paragraph that begins no other block."""
    if ordinal := _ORDINAL.match(line):
        return f"{ordinal[1]}\\{line[ordinal.end(1) :]}"
    return "\\" + line if _BLOCK_START.match(line) else line


def _entities(text: str) -> str:
    return text.replace("<", "&lt;").replace(">", "&gt;")


def _plain(text: str) -> str:
    """Text between constructs, in which only lone signs could mean something elsewhere."""
    text = _entities(without_bidi(text))
    if "~" in text or "*" in text or "_" in text:
        text = re.sub(r"[~*_]", r"\\\g<0>", text)
    return _DEFINITION.sub(r"\\[", text) if "]:" in text else text


class SourceWriter:
    """Writes inline Markdown of our dialect as Slack's. `mentions` maps lower-case names to user ids."""

    def __init__(self, mentions: Mapping[str, str], names: tuple[str, ...]) -> None:
        self._mentions = mentions
        self._names = names

    def write(self, source: str) -> str:
        """The text; its line breaks are plain ones."""
        if not may_be_markup(source):
            return _plain(source)
        parse = parse_placed(source, self._names)
        markers = {marker.start: marker for marker in parse.markers}
        parts: list[str] = []
        at = 0
        for atom in parse.atoms:
            if atom.start >= at:
                parts += _plain(source[at : atom.start]), self._atom(source, atom, markers)
                at = atom.end
        return "".join(parts) + _plain(source[at:])

    def _atom(self, source: str, atom: Atom, markers: Mapping[int, Marker]) -> str:
        text = source[atom.start : atom.end]
        match atom.rule:
            case "emphasis" | "strikethrough":
                return _run(source, atom, markers)
            case "backticks":
                return _code(text)
            case "mention":
                return f"<@{self._mentions[text.lower()]}>"
            case "link" | "autolink" | "url":
                return _link(text, self._names)
            case _:
                return _sign(text, atom.rule)


def _sign(text: str, rule: str) -> str:
    """What stands for a sign, or for itself."""
    match rule:
        case "newline" | "line_break":
            return "\n"
        case "escape":
            return _ESCAPED.get(text[1:2], text)
        case "entity":
            return literal(plain(parse_inline(text)))
        case _:
            return literal(text)


def _run(source: str, atom: Atom, markers: Mapping[int, Marker]) -> str:
    """A run of emphasis markers: those that mean something as they are, the others escaped."""
    parts: list[str] = []
    at, opens, closes = atom.start, False, False
    while at < atom.end:
        marker = markers.get(at)
        if marker is None or marker.partner < 0:
            parts.append("\\" + source[at])
            at += 1
            continue
        opens, closes = opens or marker.partner > at, closes or marker.partner < at
        parts.append(_shown_marker(source, marker))
        at += len(marker.text)
    before, after = source[atom.start - 1 : atom.start], source[atom.end : atom.end + 1]
    # CommonMark sees no emphasis between a letter and a sign; a zero-width space counts as a letter.
    lead = ZERO_WIDTH_SPACE if closes and _is_sign(before) and _is_letter(after) else ""
    tail = ZERO_WIDTH_SPACE if opens and _is_sign(after) and _is_letter(before) else ""
    return lead + "".join(parts) + tail


def _shown_marker(source: str, marker: Marker) -> str:
    """An underscore that stands at a letter is emphasis to us alone, so it becomes a star."""
    if marker.text != "_":
        return marker.text
    first, last = sorted((marker.start, marker.partner))
    outside = source[first - 1 : first] + source[last + 1 : last + 2]
    return "*" if any(_is_letter(sign) for sign in outside) else "_"


def _is_letter(sign: str) -> bool:
    return sign.isalnum()


def _is_sign(sign: str) -> bool:
    return sign != "" and unicodedata.category(sign)[0] in "PS"


def _code(span: str) -> str:
    if not span.strip("`"):
        return literal(span)
    return harmless_code(span.replace("\n", " "))


def _link(source: str, names: tuple[str, ...]) -> str:
    parts: list[str] = []
    for node in parse_inline(source, names):
        if not isinstance(node, Link):
            continue
        for part in shown_link(node):
            if not part.target:
                parts.append(literal(part.text))
            elif part.text:
                parts.append(f"[{literal(part.text)}]({part.target.translate(_PARENTHESES)})")
            else:
                parts.append(f"<{part.target}>")
    return "".join(parts)
