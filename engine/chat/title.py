"""What a chat is called before it has a title of its own: the first words that were said in it."""

TITLE_MAX = 80
"""Characters of a title that nobody typed."""
WORDS_MAX = 6
_LOOKED_AT_MAX = 2000
_ELLIPSIS = "…"


def fallback_title(text: str) -> str | None:
    """The first words, with an ellipsis where more follows; None where there are none."""
    # A message may be long, and its start is enough; the character before the cut may be half a word.
    printable = "".join(
        character if character.isprintable() else " " for character in text[:_LOOKED_AT_MAX]
    )
    words = printable.split(maxsplit=WORDS_MAX)
    if not words:
        return None
    title = " ".join(words[:WORDS_MAX])
    is_whole = len(words) <= WORDS_MAX and len(text) <= _LOOKED_AT_MAX
    if len(title) > TITLE_MAX:
        return title[: TITLE_MAX - 1].rstrip() + _ELLIPSIS
    return title if is_whole else title[: TITLE_MAX - 1].rstrip() + _ELLIPSIS
