"""Ties the files that messages name to their chat, in the transaction that stores the messages."""

from collections.abc import Iterable

from engine.chat import writes as w
from engine.chat.content import Content, FilePart
from engine.chat.decision import Refusal, RefusalReason
from engine.chat.files import CHAT_FILES_MAX
from engine.chat.ids import ChatId, FileId, OrganizationId
from engine.store.files import too_many_files
from engine.store.pool import Transaction
from engine.store.queries import query


def files_in(contents: Iterable[Content]) -> list[FileId]:
    """The stored files that contents name, each once, in order."""
    return list(
        dict.fromkeys(
            part.file_id
            for content in contents
            for part in content
            if isinstance(part, FilePart) and part.file_id is not None
        )
    )


def contents_of(writes: Iterable[w.Write]) -> Iterable[Content]:
    """What a decision is about to store."""
    for write in writes:
        match write:
            case w.InsertMessages():
                yield from (message.content for message in write.messages)
            case w.ReplaceMessage() | w.InsertReplacement() | w.Enqueue() | w.ReplaceQueued():
                yield write.content
            case _:
                pass


async def link_files(
    transaction: Transaction,
    chat_id: ChatId,
    organization_id: OrganizationId,
    contents: Iterable[Content],
    *,
    is_lenient: bool = False,
) -> Refusal | None:
    """Link the files; the refusal of a message whose file there is not, or that are too many.

    Lenient: what a worker has done is stored, whatever became of its files.
    """
    ids = files_in(contents)
    if not ids:
        return None
    row = await transaction.fetch_one(query("files.link"), chat_id, organization_id, ids)
    if row is None or is_lenient:
        return None
    missing = [file_id for file_id in ids if file_id not in set(row["found"])]
    if missing:
        detail = f"There is no file {missing[0]}, or it has expired. Upload it again."
        return Refusal(reason=RefusalReason.UNFIT_CONTENT, detail=detail)
    if row["others"] + len(ids) > CHAT_FILES_MAX:
        return Refusal(reason=RefusalReason.UNFIT_CONTENT, detail=too_many_files())
    return None
