"""The passage for which a chat was found (pure): a window of a text, trimmed to words, matches apart."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

SNIPPET_MAX: Final = 200
"""Characters of a passage, about."""
BEFORE_MAX: Final = 60
"""Characters ahead of the first match."""
ELLIPSIS: Final = "\u2026"
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class SnippetPiece:
    """A piece of a passage; plain text. `is_match`: it is one of the words that were looked for."""

    text: str
    is_match: bool


def words_of(search: str) -> tuple[str, ...]:
    """The words of a search, in small letters, each once. Not those that are searched against."""
    wanted = re.sub(r'(?:^|(?<=\s))-("[^"]*"|\S+)', " ", search)
    return tuple(dict.fromkeys(word.lower() for word in _WORD.findall(wanted)))


def snippet_of(
    text: str, words: Iterable[str], *, is_begun: bool = True, is_ended: bool = True
) -> tuple[SnippetPiece, ...]:
    """The best passage of a text. `is_begun`, `is_ended`: the text is not cut there already."""
    wanted = frozenset(words)
    matches = [match for match in _WORD.finditer(text) if match.group().lower() in wanted]
    begin = _begin_of(text, matches, is_begun=is_begun)
    end = _end_of(text, begin, is_ended=is_ended)
    pieces = [SnippetPiece(ELLIPSIS, is_match=False)] if begin > 0 or not is_begun else []
    at = begin
    for match in matches:
        if match.end() > end:
            break
        if match.start() > at:
            pieces.append(SnippetPiece(text[at : match.start()], is_match=False))
        pieces.append(SnippetPiece(match.group(), is_match=True))
        at = match.end()
    if at < end:
        pieces.append(SnippetPiece(text[at:end], is_match=False))
    if end < len(text) or not is_ended:
        pieces.append(SnippetPiece(ELLIPSIS, is_match=False))
    return tuple(pieces)


def _begin_of(text: str, matches: Sequence[re.Match[str]], *, is_begun: bool) -> int:
    first = matches[0].start() if matches else 0
    begin = max(0, first - BEFORE_MAX)
    if begin == 0 and is_begun:
        return 0
    # The first word may be half a word.
    gap = re.compile(r"\s+").search(text, begin, first)
    return gap.end() if gap else begin


def _end_of(text: str, begin: int, *, is_ended: bool) -> int:
    end = min(len(text), begin + SNIPPET_MAX)
    if end == len(text) and is_ended:
        return end
    # A passage that would lose half of itself is rather cut within a word.
    least = begin + SNIPPET_MAX // 2
    cut = max(text.rfind(" ", least, end), text.rfind("\n", least, end))
    return end if cut < 0 else cut
