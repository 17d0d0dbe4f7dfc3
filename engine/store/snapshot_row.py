"""From the row that load_snapshot gives to the Snapshot that decisions are made from."""

from datetime import datetime

from msgspec import Struct

from engine.chat.answerers import Answerers, Barred, barred_calls
from engine.chat.commands import (
    AnswerAction,
    Command,
    EditMessage,
    SendMessage,
    SubmitToolResults,
)
from engine.chat.content import Author, Role
from engine.chat.errors import ChatError, RetryState
from engine.chat.ids import ChatId, ToolCallId
from engine.chat.snapshot import ChatStatus, EditTarget, OpenCall, Snapshot
from engine.store.pool import Pool, Row, Transaction
from engine.store.queries import query
from engine.store.rows import kept_groups
from engine.store.stored_json import (
    decode_json,
    decode_optional,
    decode_text,
    encode_optional_text,
    encode_text,
)

_OpenCalls = tuple[OpenCall, ...]


class _Restricted(Struct, frozen=True, kw_only=True):
    """An open call that not everybody may answer."""

    tool_call_id: ToolCallId
    answerers: Answerers
    asker: Author | None = None


async def load_snapshot(
    statements: Pool | Transaction, chat_id: ChatId, command: Command
) -> tuple[Snapshot, datetime] | None:
    """The chat, at the version to be written, and the database's time. None: no such chat."""
    source_key = command.source_key if isinstance(command, SendMessage) else None
    edited = command.message_id if isinstance(command, EditMessage) else None
    action = command.action_id if isinstance(command, AnswerAction) else None
    row = await statements.fetch_one(
        query("chat_machine.load_snapshot"),
        chat_id,
        encode_optional_text(source_key),
        edited,
        action,
        isinstance(command, SubmitToolResults) and command.message_id is not None,
        isinstance(command, AnswerAction | SubmitToolResults),
        _identity_of(command),
    )
    return None if row is None else (_snapshot_of(chat_id, row, command), row["now"])


def _snapshot_of(chat_id: ChatId, row: Row, command: Command) -> Snapshot:
    target = row["action_target"]
    return Snapshot(
        chat_id=chat_id,
        organization_id=row["organization_id"],
        status=ChatStatus(row["status"]),
        archived=row["archived"],
        snapshot_version=row["snapshot_version"],
        history_version=row["history_version"],
        queue_version=row["queue_version"],
        retry_version=row["retry_version"],
        generation_attempt=row["generation_attempt"],
        runner_id=row["runner_id"],
        lease_live=row["lease_live"],
        queue=tuple(row["queue"]),
        open_calls=decode_json(row["open_calls"], _OpenCalls),
        actions_deadline_at=row["actions_deadline_at"],
        last_error=decode_optional(row["last_error"], ChatError),
        retry=decode_optional(row["retry_state"], RetryState),
        compaction_requested=row["compaction_requested"],
        edit_target=_edit_target(row, command),
        source_seen=row["source_seen"],
        action_target=ToolCallId(decode_text(target)) if target is not None else None,
        asking_message=row["asking_message"],
        barred=_barred(row, command),
    )


def _edit_target(row: Row, command: Command) -> EditTarget | None:
    if not isinstance(command, EditMessage) or row["edited_role"] is None:
        return None
    return EditTarget(id=command.message_id, role=Role(row["edited_role"]))


def _identity_of(command: Command) -> str | None:
    if not isinstance(command, AnswerAction | SubmitToolResults) or command.by is None:
        return None
    return encode_text(command.by.identity)


def _barred(row: Row, command: Command) -> tuple[Barred, ...]:
    if row["restricted"] is None or not isinstance(command, AnswerAction | SubmitToolResults):
        return ()
    restricted = decode_json(row["restricted"], tuple[_Restricted, ...])
    return barred_calls(
        ((each.tool_call_id, each.answerers, each.asker) for each in restricted),
        by=command.by,
        groups=command.groups.union(kept_groups(row["people_groups"])),
    )
