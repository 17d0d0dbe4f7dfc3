"""Short texts of controls, cut to what Slack takes after escaping (pure)."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from adapters.slack.markup_inline import escape

ELLIPSIS = "…"


def label_of(text: str, longest: int) -> str:
    """The text escaped, of at most `longest` characters, never cut inside an entity."""
    begin = beginning(text, longest)
    if not is_cut(text, longest):
        return escape(begin) or ELLIPSIS
    kept = begin[:longest]
    while len(escape(kept)) + len(ELLIPSIS) > longest:
        kept = kept[:-1]
    return escape(kept.rstrip()) + ELLIPSIS


def is_cut(text: str, longest: int) -> bool:
    """Whether a label of that length does not show all of the text."""
    return len(text) > _looked_at(longest) or len(escape(beginning(text, longest))) > longest


def beginning(text: str, longest: int) -> str:
    """The text on one line, as far as it can matter for a label: texts may be very long, labels are not."""
    return " ".join(text[: _looked_at(longest)].split())


def _looked_at(longest: int) -> int:
    return 4 * longest


def distinct_labels(texts: Sequence[str], longest: int) -> list[str]:
    """A label for each text; those that would look alike are numbered."""
    labels = [label_of(text, longest) for text in texts]
    alike = Counter(labels)
    taken, used = set(labels), Counter[str]()
    for index, label in enumerate(labels):
        if alike[label] == 1:
            continue
        while True:
            used[label] += 1
            number = f" ({used[label]})"
            numbered = label_of(texts[index], longest - len(number)) + number
            if numbered not in taken:
                break
        taken.add(numbered)
        labels[index] = numbered
    return labels


def plain_text(label: str) -> dict[str, Any]:
    """A plain_text object of a label. Emoji names stay text: a label is not ours to decorate."""
    return {"type": "plain_text", "text": label, "emoji": False}


def plain_object(text: str, longest: int) -> dict[str, Any]:
    """A plain_text object of any text, cut to its place."""
    return plain_text(label_of(text, longest))
