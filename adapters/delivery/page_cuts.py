"""Owns where a leaf may be cut: between rows, lines, sentences, words; last, between graphemes. Pure.

A cut never falls into a construct (link, mention, code span, entity, formula) that fits a page, nor
into a grapheme cluster. Emphasis that a cut falls into is closed before it and opened after it.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from adapters.delivery.markdown_parser import Atom, InlineParse, Marker, parse_placed
from adapters.delivery.markdown_tree import LeafKind
from adapters.delivery.page_pieces import Piece, Position, Renderer, record_text
from adapters.delivery.plain_text import boundary_before, is_boundary

# A better kind of cut is taken when it leaves at least this share of the room filled.
_FILL_MIN = 0.5
_SENTENCE_ENDS = frozenset(".!?…:;。！？؟।")  # noqa: RUF001
_CLAUSE_ENDS = frozenset("、，。！？；：）」』】》…,;")  # noqa: RUF001


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """The part of a leaf before a cut, and where the rest begins."""

    piece: Piece
    rest: Position


def cut(piece: Piece, position: Position, room: int, render: Renderer) -> Cut | None:
    """The largest good part of `piece` that renders to at most `room`; None when nothing does.

    `piece` is all that is left of its leaf from `position` and does not fit as a whole.
    """
    if room <= 0:
        return None
    match piece.leaf.kind:
        case LeafKind.TEXT | LeafKind.HEADING:
            return _TextCutter(piece, position, room, render).cut()
        case LeafKind.CODE | LeafKind.MATH:
            return _cut_lines(piece, position, room, render)
        case LeafKind.TABLE:
            return _cut_rows(piece, position, room, render)
        case LeafKind.RULE:
            return None


def _largest(high: int, room: int, size_of: Callable[[int], int], *, slack: int = 0) -> int:
    """The largest number below `high` whose size fits the room, or one that leaves `slack` of it.

    0 fits, `high` does not. Sizes are about linear, so the place is guessed from those known.
    """
    low, low_size, high_size = 0, 0, size_of(high)
    trial = 0
    while high - low > 1 and room - low_size > slack:
        trial += 1
        span = max(high_size - low_size, 1)
        guess = low + (high - low) * (room - slack // 2 - low_size) // span
        probe = (low + high) // 2 if trial % 4 == 0 else min(max(guess, low + 1), high - 1)
        size = size_of(probe)
        if size <= room:
            low, low_size = probe, size
        else:
            high, high_size = probe, size
    return low


def _cut_rows(piece: Piece, position: Position, room: int, render: Renderer) -> Cut | None:
    rows = piece.rows

    def size_of(count: int) -> int:
        return render.size(render.render(replace(piece, rows=rows[:count])))

    if not position.within and len(rows) > 1:
        count = _largest(len(rows), room, size_of)
        if count:
            part = replace(piece, rows=rows[:count])
            return Cut(piece=part, rest=Position(at=position.at + count))
    return _cut_record(piece, position, room, render)


def record_piece(piece: Piece, position: Position) -> Piece:
    """The first row left of a table, from inside it, as a code block of its own."""
    text = record_text(piece.leaf.header, piece.rows[:1])[position.within :]
    leaf = replace(piece.leaf, kind=LeafKind.CODE, header=(), rows=(), content=text)
    return Piece(leaf=leaf, text=text, resumed=piece.resumed)


def _cut_record(piece: Piece, position: Position, room: int, render: Renderer) -> Cut | None:
    """One row alone is larger than the room: write it out and cut that by lines."""
    record = record_piece(piece, position)
    if render.size(render.render(record)) <= room:
        return Cut(piece=record, rest=Position(at=position.at + 1))
    found = _cut_lines(record, Position(), room, render)
    if found is None:
        return None
    rest = Position(at=position.at, within=position.within + found.rest.at)
    return Cut(piece=found.piece, rest=rest)


def _cut_lines(piece: Piece, position: Position, room: int, render: Renderer) -> Cut | None:
    text = piece.text

    def size_of(end: int) -> int:
        return render.size(render.render(replace(piece, text=text[:end])))

    end = _largest(len(text), room, size_of)
    if end == 0:
        return None
    line = text.rfind("\n", 0, end + 1)
    if line <= 0 or (line < end * _FILL_MIN and "\n" not in text[end:]):
        end = boundary_before(text, end) or end
        return Cut(piece=replace(piece, text=text[:end]), rest=Position(at=position.at + end))
    gap = text.rfind("\n\n", 0, line + 1)
    if gap > line * 0.7:
        line = gap + 1
    return Cut(piece=replace(piece, text=text[:line]), rest=Position(at=position.at + line + 1))


class _TextCutter:
    """Cuts inline Markdown."""

    def __init__(self, piece: Piece, position: Position, room: int, render: Renderer) -> None:
        self._piece = piece
        self._text = piece.text
        self._base = position.at
        # The reopened markers are not part of the leaf's content.
        reopened = len(piece.text) - len(piece.leaf.content[position.at :])
        self._reopened = reopened
        self._room = room
        self._render = render
        parse = parse_placed(self._text, render.names)
        pairs = [m for m in parse.markers if m.partner > m.start]
        self._pairs = sorted([*pairs, *_code_pairs(self._text, parse.atoms)], key=_start)
        self._hard_breaks = {atom.start for atom in parse.atoms if _is_hard_break(self._text, atom)}
        self._atoms = _merged(self._text, parse)
        self._atom_starts = [atom.start for atom in self._atoms]

    def cut(self) -> Cut | None:
        text = self._text
        # Each trial is a parse, and a cut at a word's end comes of it either way.
        end = _largest(len(text), self._room, self._size_of, slack=self._room // 64)
        if end <= self._reopened:
            return None
        for candidate in self._candidates(end):
            # Closing markers may have cost the last few characters of the room.
            if candidate > self._reopened and self._size_of(candidate) <= self._room:
                return self._cut_at(candidate)
        hard = boundary_before(text, end)
        return self._cut_at(hard if hard > self._reopened else end)

    def _size_of(self, end: int) -> int:
        return self._render.size(self._render.render(replace(self._piece, text=self._head(end))))

    def _head(self, end: int) -> str:
        head = self._text[:end].rstrip()
        return head + "".join(marker.text for marker in reversed(self._open_at(end)))

    def _open_at(self, end: int) -> list[Marker]:
        return [m for m in self._pairs if m.start < end <= m.partner]

    def _candidates(self, end: int) -> Iterator[int]:
        """Valid cuts at or before `end`, the best kind first."""
        text = self._text
        least = int(self._reopened + (end - self._reopened) * _FILL_MIN)
        breaks = (at for at in range(end, least, -1) if self._is_blank_at(at))
        valid = [at for at in breaks if self._is_valid(at)]
        yield from self._first(at for at in valid if self._is_line_end(at))
        yield from self._first(at for at in valid if _ends_sentence(text, at))
        yield from self._first(iter(valid))
        clauses = (at for at in range(end, least, -1) if text[at - 1] in _CLAUSE_ENDS)
        yield from self._first(at for at in clauses if self._is_valid(at))
        anywhere = (at for at in range(end, self._reopened, -1) if self._is_valid(at))
        for _, at in zip(range(8), anywhere, strict=False):
            yield at

    @staticmethod
    def _first(cuts: Iterator[int]) -> Iterator[int]:
        for at in cuts:
            yield at
            return

    def _is_blank_at(self, at: int) -> bool:
        return at >= len(self._text) or at in self._hard_breaks or self._is_gap(at)

    def _is_gap(self, at: int) -> bool:
        """White space that can be left out; one that carries a mark cannot."""
        return self._text[at].isspace() and is_boundary(self._text, at + 1)

    def _is_line_end(self, at: int) -> bool:
        return self._text[at : at + 1] == "\n" or at in self._hard_breaks

    def _is_valid(self, at: int) -> bool:
        index = bisect_right(self._atom_starts, at) - 1
        if index >= 0 and self._atoms[index].start < at < self._atoms[index].end:
            return False
        return is_boundary(self._text, at)

    def _cut_at(self, end: int) -> Cut:
        text = self._text
        rest = end + 1 if end in self._hard_breaks else end
        while rest < len(text) and self._is_gap(rest):
            rest += 1
        reopen = "".join(m.text for m in self._pairs if m.start < end <= m.partner)
        return Cut(
            piece=replace(self._piece, text=self._head(end)),
            rest=Position(at=self._base + rest - self._reopened, reopen=reopen),
        )


def _ends_sentence(text: str, at: int) -> bool:
    return text[at - 1 : at] in _SENTENCE_ENDS


def _start(marker: Marker) -> int:
    return marker.start


def _is_hard_break(text: str, atom: Atom) -> bool:
    return atom.rule == "escape" and text.startswith("\\\n", atom.start)


def _code_pairs(text: str, atoms: Sequence[Atom]) -> Iterator[Marker]:
    """Code spans as pairs of their backticks, for a span that is larger than a page."""
    for atom in atoms:
        span = text[atom.start : atom.end]
        ticks = len(span) - len(span.lstrip("`"))
        if atom.rule == "backticks" and ticks < len(span):
            yield Marker(
                start=atom.start + ticks,
                text="`" * ticks,
                partner=atom.end - ticks,
                can_open=True,
                can_close=False,
            )


def _merged(text: str, parse: InlineParse) -> list[Atom]:
    """Uncuttable ranges in order, none touching another's inside.

    An emphasis marker holds on to its inner neighbour, so that no cut leaves an empty pair; a
    backslash that breaks the line, to what follows it.
    """
    ranges = [
        (atom.start, atom.end + _is_hard_break(text, atom))
        for atom in parse.atoms
        if atom.rule != "newline"
    ]
    for marker in parse.markers:
        end = marker.start + len(marker.text)
        if marker.partner > marker.start:
            ranges.append((marker.start, end + 1))
        elif marker.partner >= 0:
            ranges.append((marker.start - 1, end))
    merged: list[Atom] = []
    for start, end in sorted(ranges):
        if merged and start < merged[-1].end:
            merged[-1] = replace(merged[-1], end=max(end, merged[-1].end))
        else:
            merged.append(Atom(start=start, end=end, rule="merged"))
    return merged
