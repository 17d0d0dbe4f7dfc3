"""Owns what of a link may be shown and followed: links say where they go. Pure.

Whatever the markup, a label that reads as an address is that of the target, what is no web or mail
address is shown and not followed, and no sign of an address can end it or begin another.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from adapters.delivery.markdown_tree import Link, plain
from adapters.slack.limits import LINK_URL_MAX

_SCHEMES = ("http:", "https:", "mailto:")
# Embeddings, overrides and isolates can make an address read as another, and a page could part
# them from their ends. Marks (LRM, RLM) stay.
_BIDI = re.compile("[\u202a-\u202e\u2066-\u2069]")
_CODES = {"|": "%7C", "<": "%3C", ">": "%3E", " ": "%20", "\n": "%0A"}
_HIDDEN_TARGET_MAX = 200
_FILE_SUFFIXES = frozenset(
    [
        "c",
        "cc",
        "cpp",
        "cs",
        "css",
        "go",
        "h",
        "html",
        "java",
        "js",
        "json",
        "kt",
        "lua",
        "md",
        "mjs",
        "php",
        "pl",
        "py",
        "rb",
        "rs",
        "rst",
        "sh",
        "sql",
        "swift",
        "tf",
        "toml",
        "ts",
        "tsx",
        "txt",
        "xml",
        "yaml",
        "yml",
        "zip",
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkPart:
    """A part of what is shown of a link: `text`, which leads to `target` if there is one.

    A target without a text is shown itself.
    """

    text: str = ""
    target: str = ""


def without_bidi(text: str) -> str:
    """Text without the controls that show it in another order than it is written in."""
    return text if text.isascii() else _BIDI.sub("", text)


def shown_link(link: Link) -> Iterator[LinkPart]:
    """What to show of a link, unescaped."""
    label = " ".join(without_bidi(plain(link.label)).split())
    url = without_bidi(link.url).strip()
    if not url.lower().startswith(_SCHEMES):
        is_data = url.lower().startswith("data:")
        yield LinkPart(text=label or ("image" if is_data else url))
        if label not in ("", url) and not is_data and 0 < len(url) <= _HIDDEN_TARGET_MAX:
            yield LinkPart(text=f" ({url})")
        return
    target = "".join(_CODES.get(sign, sign) for sign in url)
    if len(target) > LINK_URL_MAX or (link.is_bare and not label.isascii()):
        shown = url if label in ("", url) or link.is_bare else f"{label} {url}"
        yield LinkPart(text=label if link.is_bare else shown)
    elif not label or label == url:
        yield LinkPart(target=target)
    elif _is_deceptive(label, url):
        yield from (LinkPart(text=f"{label} ("), LinkPart(target=target), LinkPart(text=")"))
    else:
        yield LinkPart(text=label, target=target)


def _is_deceptive(label: str, url: str) -> bool:
    """A label that reads as an address, and not as the one that it leads to."""
    shown = _address(label)
    if not shown:
        return False
    target = _address(url) or url.lower()
    shown = shown.rstrip(".…").rstrip("/")
    if target == shown or target.startswith((shown + "/", shown + "?", shown + "#")):
        return False
    is_file = "/" not in shown and shown.rpartition(".")[2] in _FILE_SUFFIXES
    return not (is_file and target.endswith("/" + shown))


def _address(text: str) -> str:
    """Host and path of what looks like one address, without what is written or left out freely."""
    text = unquote(text).strip().lower()
    if text.startswith("mailto:") or re.fullmatch(r"[^\s@/]+@[^\s@/]+\.[^\s@/]+", text):
        return text.removeprefix("mailto:").partition("?")[0]
    if "://" in text:
        # Wherever it stands in the label, an address is what a reader will go by.
        text = text[max(text.find("http"), 0) :].split(" ", 1)[0]
        text = text.partition("://")[2]
    elif not re.fullmatch(r"(?:[^\s/.@]+\.)+[^\W\d]{2,}(?:[:/?#]\S*)?", text):
        return ""
    try:
        host = urlsplit(f"//{text}").netloc
    except ValueError:
        return text
    if not host:
        return text
    return (host.removeprefix("www.") + text[len(host) :]).rstrip("/")
