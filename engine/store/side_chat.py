"""A chat as far as work beside its turns must know it: whose it is and who answers for it."""

from dataclasses import dataclass

from engine.chat.content import Author
from engine.chat.ids import ChatId, OrganizationId
from engine.store.pool import Row
from engine.store.stored_json import decode_optional, decode_optional_text, decode_text


@dataclass(frozen=True, slots=True, kw_only=True)
class SideChat:
    """Who is asked for a title or a summary, and on whose account."""

    chat_id: ChatId
    organization_id: OrganizationId
    bot: str
    model: str | None
    owner: Author | None
    records_calls: bool = False


def side_chat_of(row: Row) -> SideChat:
    """The chat of a row that names it."""
    return SideChat(
        chat_id=row["chat_id"],
        organization_id=row["organization_id"],
        bot=decode_text(row["bot"]),
        model=decode_optional_text(row["model"]),
        owner=decode_optional(row["owner"], Author),
        records_calls=row["records_calls"],
    )
