"""Reads what was said in a thread before the bot was spoken to, from where it last looked on.

Where the binding's `last_seen` stands, all before it is known to the chat: said to it, or quoted. It moves
on only when the whole of the thread was read, so what one reading missed the next one finds: replies
that came while their mention was on its way, messages of other apps, whatever was lost.
"""

import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from adapters.delivery.call_gates import FIND
from adapters.errors import RateLimited, SurfaceError, Unavailable
from adapters.slack.context_text import UNREAD, author_of, people_in, quotation
from adapters.slack.desk import Desk
from adapters.slack.translate import StartOrSend, is_stop
from adapters.slack.wire import Json, text_at
from engine.api import Binding

logger = logging.getLogger(__name__)

TRIES_MAX = 3
"""Of an event, while Slack does not show the thread; then the message goes on without."""
TURN_SECONDS_MAX = 2.0
"""How long one try waits for its turn among the calls of all replicas; the next try is later."""
PAGE_MESSAGES = 999
PAGES_MAX = 5
"""Slack begins with the oldest, so the newest are at the end of the last page."""
NAMES_MAX = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What goes with a message. `is_whole`: nothing of the thread was left unread."""

    text: str = ""
    is_whole: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    messages: list[Json]
    has_more: bool
    is_whole: bool


class ThreadContext:
    """Reads threads of one workspace for one event, which was tried `attempt` times with this one."""

    def __init__(self, desk: Desk, *, attempt: int) -> None:
        self._desk = desk
        self._attempt = attempt

    async def read_for(self, said: StartOrSend, binding: Binding | None) -> Context:
        """What the chat does not know yet of the thread before this message.

        Raises SurfaceError while it is worth asking Slack again.
        """
        is_wanted = said.thread != said.message_ts and (binding is None or said.is_mention)
        if not is_wanted or not self._desk.house.settings.context_messages:
            return Context()
        try:
            found = await self._find(said, binding)
        except (RateLimited, Unavailable) as error:
            if self._attempt < TRIES_MAX:
                raise
            return _without(error)
        except SurfaceError as error:
            return _without(error)
        names = await self._desk.workspace.people.names_of(
            sorted(people_in(found.messages))[:NAMES_MAX]
        )
        text = quotation(found.messages, self._desk.identity, names, has_more=found.has_more)
        return Context(text=text, is_whole=found.is_whole)

    async def _find(self, said: StartOrSend, binding: Binding | None) -> _Found:
        last_seen = (binding.last_seen if binding else None) or "0"
        root: list[Json] = []
        newest: deque[Json] = deque(maxlen=self._desk.house.settings.context_messages)
        count, cursor = 0, ""
        for _ in range(PAGES_MAX):
            async with self._desk.pace.call(FIND, said.channel, seconds_max=TURN_SECONDS_MAX):
                page, cursor = await self._desk.client.replies(
                    said.channel,
                    said.thread,
                    oldest=last_seen,
                    latest=said.message_ts,
                    cursor=cursor,
                    limit=PAGE_MESSAGES,
                )
            for message in await self._unknown(page, binding):
                if text_at(message, "ts") == said.thread:
                    root = [message] if last_seen == "0" else []
                elif text_at(message, "ts") != said.message_ts:
                    newest.append(message)
                    count += 1
            if not cursor:
                break
        has_more = bool(cursor) or count > len(newest)
        return _Found(messages=[*root, *newest], has_more=has_more, is_whole=not cursor)

    async def _unknown(self, page: Sequence[Json], binding: Binding | None) -> list[Json]:
        """What the chat does not have from its own hearing: neither what was said to it, nor its answers."""
        identity = self._desk.identity
        stop_words = self._desk.house.settings.stop_words
        heard = [message for message in page if not is_stop(message, identity, stop_words)]
        if binding is None:
            return heard
        keys = [identity.message_key(binding.thread.channel, text_at(m, "ts")) for m in heard]
        known = await self._desk.engine.known_sources(binding.chat_id, keys)
        return [
            message
            for message, key in zip(heard, keys, strict=True)
            if key not in known
            and author_of(message) not in (identity.bot_user_id, identity.bot_id)
        ]


def _without(error: SurfaceError) -> Context:
    logger.info("thread not read", extra={"action": "slack_thread_not_read", "code": error.code})
    return Context(text=UNREAD)
