"""Cuts a text into pieces whose layout costs little (pure). No text is lost, whatever it is.

Theory of operation. Some texts make a Markdown parser work in the square of their length, and a
parser holds up everything else in its process. So a text is cut between paragraphs, and what stays
costly after that is shown as it is: a piece without a place to cut, one full of marks that nothing
closes, and whatever is beyond the share of one message. Cuts are found from the beginning on, so
all pieces but the last stay the same while a text grows.
"""

import re
from dataclasses import dataclass
from typing import Final

PIECE_MAX: Final = 20_000
"""Characters that are laid out in one go; under 0.1 s for the worst that `MARKS_MAX` lets pass."""
LAID_OUT_MAX: Final = 60_000
"""Characters of one text that are laid out; longer than what models answer in one go."""
MARKS_MAX: Final = 500
"""Marks that nothing closes in one piece, and marks of any kind in one line."""
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_MARK: Final = re.compile(r"[\[\]!*_`]")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text, to be laid out as Markdown or to be shown as it is."""

    text: str
    is_laid_out: bool


def pieces_of(text: str) -> list[Piece]:
    """The pieces in order. A block of code that was cut begins anew in the next piece."""
    pieces = []
    begin, fence = 0, ""
    while begin < len(text):
        end = _cut(text, begin, fence)
        body = text[begin : end or begin + PIECE_MAX]
        begin += len(body)
        is_laid_out = bool(end) and begin <= LAID_OUT_MAX
        if is_laid_out:
            piece_text = fence + body
            fence, prose = _fence_after(body, fence)
            is_laid_out = not _is_costly(prose)
        pieces.append(Piece(piece_text if is_laid_out else body, is_laid_out))
    return pieces


def _cut(text: str, begin: int, fence: str) -> int:
    """Where the piece ends that begins here; 0: there is no good place."""
    limit = begin + PIECE_MAX
    if len(text) <= limit:
        return len(text)
    paragraph = text.rfind("\n\n", begin, limit)
    if paragraph > begin:
        return paragraph + 2
    line = text.rfind("\n", begin, limit) + 1
    is_in_code = line > begin and bool(_fence_after(text[begin:line], fence)[0])
    return line if is_in_code else 0


def _fence_after(body: str, fence: str) -> tuple[str, list[str]]:
    """The line that opens the block of code in which the body ends, and all lines of prose."""
    prose = []
    for line in body.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            if mark and _closes(mark, fence):
                fence = ""
        elif mark and not (mark[1][0] == "`" and "`" in mark[2]):
            fence = line + "\n"
        else:
            prose.append(line)
    return fence, prose


def _closes(mark: re.Match[str], opened: str) -> bool:
    own = _FENCE.match(opened)
    return own is not None and mark[1].startswith(own[1]) and not mark[2].strip()


def _is_costly(prose: list[str]) -> bool:
    unclosed = 0
    for line in prose:
        marks = _MARK.findall(line)
        if len(marks) > MARKS_MAX:
            return True
        unclosed += abs(marks.count("[") - marks.count("]"))
        unclosed += sum(marks.count(mark) % 2 for mark in "*_`")
    return unclosed > MARKS_MAX
