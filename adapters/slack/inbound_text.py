"""What people wrote, as text for the model: entities undone once, tokens spelled out (pure).

Slack writes `<@U1>`, `<#C1|name>` and `<https://x|label>` for what a person sees as @Bo, #harbour
and a link, and escapes `&`, `<` and `>` that people type. So every `<` in its text opens a token.
"""

import re
from collections.abc import Iterator, Mapping

from adapters.slack.block_text import attachment_text, blocks_text, escaped, forwarded_text
from adapters.slack.identity import SlackIdentity
from adapters.slack.wire import Json, objects_at, text_at

_TOKEN = re.compile(r"<([^<>]*)>")
_CODE = re.compile(r"(```.*?```|`[^`\n]+`)", re.DOTALL)
_ENTITY = re.compile(r"&(amp|lt|gt);")
_PLAIN = {"amp": "&", "lt": "<", "gt": ">"}
_MENTION = re.compile(r"<@([UW][A-Z0-9]+)(?:\|[^<>]*)?>")
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_UNFURLED = ("from_url", "original_url", "app_unfurl_url")
ONLY_MENTIONED = "(They mentioned you without saying anything.)"

Names = Mapping[str, str]


def message_text(event: Json, identity: SlackIdentity, names: Names) -> str:
    """What the message says, with what it forwards. Previews of links are not part of it."""
    return plain_text(without_our_mention(_said(event), identity), names)


def mentions_us(event: Json, identity: SlackIdentity) -> bool:
    """Whether the message names our bot."""
    return identity.bot_user_id in mentioned_users(event)


def mentioned_users(event: Json) -> frozenset[str]:
    """The ids of all users that the message itself names; in code, a mention is none."""
    return frozenset(_MENTION.findall(_CODE.sub(" ", _own_words(event))))


def users_in(event: Json) -> frozenset[str]:
    """The ids of all users that stand in the message, in what it forwards as well."""
    return frozenset(_MENTION.findall(_said(event)))


def without_our_mention(text: str, identity: SlackIdentity) -> str:
    """The text without the mention that addresses us at its beginning or end; others stay."""
    ours = rf"<@{re.escape(identity.bot_user_id)}(?:\|[^<>]*)?>"
    text = re.sub(rf"\A\s*(?:{ours}[\s,:]*)+", "", text)
    return re.sub(rf"(?:\s*{ours})+\s*\Z", "", text).strip()


def plain_text(text: str, names: Names) -> str:
    """Slack's text as a person reads it. Each entity is undone once, whatever it spells then."""
    pieces = _CODE.split(text)
    return "".join(
        _spelled_out(piece, names, is_code=at % 2 == 1) for at, piece in enumerate(pieces)
    ).strip()


def shared_attachments(event: Json) -> list[Json]:
    """The attachments that are messages which the author forwards."""
    return [one for one in objects_at(event, "attachments") if one.get("is_share") is True]


def _said(event: Json) -> str:
    forwarded = (_forwarded(attachment) for attachment in shared_attachments(event))
    return "\n".join(text for text in (_own_words(event), *forwarded) if text.strip())


def _own_words(event: Json) -> str:
    """Words of the message itself. An app's `text` is only a notice where there are blocks."""
    written, blocks = text_at(event, "text"), objects_at(event, "blocks")
    if blocks and (not written.strip() or text_at(event, "bot_id")):
        written = blocks_text(blocks) or written
    return "\n".join(text for text in (written, *_alerts(event)) if text.strip())


def _alerts(event: Json) -> Iterator[str]:
    for attachment in objects_at(event, "attachments"):
        is_preview = any(text_at(attachment, name) for name in _UNFURLED)
        if attachment.get("is_share") is not True and not is_preview:
            yield attachment_text(attachment)


def _forwarded(attachment: Json) -> str:
    """A forwarded message, quoted, with whose it was."""
    author = text_at(attachment, "author_name") or text_at(attachment, "author_subname")
    by = f" from {escaped(author)}" if author else ""
    said = forwarded_text(attachment)
    return "\n".join([f"(Forwarded{by}:)", *(f"&gt; {line}" for line in said.splitlines())])


def _unescape(text: str) -> str:
    return _ENTITY.sub(lambda match: _PLAIN[match.group(1)], text)


def _spelled_out(text: str, names: Names, *, is_code: bool) -> str:
    pieces, end = [], 0
    for token in _TOKEN.finditer(text):
        pieces.append(_unescape(text[end : token.start()]))
        pieces.append(_spell_out(token.group(1), names, is_code=is_code))
        end = token.end()
    pieces.append(_unescape(text[end:]))
    return "".join(pieces)


def _spell_out(token: str, names: Names, *, is_code: bool) -> str:
    target, _, raw_label = token.partition("|")
    target, label = _unescape(target), _unescape(raw_label)
    if _ADDRESS.match(target):
        if not label or target in (label, f"mailto:{label}") or is_code:
            return label or target
        return f"{label} ({target})"
    if is_code or target[:1] not in ("@", "#", "!"):
        return f"<{_unescape(token)}>"
    if target.startswith("@"):
        return f"@{names.get(target[1:]) or label or target[1:]}"
    if target.startswith("#"):
        return f"#{label or names.get(target[1:]) or target[1:]}"
    return label or f"@{target[1:].partition('^')[0]}"
