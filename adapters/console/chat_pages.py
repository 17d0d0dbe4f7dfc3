"""The pages that people look at: all chats, one chat, and its live changes."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote
from uuid import uuid4

from aiohttp import web

from adapters.console.access import LOCAL
from adapters.console.console import Trouble, Visit
from adapters.console.live import Change, LiveChat
from adapters.console.live_stream import STREAM_HEADERS
from adapters.console.sentences import status_view
from adapters.console.transcript import EntryView, Transcript
from adapters.console.translate import (
    chat_id_of,
    cursor_of,
    cursor_text,
    filter_of,
    number_of,
)
from engine.api import ListedChat, ListTooSlow, StoreError
from engine.chat.chat_query import QueryInvalid
from engine.chat.ids import ChatId, MessageId
from engine.chat.view import ChatView, ShownStatus

CHATS_SHOWN: Final = 40
MESSAGES_SHOWN: Final = 100
IDEAS: Final = (
    "Tell me something long",
    "Ask us: tea or coffee?",
    "What time is it?",
    "Show a table",
)
_BUSY: Final = (ShownStatus.PENDING, ShownStatus.RUNNING, ShownStatus.INTERRUPTING)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    """The list of chats beside a page. `address`: where a live page asks for it again."""

    chats: Sequence[ListedChat]
    older: str
    archived: bool
    query: str
    problem: str
    address: str

    def values(self, visit: Visit) -> dict[str, Any]:
        """What the layout shows of it."""
        return {
            "chats": self.chats,
            "older": self.older,
            "archived_list": self.archived,
            "query": self.query,
            "query_problem": self.problem,
            "sidebar_address": self.address,
            "visitor": visit.visitor,
            "can_sign_out": visit.visitor is not LOCAL,
        }


async def home(visit: Visit) -> web.Response:
    """A first message to write, and the chats there are."""
    side = await _side(visit)
    values = side.values(visit) | {"current": None, "ideas": IDEAS, "bots": visit.console.bots}
    return _html(visit.console.pages.page("home.html", **values))


async def sidebar(visit: Visit) -> web.Response:
    """The list of chats alone, for a page that is open."""
    side = await _side(visit)
    current = visit.request.query.get("current", "")
    return _html(visit.console.pages.chats(side.chats, current=chat_id_of(current)))


async def chat(visit: Visit) -> web.Response:
    """One chat, as it is now; the live stream goes on from here."""
    engine, chat_id = visit.console.engine, visit.chat_id
    before = number_of(visit.request.query.get("before", ""))
    view = await engine.read_chat(chat_id)
    if view is None:
        raise Trouble(404, "There is no such chat.")
    messages, queue, actions, side = await asyncio.gather(
        engine.read_messages(
            chat_id,
            before=None if before is None else MessageId(before),
            limit=MESSAGES_SHOWN + 1,
        ),
        engine.read_queue(chat_id),
        engine.read_actions(chat_id, only_open=False),
        _side(visit, current=chat_id),
    )
    shown = messages[-MESSAGES_SHOWN:]
    if shown and before is None:
        await engine.mark_read(chat_id, visit.visitor.identity, shown[-1].id)
    transcript = _transcript(visit, view)
    transcript.load(shown, actions)
    bot = name_of_bot(view)
    values = side.values(visit) | {
        "chat": view,
        "current": chat_id,
        "title": view.title or f"Chat of {view.created_at:%d %B, %H:%M}",
        "bot": bot,
        "entries": await _drawn(transcript),
        "last_id": transcript.last_id,
        "earlier": f"?before={shown[0].id}" if len(messages) > MESSAGES_SHOWN else "",
        "queue": queue,
        "actions": [action for action in actions if action.state == "open"],
        "status": status_view(
            view.status, bot=bot, archived=view.archived, retry=view.retry, error=view.last_error
        ),
        "is_busy": view.status in _BUSY,
        "message_key": uuid4().hex,
    }
    return _html(visit.console.pages.page("chat.html", **values))


async def live_head(visit: Visit) -> web.StreamResponse:
    """The headers of the stream alone: nobody reads what would follow."""
    if await visit.console.engine.read_chat(visit.chat_id) is None:
        raise Trouble(404, "There is no such chat.")
    return web.Response(headers=STREAM_HEADERS)


async def live(visit: Visit) -> web.StreamResponse:
    """Everything that changes on a chat's page, until the page is closed."""
    request, engine, chat_id = visit.request, visit.console.engine, visit.chat_id
    after_id = _after_of(request)
    view = await engine.read_chat(chat_id)
    if view is None:
        raise Trouble(404, "There is no such chat.")
    known = await engine.read_messages(
        chat_id, before=MessageId(after_id + 1), limit=MESSAGES_SHOWN
    )
    # A page whose last message was taken back meanwhile begins anew.
    goes_on = after_id == 0 or (bool(known) and known[-1].id == after_id)
    transcript = _transcript(visit, view)
    actions = await engine.read_actions(chat_id, only_open=False)
    transcript.load(known if goes_on else (), actions)
    page = LiveChat(
        visit.console.pages,
        visit.console.markdown,
        transcript,
        chat_id=chat_id,
        visitor=visit.visitor,
        bot=name_of_bot(view),
    )
    first: list[Change] = [{"do": "clear"}] if goes_on else page.begin_again()
    response = web.StreamResponse(headers=STREAM_HEADERS)
    await response.prepare(request)
    async with _reading(visit, page):
        await visit.console.streams.serve(request, response, page, chat_id=chat_id, first=first)
    return response


