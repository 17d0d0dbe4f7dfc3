"""From the console's forms to commands of the engine (pure)."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from math import isfinite
from typing import Any, Final
from uuid import UUID

from msgspec import UNSET

from engine.api import ChatCursor
from engine.chat.actions import RequiredAction
from engine.chat.chat_query import KEYS, ChatFilter, parse_chat_query, search_of
from engine.chat.commands import BusyBehavior, CreateChat, EditMessage, SendMessage
from engine.chat.content import Author, Content, plain
from engine.chat.details import PIN_LAST, DetailsChange
from engine.chat.form import Field, FieldKind, Form, FormKind
from engine.chat.form_answers import answer_of_fields, answer_of_option
from engine.chat.ids import ChatId, MessageId

TITLE_LENGTH_MAX: Final = 200
"""Characters of a title that a person gives."""
FIELD_PREFIX: Final = "field."
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_ID_MAX: Final = 2**63 - 2
"""The database counts to one more, and the number after this one must fit too."""

FormData = Mapping[str, Sequence[str]]
"""Every field of a form with its values, in order."""


class AnswerInvalid(Exception):
    """A form was filled in wrongly; `sentence` says how to mend it."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


def create_chat(data: FormData, by: Author, new_id: UUID, bots: Sequence[str]) -> CreateChat:
    """A new chat. It has no title yet, so that the engine names it."""
    bot = text_of_field(data, "bot")
    return CreateChat(
        chat_id=ChatId(new_id),
        content=content_of(text_of_field(data, "content")),
        author=by,
        bot=bot if bot in bots else bots[0],
    )


def send_message(data: FormData, by: Author) -> SendMessage:
    """A message; it interrupts if the button for that was pressed."""
    interrupts = text_of_field(data, "busy") == BusyBehavior.INTERRUPT
    # The page makes a key for every message, so that one that is sent twice is there once.
    key = text_of_field(data, "key")[:64]
    return SendMessage(
        content=content_of(text_of_field(data, "content")),
        author=by,
        source_key=f"{by.identity}:{key}" if key else None,
        busy=BusyBehavior.INTERRUPT if interrupts else BusyBehavior.QUEUE,
    )


def edit_message(data: FormData, by: Author, message_id: MessageId) -> EditMessage:
    """A changed message, answered anew."""
    content = content_of(text_of_field(data, "content"))
    return EditMessage(message_id=message_id, content=content, author=by)


def answer_of(data: FormData, action: RequiredAction) -> Any:
    """What was chosen or filled in. Raises AnswerInvalid."""
    form = action.form
    if form is None:
        raise AnswerInvalid("A program has to answer this.")
    if option := text_of_field(data, "option"):
        try:
            return answer_of_option(form, int(option))
        except (ValueError, IndexError):
            raise AnswerInvalid("The question has no such option.") from None
    if form.kind is not FormKind.MODAL or not form.fields:
        raise AnswerInvalid("Please choose one of the options.")
    result, problems = answer_of_fields(form, _values_of(data, form))
    if problems:
        labels = {field.name: field.label for field in form.fields}
        told = " ".join(f"{labels[name]}: {problem}" for name, problem in problems.items())
        raise AnswerInvalid(told)
    return result


def content_of(text: str) -> Content:
    """What somebody typed. Browsers send lines ended by CR LF."""
    return plain(text.replace("\r\n", "\n"))


def text_of_field(data: FormData, name: str) -> str:
    """The last value of a field; empty if it was not sent."""
    values = data.get(name) or ("",)
    return values[-1]


def written(field: Field) -> str:
    """What a field that people write in begins with, as they would write it."""
    initial = field.initial
    if initial is None:
        return ""
    if isinstance(initial, list) and field.kind is not FieldKind.JSON:
        return "\n".join(str(item) for item in initial)
    return initial if isinstance(initial, str) else json.dumps(initial, ensure_ascii=False)


def chat_id_of(text: str) -> ChatId | None:
    """The chat that a path names."""
    try:
        return ChatId(UUID(text))
    except ValueError:
        return None


def number_of(text: str) -> int | None:
    """The number that a path or a query names."""
    if not (text.isascii() and text.isdigit()) or len(text) > 19 or int(text) > _ID_MAX:
        return None
    return int(text)


def _values_of(data: FormData, form: Form) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for field in form.fields:
        given = [value for value in data.get(FIELD_PREFIX + field.name, ()) if value != ""]
        if field.kind is FieldKind.CHOICES:
            values[field.name] = given
        elif given:
            values[field.name] = given[-1]
    return values


def cursor_text(cursor: ChatCursor) -> str:
    """Where a list goes on, as an address carries it."""
    micros = (cursor.created_at - _EPOCH) // timedelta(microseconds=1)
    rank = "" if cursor.pin_rank is None else f"-{cursor.pin_rank.hex()}"
    return f"{micros}-{cursor.chat_id.hex}{rank}"


def cursor_of(text: str) -> ChatCursor | None:
    """What `cursor_text` made; None for anything else."""
    micros, _, rest = text.partition("-")
    hex_id, _, hex_rank = rest.partition("-")
    number, chat_id = number_of(micros), chat_id_of(hex_id)
    if number is None or chat_id is None:
        return None
    try:
        created_at = _EPOCH + timedelta(microseconds=number)
        rank = float.fromhex(hex_rank) if hex_rank else None
    except (OverflowError, ValueError):
        return None
    if rank is not None and not isfinite(rank):
        return None
    return ChatCursor(created_at=created_at, chat_id=chat_id, pin_rank=rank)


def filter_of(text: str, *, archived: bool) -> ChatFilter:
    """What is typed into the search box: a filter as programs write it, or just words.

    Raises QueryInvalid.
    """
    is_filter = any(word.partition(":")[0] in KEYS for word in text.split() if ":" in word)
    wanted = text if is_filter else search_of(text)
    return parse_chat_query(wanted, archived=archived)


def details_change(data: FormData) -> DetailsChange:
    """A new title, or a pin set or taken away."""
    title = text_of_field(data, "title").strip()[:TITLE_LENGTH_MAX] if "title" in data else UNSET
    if text_of_field(data, "pinned"):
        pinned = text_of_field(data, "pinned") == "yes"
        return DetailsChange(title=title, pin_order=PIN_LAST if pinned else 0)
    return DetailsChange(title=title or None if title is not UNSET else UNSET)
