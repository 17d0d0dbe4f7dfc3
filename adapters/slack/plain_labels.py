"""Short texts of controls, cut to what Slack takes after escaping (pure)."""

from typing import Any

from adapters.slack.markup_inline import escape

ELLIPSIS = "…"


def label_of(text: str, longest: int) -> str:
    """The text escaped, of at most `longest` characters, never cut inside an entity."""
    text = " ".join(text.split())
    escaped = escape(text)
    if len(escaped) <= longest:
        return escaped or ELLIPSIS
    kept = text[:longest]
    while len(escape(kept)) + len(ELLIPSIS) > longest:
        kept = kept[:-1]
    return escape(kept.rstrip()) + ELLIPSIS


def plain_object(text: str, longest: int) -> dict[str, Any]:
    """A plain_text object. Emoji names stay text: a label is not ours to decorate."""
    return {"type": "plain_text", "text": label_of(text, longest), "emoji": False}
