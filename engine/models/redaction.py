"""Take secrets out of text that others wrote: keys, bearer tokens, passwords and queries in URLs.

Pure. Applied to every word of a provider before it is stored, logged or shown.
"""

import re
from collections.abc import Iterable
from typing import Final

MASK: Final = "***"

_RULES: Final = (
    # Webhook addresses are secrets as a whole, though their secret stands in the path.
    (re.compile(r"(?i)(hooks\.slack\.com/(?:services|workflows|triggers))/[^\s\"'<>]+"), r"\1/***"),
    (re.compile(r"(?i)(discord(?:app)?\.com/api/webhooks)/[^\s\"'<>]+"), r"\1/***"),
    # scheme://user:password@host and scheme://token@host
    (re.compile(r"(?i)\b([a-z][a-z0-9+.-]{0,30}://)[^\s/?#\"'<>]+@"), r"\1***@"),
    # The query and fragment of any address.
    (re.compile(r"(?i)\b([a-z][a-z0-9+.-]{0,30}://[^\s?#\"'<>]+)[?#][^\s\"'<>]*"), r"\1?***"),
    (
        re.compile(
            r"(?i)([\"']?\b[a-z0-9_-]{0,40}(?:api[-_ ]?key|token|secret|password|passwd|authorization)"
            r"[\"']?\s*[:=]\s*[\"']?)(?!\*\*\*)(?:bearer |basic )?[^\s\"',;&}]{4,}"
        ),
        r"\1***",
    ),
    (re.compile(r"(?i)\b(bearer|basic)\s+[a-z0-9._~+/=*-]{6,}"), r"\1 ***"),
    (re.compile(r"(?i)([?&](?:key|sig|signature|code)=)[^\s\"'&<>]+"), r"\1***"),
    # Keys that can be told by their shape. Providers mask some of them with asterisks themselves.
    (re.compile(r"\b(?:sk|pk|rk|gsk|xai|ghp|gho|ghs|hf|nvapi|AKIA|AIza)[-_]?[A-Za-z0-9_*.-]{8,}"), MASK),
    (re.compile(r"\bgithub_pat_[A-Za-z0-9_]{8,}"), MASK),
    (re.compile(r"\bxox[a-z]-[A-Za-z0-9-]{4,}|\bxapp-[A-Za-z0-9-]{4,}"), MASK),
    (re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*)?"), MASK),
)  # fmt: skip


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """Return the text without these secrets and without anything that looks like one."""
    for secret in secrets:
        if len(secret) >= 4:
            text = text.replace(secret, MASK)
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text