@asynccontextmanager
async def _reading(visit: Visit, page: LiveChat) -> AsyncIterator[None]:
    """Mark as read what is shown now, and what was shown when the page is closed."""
    await _mark_read(visit, page.last_id)
    try:
        yield
    finally:
        await _mark_read(visit, page.last_id)


async def _mark_read(visit: Visit, last_id: MessageId) -> None:
    # A mark is a convenience: that the database is away is no reason to end a page's stream.
    with suppress(StoreError):
        await visit.console.engine.mark_read(visit.chat_id, visit.visitor.identity, last_id)


def name_of_bot(view: ChatView) -> str:
    """A bot's name for people."""
    return view.bot.replace("_", " ").replace("-", " ").capitalize()


def _after_of(request: web.Request) -> MessageId:
    """The message that a stream goes on from; 0: from the beginning. Raises Trouble 400."""
    asked = request.headers.get("Last-Event-ID") or request.query.get("after") or "0"
    after = number_of(asked)
    if after is None:
        raise Trouble(400, "No message has such a number.")
    return MessageId(after)


def _transcript(visit: Visit, view: ChatView) -> Transcript:
    return Transcript(visit.console.markdown, visitor=visit.visitor.identity, bot=name_of_bot(view))


async def _drawn(transcript: Transcript) -> list[EntryView]:
    """All entries. Whoever else waits is served between two of them."""
    entries = []
    for entry in transcript.entries():
        entries.append(entry)
        await asyncio.sleep(0)
    return entries


async def _side(visit: Visit, *, current: ChatId | None = None) -> _Side:
    query = visit.request.query
    archived = query.get("archived") == "1"
    older_than = query.get("older", "")
    text = query.get("q", "").strip()
    found: Sequence[ListedChat] = ()
    problem = ""
    try:
        found = await visit.console.engine.list_chats(
            filter_of(text, archived=archived),
            identity=visit.visitor.identity,
            after=cursor_of(older_than),
            limit=CHATS_SHOWN + 1,
        )
    except QueryInvalid as error:
        problem = f"This cannot be searched for: it {error.detail}."
    except ListTooSlow:
        problem = "The search took too long. Please add another word."
    shown = found[:CHATS_SHOWN]
    flags = ("&archived=1" if archived else "") + (f"&q={quote(text)}" if text else "")
    older = ""
    if len(found) > CHATS_SHOWN:
        older = f"/?older={cursor_text(shown[-1].cursor)}{flags}"
    # A page of older chats is a look into the past: it need not follow what happens.
    address = "" if older_than or problem else f"/sidebar?current={current or ''}{flags}"
    return _Side(
        chats=shown, older=older, archived=archived, query=text, problem=problem, address=address
    )


def _html(text: str) -> web.Response:
    return web.Response(text=text, content_type="text/html")
