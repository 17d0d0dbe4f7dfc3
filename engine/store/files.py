"""Files of chats: the same bytes are stored once in an organization, whatever they are called.

Theory of operation. Bytes are found by their hash; a file is a name for them. Whoever stores a file
holds its bytes first (FOR KEY SHARE), housekeeping takes both only under FOR UPDATE and looks again
then, so nothing that is named or linked is ever removed. An upload that no message names within a day
goes; its bytes go with the last of their files.
"""

import asyncio
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from engine.chat.content import Author
from engine.chat.files import (
    CHAT_FILES_MAX,
    FILE_BYTES_MAX,
    FileInfo,
    FileRefusal,
    FileRefusalReason,
    NewFile,
    StoredFile,
    check_file,
)
from engine.chat.ids import DEFAULT_ORGANIZATION, ChatId, FileId, OrganizationId
from engine.store.errors import StoreError
from engine.store.pool import Pool, Row, Transaction
from engine.store.queries import query
from engine.store.stored_json import decode_text, encode_optional, encode_text

BATCH = 100
"""Files that one round of housekeeping removes in one transaction: at most a gigabyte."""
_TRIES_MAX = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLimits:
    """How much is kept. 0: any amount, for ever. The organization's bytes are counted before a file
    is stored, so uploads side by side may pass the limit by their own size."""

    bytes_max: int = FILE_BYTES_MAX
    organization_bytes_max: int = 0
    retention_days: int = 0


class Files:
    """Keeps files. Methods raise StoreUnavailable when the database is out of reach."""

    def __init__(self, pool: Pool, limits: FileLimits | None = None) -> None:
        self._pool = pool
        self.limits = limits or FileLimits()

    async def put(
        self,
        file: NewFile,
        *,
        organization_id: OrganizationId = DEFAULT_ORGANIZATION,
        created_by: Author | None = None,
        chat_id: ChatId | None = None,
    ) -> FileInfo | FileRefusal:
        """Store a file. It goes after a day unless a message names it.

        `chat_id`: refused where that chat has no room for it.
        """
        # A thread of its own: ten megabytes take long enough to be noticed by others.
        checked = await asyncio.to_thread(check_file, file, bytes_max=self.limits.bytes_max)
        if isinstance(checked, FileRefusal):
            return checked
        if chat_id is not None and not await self._has_room(chat_id):
            return FileRefusal(reason=FileRefusalReason.TOO_MANY, detail=too_many_files())
        digest = await asyncio.to_thread(lambda: hashlib.sha256(checked.data).digest())
        async with self._pool.transaction() as transaction:
            for _ in range(_TRIES_MAX):
                if await self._holds_blob(transaction, organization_id, digest):
                    break
                if await self._is_full(transaction, organization_id, len(checked.data)):
                    transaction.give_up()
                    return self._full()
                if await transaction.execute(
                    query("files.insert_blob"), organization_id, digest, checked.data
                ):
                    break
            row = await transaction.fetch_one(
                query("files.insert_file"),
                organization_id,
                digest,
                encode_text(checked.name),
                checked.media_type,
                len(checked.data),
                encode_optional(created_by),
            )
        if row is None:
            raise StoreError("the file was not stored")
        return _info_of(row)

    async def read(
        self, file_id: FileId, *, organization_id: OrganizationId = DEFAULT_ORGANIZATION
    ) -> StoredFile | None:
        """A file with its bytes; None when there is none, any more."""
        row = await self._pool.fetch_one(query("files.read_file"), organization_id, file_id)
        return None if row is None else _stored_of(row)

    async def read_infos(
        self,
        file_ids: Iterable[FileId],
        *,
        organization_id: OrganizationId = DEFAULT_ORGANIZATION,
    ) -> Mapping[FileId, FileInfo]:
        """Those of the files that there are."""
        rows = await self._pool.fetch(query("files.read_infos"), organization_id, list(file_ids))
        return {row["id"]: _info_of(row) for row in rows}

    async def read_many(
        self, whole: Iterable[FileId], heads: Iterable[FileId], head_bytes: int
    ) -> Mapping[FileId, StoredFile]:
        """Files of messages, as far as there are any: the first whole, of the others so many bytes."""
        rows = await self._pool.fetch(
            query("files.read_many"), list(whole), list(heads), head_bytes
        )
        return {row["id"]: _stored_of(row) for row in rows}

    async def list_of_chat(self, chat_id: ChatId) -> tuple[FileInfo, ...]:
        """The files of a chat, oldest first."""
        rows = await self._pool.fetch(query("files.files_of_chat"), chat_id)
        return tuple(_info_of(row) for row in rows)

    async def forget_due(self, limit: int = BATCH) -> int:
        """Remove files that nobody has sent for a day, and those past retention; how many went."""
        days = self.limits.retention_days
        async with self._pool.transaction() as transaction:
            due = await transaction.fetch(query("files.lock_due"), days, limit)
            if not due:
                return 0
            ids = [row["id"] for row in due]
            gone = await transaction.fetch(query("files.delete_due"), days, ids)
            blobs = {(row["organization_id"], row["sha256"]) for row in gone}
            keys = [key[0] for key in blobs], [key[1] for key in blobs]
            await transaction.fetch(query("files.lock_blobs"), *keys)
            await transaction.execute(query("files.delete_blobs"), *keys)
        return len(gone)

    async def _has_room(self, chat_id: ChatId) -> bool:
        row = await self._pool.fetch_one(query("files.count_of_chat"), chat_id)
        return row is None or row["files"] < CHAT_FILES_MAX

    async def _holds_blob(
        self, transaction: Transaction, organization_id: OrganizationId, digest: bytes
    ) -> bool:
        return bool(await transaction.fetch(query("files.keep_blob"), organization_id, digest))

    async def _is_full(
        self, transaction: Transaction, organization_id: OrganizationId, size: int
    ) -> bool:
        most = self.limits.organization_bytes_max
        if most == 0:
            return False
        row = await transaction.fetch_one(query("files.stored_bytes"), organization_id)
        return row is not None and row["bytes"] + size > most

    def _full(self) -> FileRefusal:
        most = self.limits.organization_bytes_max
        sentence = f"There is no room for more files: at most {most} bytes are kept in all."
        return FileRefusal(reason=FileRefusalReason.STORE_FULL, detail=sentence)


def too_many_files() -> str:
    """The sentence for a chat that has no room for another file."""
    return f"A chat holds at most {CHAT_FILES_MAX} files; start a new one for more."


def _info_of(row: Row) -> FileInfo:
    return FileInfo(
        id=row["id"],
        name=decode_text(row["name"]),
        media_type=row["media_type"],
        size=row["size"],
        created_at=row["created_at"],
    )


def _stored_of(row: Row) -> StoredFile:
    return StoredFile(info=_info_of(row), data=row["data"])
