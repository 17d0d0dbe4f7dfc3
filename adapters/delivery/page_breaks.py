"""Where a growing page is ended on purpose, so that what has been sent of it never has to be moved (pure).

A page that is edited ends at the best place, even if text that it shows must move to the next page for that.
A stream cannot take back: as it fills up it is ended at the first good place that comes, then at the first
passable one. The fuller it is, the less is asked of the place.
"""

import re
from collections.abc import Sequence

_PARAGRAPH = re.compile(r"\n[ \t]*\n(?=\S)")
_LINE = re.compile(r"\n(?=\S)")
# Scripts without blanks have the ends of their sentences.
_WORD = re.compile(r"\s+(?=\S)|[。！？](?=\S)")  # noqa: RUF001
_PLACES: Sequence[tuple[float, re.Pattern[str]]] = (
    (0.85, _WORD),
    (0.75, _LINE),
    (0.65, _PARAGRAPH),
)
_PLACE_MAX = 32
"""How much of a place may stand before what is looked at."""
FULL_ENOUGH = _PLACES[-1][0]
"""Below this share of its room or its time a page is not ended."""


def break_in(text: str, *, after: int, fullness: float) -> int | None:
    """The last place at or behind `after` where a page may end that is so full; None: none has come yet."""
    for least, place in _PLACES:
        if fullness >= least:
            found = place.finditer(text, max(after - _PLACE_MAX, 0))
            ends = [match.end() for match in found if match.end() >= after]
            return ends[-1] if ends else None
    return None
