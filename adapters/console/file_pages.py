"""A stored file for whoever may come in: shown or kept on disk, never run."""

from uuid import UUID

from aiohttp import web
from msgspec.structs import replace

from adapters.console.console import Trouble, Visit
from adapters.file_sending import TooManyDownloads
from engine.chat.content import Content, FilePart
from engine.chat.ids import FileId, MessageId


async def file(visit: Visit) -> web.StreamResponse:
    """The bytes of the file that the path names."""
    try:
        file_id = FileId(UUID(visit.request.match_info["file_id"]))
    except ValueError:
        raise Trouble(404, "There is no such file.") from None
    try:
        sent = await visit.console.files.send(visit.request, file_id)
    except TooManyDownloads:
        sentence = "Too many files are being opened. Please try again in a moment."
        raise Trouble(503, sentence, {"Retry-After": "5"}) from None
    if sent is None:
        raise Trouble(404, "There is no such file, any more.")
    return sent


async def files_of_message(visit: Visit, message_id: MessageId) -> Content:
    """The files of a message, which stay when its text is changed. One that is gone is only named."""
    engine = visit.console.engine
    page = await engine.read_messages(visit.chat_id, after=MessageId(message_id - 1), limit=1)
    parts = [
        part
        for message in page
        if message.id == message_id
        for part in message.content
        if isinstance(part, FilePart)
    ]
    if not parts:
        return ()
    known = await engine.find_files({part.file_id for part in parts if part.file_id is not None})
    return tuple(part if part.file_id in known else replace(part, file_id=None) for part in parts)
