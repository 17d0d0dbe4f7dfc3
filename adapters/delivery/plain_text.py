"""Owns what a piece of text is made of: clean characters, blankness, grapheme clusters, widths. Pure."""

import re
import unicodedata
from dataclasses import dataclass

# Controls that Unicode counts as white space part words, so they become a blank; the rest vanish.
_CONTROLS = dict.fromkeys((*range(32), *range(127, 160))) | dict.fromkeys(
    (0x0B, 0x0C, 0x1C, 0x1D, 0x1E, 0x1F, 0x85), " "
)
del _CONTROLS[0x09], _CONTROLS[0x0A]
_UNCLEAN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

_ZWJ = "\u200d"
# Blank to the eye, although str.isspace() says otherwise.
_BLANK_LETTERS = frozenset("\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")


def clean(text: str, *, final: bool = True) -> str:
    """Text that any platform and database accepts: LF line ends, no NUL or controls, no surrogates.

    Cleaning a prefix gives a prefix of the cleaned whole. With `final=False` a last character that
    could still become half of something (CR, a high surrogate) is held back.
    """
    if not final:
        text = _without_half(text)
    return _cleaned(text).removeprefix("\ufeff")


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanText:
    """A growing text, `raw` as it came and `text` as `clean` makes it."""

    raw: str = ""
    text: str = ""

    def grown(self, raw: str) -> "CleanText":
        """The same for a text that may have grown; what was cleaned is not cleaned again."""
        if not raw.startswith(self.raw):
            return CleanText().grown(raw)
        sure = _without_half(raw)
        if not self.raw:
            return CleanText(raw=sure, text=clean(sure))
        return CleanText(raw=sure, text=self.text + _cleaned(sure[len(self.raw) :]))


def _without_half(text: str) -> str:
    if text and (text[-1] == "\r" or "\ud800" <= text[-1] <= "\udbff"):
        return text[:-1]
    return text


def _cleaned(text: str) -> str:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            # UTF-16 joins the two halves of a pair and replaces a half that stands alone.
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if _UNCLEAN.search(text):
        text = text.replace("\r\n", "\n").replace("\r", "\n").translate(_CONTROLS)
    return text


def line_start(text: str, line: int) -> int:
    """Where a line begins that the text has."""
    start = 0
    for _ in range(line):
        start = text.find("\n", start) + 1
    return start


def is_blank(text: str) -> bool:
    """True when nothing of the text can be seen, so that a platform would call it empty."""
    return all(_is_invisible(character) for character in text)


def _is_invisible(character: str) -> bool:
    if character.isspace() or character in _BLANK_LETTERS:
        return True
    return unicodedata.category(character) in ("Cf", "Cc", "Mn", "Zs", "Zl", "Zp")


def is_boundary(text: str, at: int) -> bool:
    """True when a cut before `text[at]` parts no grapheme cluster, emoji sequence or conjunct."""
    if at <= 0 or at >= len(text):
        return True
    before, after = text[at - 1], text[at]
    if before < "\u0300" and after < "\u0300":
        return not (before == "\r" and after == "\n")
    if _extends(after) or before == _ZWJ:
        return False
    # A virama (combining class 9) joins two consonants into one conjunct.
    if unicodedata.combining(before) == 9 and after.isalpha():
        return False
    if _is_hangul_joint(before, after):
        return False
    return not (_is_regional(before) and _is_regional(after) and _is_odd_flag_half(text, at))


def _extends(character: str) -> bool:
    """A character that belongs to the one before it: marks, joiners, skin tones, tags, sara am."""
    if unicodedata.category(character)[0] == "M" or character in "\u200c\u200d\u0e33\u0eb3":
        return True
    return "\U0001f3fb" <= character <= "\U0001f3ff" or "\U000e0020" <= character <= "\U000e007f"


def _is_hangul_joint(before: str, after: str) -> bool:
    if "\u1100" <= before <= "\u115f":  # a leading consonant
        return "\u1100" <= after <= "\u11a7" or "\uac00" <= after <= "\ud7a3"
    return "\u1160" <= after <= "\u11ff" and (
        "\u1160" <= before <= "\u11ff" or "\uac00" <= before <= "\ud7a3"
    )


def _is_regional(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _is_odd_flag_half(text: str, at: int) -> bool:
    start = at
    while start > 0 and _is_regional(text[start - 1]):
        start -= 1
    return (at - start) % 2 == 1


def boundary_before(text: str, at: int) -> int:
    """The last grapheme boundary at or before `at`; `at` itself inside a cluster of over 64."""
    for position in range(at, max(at - 64, 0), -1):
        if is_boundary(text, position):
            return position
    return at if at > 64 else 0


def is_cjk(character: str) -> bool:
    """True for the scripts that are written without blanks, and for their punctuation."""
    if character < "\u1100":
        return False
    code = ord(character)
    return (
        0x1100 <= code <= 0x11FF
        or 0x2E80 <= code <= 0xA4CF
        or 0xAC00 <= code <= 0xD7FF
        or 0xF900 <= code <= 0xFAFF
        or 0xFE30 <= code <= 0xFE4F
        or 0xFF00 <= code <= 0xFFEF
        or 0x20000 <= code <= 0x3FFFF
    )


def display_width(text: str) -> int:
    """Columns of a fixed-width font: 2 for wide characters, 0 for marks and joiners."""
    if text.isascii():
        return len(text)
    width = 0
    previous = ""
    for character in text:
        if _extends(character) or unicodedata.category(character) == "Cf" or previous == _ZWJ:
            pass
        elif unicodedata.east_asian_width(character) in ("W", "F"):
            width += 2
        else:
            width += 1
        previous = character
    return width
