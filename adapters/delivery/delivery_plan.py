"""What to do next so that a thread shows what it should, given what is known to be there (pure).

Theory of operation. Desired pages are compared with the pages that receipts speak of. Pages are
posted one after the other, in the order in which they should stand; edits wait for nobody. A page
whose post may or may not have arrived is looked up before anything is posted after it, so that no
page appears twice and none out of order. What is shown for a while only is a draft: it counts as
delivered when the final content is there and the ledger says so.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import sha256
from uuid import UUID, uuid5

from adapters.delivery.reply_items import ItemKey
from adapters.delivery.reply_view import ReplyView
from engine.chat.ids import MessageId

_NONCES = UUID("6f1d4a52-2a0c-4d6b-9b2e-5a1f0c7e9d34")
DRAFT_HASH = ""
"""The ledger's hash of a page that is not final: equal to no content, so it is always made final."""
GONE_HASH = "gone"
"""The ledger's hash of a page that people deleted: it is left alone."""


class PageState(StrEnum):
    """How a page stands on the platform, as far as we know."""

    ABSENT = "absent"
    UNKNOWN = "unknown"
    SHOWN = "shown"
    GONE = "gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownPage:
    """A page that was once attempted.

    UNKNOWN: the post may have arrived. GONE: people deleted it. `is_sealed`: the ledger holds
    `content_hash` as well, so whoever comes next need not touch the page. `is_streamed`: it was begun
    as a stream. `cut_at`: the page was ended on purpose when its item had this many characters.
    """

    key: ItemKey
    page: int
    state: PageState
    message_id: str | None = None
    content_hash: str = DRAFT_HASH
    is_sealed: bool = False
    is_streamed: bool = False
    cut_at: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedPage:
    """A page as it should be. A draft will change again, so it is not sealed."""

    content_hash: str
    is_draft: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedItem:
    """An item cut into pages; none while it has nothing to show."""

    key: ItemKey
    pages: tuple[WantedPage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LookUp:
    """Find out whether the page arrived."""

    key: ItemKey
    page: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """Post the page at the end of the thread."""

    key: ItemKey
    page: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Replace what the page shows. `is_final`: the reader is waiting for this one."""

    key: ItemKey
    page: int
    message_id: str
    is_final: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    """Take the page back."""

    key: ItemKey
    page: int
    message_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Seal:
    """Note in the ledger that what is shown is final."""

    key: ItemKey
    page: int
    message_id: str
    content_hash: str


Operation = LookUp | Post | Edit | Delete | Seal
KnownPages = Mapping[tuple[ItemKey, int], KnownPage]


def nonce_of(delivery_id: int, key: ItemKey, page: int) -> UUID:
    """The mark under which a page is found again: the same however often it is attempted."""
    return uuid5(_NONCES, f"{delivery_id}/{key}/{page}")


def hash_of(*facets: str) -> str:
    """A digest of all that a page shows."""
    return sha256("\x00".join(facets).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def adopt(wanted: Iterable[WantedItem], known: Iterable[ItemKey]) -> tuple[WantedItem, ...]:
    """Let the reply to an edited message take over the pages of the reply to the original."""
    held = set(known)
    by_source = {(key.source_key, key.segment): key for key in held if key.source_key}
    adopted = []
    for item in wanted:
        key = item.key
        if key not in held and key.source_key:
            key = by_source.get((key.source_key, key.segment), key)
        adopted.append(replace(item, key=key))
    return tuple(adopted)


def plan(
    wanted: Sequence[WantedItem],
    known: KnownPages,
    view: ReplyView,
    *,
    known_from: MessageId,
) -> tuple[Operation, ...]:
    """All that can be done now, the most important first. Nothing to do: the thread is right.

    `known_from`: the view speaks for all turns from this one on; earlier ones are left alone.
    """
    operations: list[Operation] = []
    may_post = True
    for item in wanted:
        for number, page in enumerate(item.pages):
            found = known.get((item.key, number))
            operation = _operation_for(item.key, number, page, found)
            if isinstance(operation, Post | LookUp):
                if may_post:
                    operations.append(operation)
                may_post = False
            elif operation is not None:
                operations.append(operation)
    kept = {item.key: len(item.pages) for item in wanted}
    for surplus in _surplus(kept, known.values(), view, known_from):
        if surplus.message_id is None:
            operations.append(LookUp(key=surplus.key, page=surplus.page))
        else:
            operations.append(
                Delete(key=surplus.key, page=surplus.page, message_id=surplus.message_id)
            )
    return tuple(operations)


def _operation_for(
    key: ItemKey, number: int, page: WantedPage, found: KnownPage | None
) -> Operation | None:
    if found is None or found.state is PageState.ABSENT:
        return Post(key=key, page=number)
    if found.state is PageState.GONE:
        return None
    if found.message_id is None:
        return LookUp(key=key, page=number)
    if found.content_hash != page.content_hash:
        return Edit(key=key, page=number, message_id=found.message_id, is_final=not page.is_draft)
    if page.is_draft or found.is_sealed:
        return None
    return Seal(key=key, page=number, message_id=found.message_id, content_hash=page.content_hash)


def _surplus(
    kept: Mapping[ItemKey, int],
    known: Iterable[KnownPage],
    view: ReplyView,
    known_from: MessageId,
) -> list[KnownPage]:
    """Pages that should not be there: of shrunk items, and of turns that were taken back."""
    found = []
    for page in known:
        if page.state in (PageState.ABSENT, PageState.GONE):
            continue
        pages = kept.get(page.key)
        if page.page >= pages if pages is not None else _is_withdrawn(page.key, view, known_from):
            found.append(page)
    return sorted(found, key=lambda page: (str(page.key), page.page))


def _is_withdrawn(key: ItemKey, view: ReplyView, known_from: MessageId) -> bool:
    if key.action_id is not None:
        return key.action_id in view.withdrawn
    of_last_turn = key.turn_id == view.last_turn_id or (
        key.source_key is not None and key.source_key == view.last_source_key
    )
    if of_last_turn:
        # Until the turn rests, its old pages wait for new text rather than vanish and come back.
        return view.is_resting and not view.is_settled
    if key.turn_id < known_from:
        return False
    return not (key.turn_id in view.turn_ids or key.source_key in view.source_keys)
