"""Puts files into threads: an address, the bytes, and the message that shows them, which is made once.

Nothing is to be seen before the last call, so what fails before it may be done again. Slack shows the file a
moment after that call, by a message that has no metadata of ours: it is known by the file's name, which ends
with a part of the nonce. People see the title.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from adapters.contract import Document, Place
from adapters.errors import Denied, FilesRefused, RateLimited, SurfaceError, Unavailable
from adapters.slack.client import SlackClient

SHARED_SECONDS: Final = (0.2, 0.5, 1.0, 2.0, 4.0)
"""How long to wait, again and again, for the message that shows a file."""
_TAG_SIGNS: Final = 12
_NOT_OF_FILES: Final = frozenset(
    {
        "account_inactive",
        "channel_not_found",
        "invalid_auth",
        "is_archived",
        "not_authed",
        "not_in_channel",
        "thread_not_found",
        "token_expired",
        "token_revoked",
    }
)
"""Refusals that would meet words as well."""


def tag_of(nonce: str) -> str:
    """The part of a nonce that stands in a file's name."""
    return nonce.replace("-", "")[:_TAG_SIGNS]


def name_with_tag(name: str, nonce: str) -> str:
    """The file's name with the tag before its suffix."""
    stem, dot, suffix = name.rpartition(".")
    if not stem:
        return f"{name}-{tag_of(nonce)}"
    return f"{stem}-{tag_of(nonce)}{dot}{suffix}"


def shows_file_of(message: Mapping[str, Any], nonce: str) -> bool:
    """Whether a message shows the file that was uploaded with this nonce."""
    tag = f"-{tag_of(nonce)}"
    names = (str(file.get("name") or "") for file in message.get("files") or ())
    return any(name.endswith(tag) or f"{tag}." in name for name in names)


async def upload(client: SlackClient, place: Place, document: Document, nonce: str) -> str:
    """Show a file in the thread; the timestamp of the message that shows it.

    Raises FilesRefused where Slack takes no files, or not this one. Unavailable with an unknown outcome:
    the file may be, or come to be, in the thread.
    """
    try:
        file_id = await _sent(client, document, nonce)
        return await _shown(client, place, file_id, document.name)
    except Denied as error:
        if error.code in _NOT_OF_FILES:
            raise
        raise FilesRefused(error.code) from error


async def _sent(client: SlackClient, document: Document, nonce: str) -> str:
    """Send the bytes, which shows nothing; the file's id."""
    name = name_with_tag(document.name, nonce)
    try:
        address, file_id = await client.upload_address(name, len(document.data))
        await client.send_bytes(address, document.data)
    except Unavailable as error:
        raise Unavailable(error.code, outcome_unknown=False) from error
    return file_id


async def _shown(client: SlackClient, place: Place, file_id: str, title: str) -> str:
    try:
        file = await client.complete_upload(
            file_id, title=title, channel=place.channel, thread=place.thread
        )
    except Unavailable as error:
        if not error.outcome_unknown:
            raise
        file = {}
    return await _shown_at(client, place, file_id, file)


async def _shown_at(
    client: SlackClient, place: Place, file_id: str, file: Mapping[str, Any]
) -> str:
    for seconds in (*SHARED_SECONDS, None):
        if (ts := _ts_of(file, place)) is not None:
            return ts
        if seconds is None:
            break
        await asyncio.sleep(seconds)
        try:
            file = await client.file(file_id)
        except RateLimited:
            break
        except SurfaceError:
            continue
    raise Unavailable("file_not_shown_yet", outcome_unknown=True)


def _ts_of(file: Mapping[str, Any], place: Place) -> str | None:
    for shares in (file.get("shares") or {}).values():
        for share in shares.get(place.channel) or ():
            if share.get("ts") and share.get("thread_ts", place.thread) == place.thread:
                return str(share["ts"])
    return None
