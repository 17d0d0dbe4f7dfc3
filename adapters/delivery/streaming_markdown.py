"""Owns what of an unfinished Markdown text may be shown now: no half construct, nothing left open.

Pure. What might still become something else is held back (half a link, a table's header before its
second row, an entity, an address, markers at the very end); what is surely open is closed (a fence,
a code span, emphasis). Holding back is bounded, so a text that never finishes its bracket is shown.
"""

import re
from collections.abc import Sequence

from adapters.delivery.growing_tree import GrowingTree
from adapters.delivery.markdown_parser import Atom, Marker, parse_placed
from adapters.delivery.markdown_tree import Leaf, LeafKind
from adapters.delivery.plain_text import clean, line_start

_LABEL_MAX = 300
_ADDRESS_MAX = 8_000
_HEADER_MAX = 1_000
_EMPHASIS_MAX = 1_000
_OPEN_MAX = 6
"""More markers than this are no emphasis that anybody meant."""

_HALF_MARKER = re.compile(r"[ \t>]*(?:[-=*_+`~|:#>. \t{[]{1,20}|\d{1,9}[.)]?[ \t]*)")
_HALF_ENTITY = re.compile(r"&(?:#[xX]?[0-9a-fA-F]{0,7}|[A-Za-z][A-Za-z0-9]{0,30})?$")
_HALF_SCHEME = re.compile(r"(?i)\bhttps?(?::/{0,2})?$")
_HALF_ANGLE = re.compile(r"<(?=[A-Za-z!@#/])[^\s<>]{0,2000}$")
_DELIMITER_ROW = re.compile(r"[ \t>]*[|:-][|:\- \t]*")


def safe_prefix(text: str) -> str:
    """The Markdown to show while `text` still grows: its sure part, with what is open closed."""
    return safe_part(clean(text, final=False), GrowingTree())


def safe_part(text: str, tree: GrowingTree) -> str:
    """The same of a clean text; `tree` remembers what it parsed of the text before."""
    length, closers = _settle(text, tree)
    return text[:length] + closers


def safe_length(text: str, tree: GrowingTree | None = None) -> int:
    """How much of a clean text may be sent where nothing can be taken back, as in an append-only
    stream: all that `safe_prefix` shows, without what it adds."""
    return _settle(text, tree or GrowingTree())[0]


def _settle(text: str, tree: GrowingTree, *, may_be_header: bool = True) -> tuple[int, str]:
    """How many characters to show, and what to put behind them."""
    line = text.rfind("\n") + 1
    if line < len(text) and _HALF_MARKER.fullmatch(text, line):
        return _settle(text[:line], tree)
    leaves = tree.leaves_of(text)
    if not leaves or not _is_growing(text, leaf := leaves[-1]):
        return len(text), ""
    if may_be_header and (start := _header_start(text, leaf)) is not None:
        return _settle(text[:start], tree, may_be_header=False)
    return _settle_leaf(text, leaf)


def _settle_leaf(text: str, leaf: Leaf) -> tuple[int, str]:
    match leaf.kind:
        case LeafKind.TEXT | LeafKind.HEADING:
            return _settle_inline(text, leaf.content)
        case LeafKind.CODE if leaf.is_fenced:
            return _settle_fence(text, leaf)
        case LeafKind.TABLE:
            # A half row would jump from cell to cell.
            return text.rfind("\n") + 1, ""
        case _:
            return len(text), ""


def _is_growing(text: str, leaf: Leaf) -> bool:
    """Whether the next characters would still belong to the last leaf."""
    if leaf.is_fenced:
        return not leaf.is_closed
    last_line = text.count("\n", 0, len(text.rstrip("\n")))
    return last_line < leaf.lines[1] and not text.endswith("\n\n")


def _settle_fence(text: str, leaf: Leaf) -> tuple[int, str]:
    start = line_start(text, leaf.lines[0])
    opener = text[start:].partition("\n")[0]
    marks = re.search(r"`{3,}|~{3,}", opener)
    if marks is None:
        return len(text), ""
    line = text.rfind("\n") + 1
    last = text[line:].strip(" \t>")
    kept = line if line > start and last and not last.strip(marks[0][0]) else len(text)
    # A fence inside a quote or a list is closed inside it.
    indent = re.sub(r"[^>\s]", " ", opener[: marks.start()])
    break_line = "" if text.endswith("\n", 0, kept) else "\n"
    return kept, f"{break_line}{indent}{marks[0]}\n"


def _header_start(text: str, leaf: Leaf) -> int | None:
    """Where a line begins that the next one may turn into a table's header."""
    if leaf.kind is not LeafKind.TEXT:
        return None
    end = len(text.rstrip("\n"))
    last = text.rfind("\n", 0, end) + 1
    if _DELIMITER_ROW.fullmatch(text, last, end):
        end = max(last - 1, 0)
        last = text.rfind("\n", 0, end) + 1
    header = text[last:end].lstrip(" \t>")
    if len(header) > _HEADER_MAX or not (header.startswith("|") or " | " in header):
        return None
    return last


