"""What people wrote, as text for the model: entities undone once, tokens spelled out (pure).

Slack writes `<@U1>`, `<#C1|name>` and `<https://x|label>` for what a person sees as @Bo, #harbour
and a link, and escapes `&`, `<` and `>` that people type. So every `<` in its text opens a token.
"""

import re
from collections.abc import Callable, Iterator, Mapping

from adapters.slack.identity import SlackIdentity
from adapters.slack.wire import Json, object_at, objects_at, text_at
from engine.chat.content import Content, FilePart, Part, TextPart

_TOKEN = re.compile(r"<([^<>]*)>")
_ENTITY = re.compile(r"&(amp|lt|gt);")
_PLAIN = {"amp": "&", "lt": "<", "gt": ">"}
_MENTION = re.compile(r"<@([UW][A-Z0-9]+)(?:\|[^<>]*)?>")
_ONLY_MENTIONED = "(They mentioned you without saying anything.)"
_UNKNOWN_TYPE = "application/octet-stream"

Names = Mapping[str, str]


def content_of(event: Json, identity: SlackIdentity, names: Names) -> Content:
    """The content of a message: its text, then its files by name. Empty when it has neither."""
    text = message_text(event, identity, names)
    files = tuple(_files(event))
    if not text and not files and mentions_us(event, identity):
        text = _ONLY_MENTIONED
    parts: list[Part] = [TextPart(text=text)] if text else []
    return (*parts, *files)


def message_text(event: Json, identity: SlackIdentity, names: Names) -> str:
    """What the message says. Apps may leave `text` empty and say it in blocks or attachments."""
    written = text_at(event, "text")
    if written.strip():
        return plain_text(without_our_mention(written, identity), names)
    shown = (*_blocks_text(objects_at(event, "blocks"), names), *_attachments_text(event, names))
    return "\n".join(shown).strip()


def mentions_us(event: Json, identity: SlackIdentity) -> bool:
    """Whether the text names our bot."""
    return identity.bot_user_id in mentioned_users(event)


def mentioned_users(event: Json) -> frozenset[str]:
    """The ids of all users that the text names."""
    return frozenset(_MENTION.findall(text_at(event, "text")))


def without_our_mention(text: str, identity: SlackIdentity) -> str:
    """The text without the mention that addresses us at its beginning or end; others stay."""
    ours = rf"<@{re.escape(identity.bot_user_id)}(?:\|[^<>]*)?>"
    text = re.sub(rf"\A\s*(?:{ours}[\s,:]*)+", "", text)
    return re.sub(rf"(?:\s*{ours})+\s*\Z", "", text).strip()


def plain_text(text: str, names: Names) -> str:
    """Slack's text as a person reads it. Each entity is undone once, whatever it spells then."""
    pieces, end = [], 0
    for token in _TOKEN.finditer(text):
        pieces.append(_unescape(text[end : token.start()]))
        pieces.append(_spell_out(token.group(1), names))
        end = token.end()
    pieces.append(_unescape(text[end:]))
    return "".join(pieces).strip()


def _unescape(text: str) -> str:
    return _ENTITY.sub(lambda match: _PLAIN[match.group(1)], text)


def _spell_out(token: str, names: Names) -> str:
    target, _, raw_label = token.partition("|")
    target, label = _unescape(target), _unescape(raw_label)
    if target.startswith("@"):
        return f"@{names.get(target[1:]) or label or target[1:]}"
    if target.startswith("#"):
        return f"#{label or names.get(target[1:]) or target[1:]}"
    if target.startswith("!"):
        return label or f"@{target[1:].partition('^')[0]}"
    if not label or target in (label, f"mailto:{label}"):
        return label or target
    return f"{label} ({target})"


def _files(event: Json) -> Iterator[FilePart]:
    for file in objects_at(event, "files"):
        name = text_at(file, "name") or text_at(file, "title") or text_at(file, "id")
        size = file.get("size")
        if name:
            yield FilePart(
                name=name,
                media_type=text_at(file, "mimetype") or _UNKNOWN_TYPE,
                size=size if isinstance(size, int) and not isinstance(size, bool) else None,
            )


def _attachments_text(event: Json, names: Names) -> Iterator[str]:
    for attachment in objects_at(event, "attachments"):
        shown = [text_at(attachment, "pretext"), text_at(attachment, "title")]
        shown.append(text_at(attachment, "text") or text_at(attachment, "fallback"))
        yield from (plain_text(text, names) for text in shown if text.strip())
        yield from _blocks_text(objects_at(attachment, "blocks"), names)


def _blocks_text(blocks: list[Json], names: Names) -> Iterator[str]:
    for block in blocks:
        text = "".join(_block_pieces(block, names)).strip()
        if text:
            yield text


def _block_pieces(block: Json, names: Names) -> Iterator[str]:
    match block.get("type"):
        case "rich_text":
            yield _rich_text(block, names)
        case "context":
            texts = [text_at(element, "text") for element in objects_at(block, "elements")]
            yield " ".join(plain_text(text, names) for text in texts if text)
        case _:
            fields = [object_at(block, "text"), *objects_at(block, "fields")]
            texts = [text_at(field, "text") for field in fields] + [text_at(block, "text")]
            yield "\n".join(plain_text(text, names) for text in texts if text)


def _rich_text(element: Json, names: Names) -> str:
    """Rich text is not escaped: its pieces are taken as they are."""
    kind = text_at(element, "type")
    if kind in _RICH_LEAVES:
        return _RICH_LEAVES[kind](element, names)
    inner = [_rich_text(part, names) for part in objects_at(element, "elements")]
    if kind == "rich_text_list":
        return "".join(f"- {item}\n" for item in inner)
    return "".join(inner) + ("\n" if kind.startswith("rich_text_") else "")


def _rich_user(element: Json, names: Names) -> str:
    user_id = text_at(element, "user_id")
    return f"@{names.get(user_id) or user_id}"


_RICH_LEAVES: Mapping[str, Callable[[Json, Names], str]] = {
    "text": lambda element, _: text_at(element, "text"),
    "user": _rich_user,
    "link": lambda element, _: text_at(element, "text") or text_at(element, "url"),
    "emoji": lambda element, _: f":{text_at(element, 'name')}:",
    "broadcast": lambda element, _: f"@{text_at(element, 'range')}",
    "channel": lambda element, _: f"#{text_at(element, 'channel_id')}",
}