def _settle_inline(text: str, content: str) -> tuple[int, str]:
    is_growing = not text[-1].isspace()
    shown = _sure_length(content, is_growing=is_growing)
    held = len(content) - shown
    end = len(text.rstrip())
    if held and not text.endswith(content[shown:], 0, end):
        # The held part crosses lines with container marks between; hold its last line.
        held = min(held, end - text.rfind("\n", 0, end) - 1)
    sure = content[:shown].rstrip()
    closers = _closers(sure)
    kept = len(text[: end - held].rstrip()) if held or closers else len(text)
    return kept, closers


def _sure_length(content: str, *, is_growing: bool) -> int:
    """How much of a paragraph cannot be the first half of something."""
    end = len(content.rstrip("*_~`"))
    backslashes = len(content[:end]) - len(content[:end].rstrip("\\"))
    end -= backslashes % 2
    parse = parse_placed(content[:end])
    starts = [end, *_half_link(content[:end], parse.atoms)]
    starts += _half_math(content[:end], parse.atoms)
    if is_growing:
        window = content[max(end - 2048, 0) : end]
        for pattern in (_HALF_ENTITY, _HALF_SCHEME, _HALF_ANGLE):
            if match := pattern.search(window):
                starts.append(end - len(window) + match.start())
        last = parse.atoms[-1] if parse.atoms else None
        if last and last.rule == "url" and len(content) - last.end < 4:
            starts.append(last.start if end - last.start <= _ADDRESS_MAX else end)
    return min(starts)


def _half_link(content: str, atoms: Sequence[Atom]) -> list[int]:
    """Where brackets stand that may still become a link."""
    masked = _masked(content, atoms)
    open_at: list[int] = []
    starts: list[int] = []
    for match in re.finditer(r"[\[\]]", masked):
        at = match.start()
        if match[0] == "[":
            open_at.append(at)
        elif open_at:
            start = open_at.pop()
            if _is_half_target(content[at + 1 : at + 2 + _ADDRESS_MAX]):
                starts.append(start)
    near = [at for at in open_at if len(content) - at <= _LABEL_MAX]
    starts += near[:1]
    return [at - (content[at - 1 : at] == "!") for at in starts]


def _is_half_target(after: str) -> bool:
    """Whether what stands behind a label is empty or begins a link's target without its end."""
    if not after:
        return True
    if after[0] != "(" or len(after) > _ADDRESS_MAX:
        return False
    address, _, title = after[1:].strip().partition(" ")
    if ")" in address and address.count("(") < address.count(")"):
        return False
    return not title or (title.lstrip()[0] in "\"'(" and ")" not in title)


def _half_math(content: str, atoms: Sequence[Atom]) -> list[int]:
    for atom in reversed(atoms):
        if len(content) - atom.start > _LABEL_MAX:
            break
        if atom.rule == "escape" and content[atom.start : atom.end] in ("\\(", "\\["):
            return [atom.start]
    dollars = _masked(content, atoms).rfind("$$")
    return [dollars] if dollars >= 0 and len(content) - dollars <= _LABEL_MAX else []


def _masked(content: str, atoms: Sequence[Atom]) -> str:
    """The text with every construct blotted out, so that only literal characters are found."""
    parts: list[str] = []
    at = 0
    for atom in atoms:
        if atom.start >= at:
            parts += content[at : atom.start], "\0" * (atom.end - atom.start)
            at = atom.end
    return "".join(parts) + content[at:]


def _closers(content: str) -> str:
    """What closes the code span and the emphasis that are open at the end of a paragraph."""
    parse = parse_placed(content)
    line = content.rfind("\n") + 1
    code = ""
    end = len(content)
    for atom in parse.atoms:
        run = content[atom.start : atom.end]
        if atom.rule == "backticks" and atom.start >= line and not run.strip("`"):
            code, end = run, atom.start
            break
    opened = [
        marker
        for marker in parse.markers
        if marker.start < end and marker.partner < 0 and _is_opener(content, marker)
    ]
    near = [marker for marker in opened if len(content) - marker.start <= _EMPHASIS_MAX]
    if len(near) > _OPEN_MAX:
        near = []
    return code + "".join(marker.text for marker in reversed(near))


def _is_opener(content: str, marker: Marker) -> bool:
    """An open marker that means emphasis: a lone * inside a word is a product."""
    if not marker.can_open:
        return False
    is_double = content[marker.start : marker.start + 2] == "**" or (
        marker.start > 0 and content[marker.start - 1 : marker.start + 1] == "**"
    )
    return is_double or not content[marker.start - 1 : marker.start].isalnum()
