"""Chats that begin without a message of a person's: their question is posted for them, and answered there.

The question is posted once: it carries a nonce of its order, and where nobody knows whether it arrived it is
looked for before it is posted again.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final
from uuid import NAMESPACE_URL, UUID, uuid5

from adapters.delivery.call_gates import FIND, POST
from adapters.errors import Denied
from adapters.slack.conversation import Conversation
from adapters.slack.desk import Desk
from adapters.slack.inbound_text import plain_text, users_in
from adapters.slack.limits import OPEN, READ
from adapters.slack.markup_inline import escape
from adapters.slack.orders import Begin
from adapters.slack.private_answer import answer_alone
from adapters.slack.translate import StartOrSend
from adapters.slack.wire import object_at, text_at
from engine.chat.content import Author

METADATA_EVENT: Final = "threadwright_question"
SHOWN_MAX: Final = 2_500
"""Characters of a question that are shown, before escaping; the model is given all of it."""
PAGES_MAX: Final = 5
WHY_NOT: Final[Mapping[str, str]] = {
    "not_in_channel": "I am not in this channel. Invite me there, then ask again.",
    "channel_not_found": "I cannot see this channel. Invite me there, then ask again.",
    "is_archived": "This channel is archived, so nothing can be said there any more.",
    "restricted_action": "I may not write in this channel.",
    "cannot_reply_to_message": "Slack does not let me answer this message.",
    "thread_not_found": "The message that this is about is gone.",
}
WHY_NOT_ELSE: Final = "Slack does not let me write there ({code})."


class QuestionPosts:
    """Begins chats for an event with this key, which was tried `attempt` times with this one."""

    def __init__(self, desk: Desk, *, event_key: str, attempt: int) -> None:
        self._desk = desk
        self._attempt = attempt
        self._nonce = uuid5(NAMESPACE_URL, f"{desk.identity.installation}:{event_key}")

    async def begin(self, order: Begin, author: Author, *, model: str | None) -> None:
        """Post the question and have it answered; tell the person alone where that cannot be."""
        text = await self._text(order)
        try:
            channel = await self._channel(order)
            ts = await self._post(order, channel, text)
        except Denied as error:
            why = WHY_NOT.get(error.code, WHY_NOT_ELSE.format(code=error.code))
            await answer_alone(self._desk, order.at, why)
            return
        said = StartOrSend(
            channel=channel,
            thread=order.thread or ts,
            user_id=order.at.user_id,
            message_ts=ts,
            source_key=self._desk.identity.message_key(channel, ts),
            text=_with_quotation(text, order.about),
            starts=True,
            is_mention=True,
        )
        desk = self._desk
        if model is not None:
            defaults = replace(desk.house.defaults, model=model)
            desk = replace(desk, house=replace(desk.house, defaults=defaults))
        await Conversation(desk, attempt=self._attempt).start_or_send(said, author)

    async def _text(self, order: Begin) -> str:
        if not order.is_escaped:
            return order.text
        names = await self._desk.workspace.people.names_of(users_in({"text": order.text}))
        return plain_text(order.text, names)

    async def _channel(self, order: Begin) -> str:
        if order.at.channel:
            return order.at.channel
        async with self._desk.pace.call(OPEN, order.at.user_id):
            return await self._desk.client.open_direct_message(order.at.user_id)

    async def _post(self, order: Begin, channel: str, text: str) -> str:
        """Post it unless it is there; its timestamp."""
        if self._attempt > 1 and (found := await self._find(channel, order.thread)):
            return found
        async with self._desk.pace.call(POST, channel):
            return await self._desk.client.post_message(
                question_arguments(order, channel, text, self._nonce)
            )

    async def _find(self, channel: str, thread: str) -> str:
        cursor = ""
        for _ in range(PAGES_MAX):
            async with self._desk.pace.call(FIND if thread else READ, channel):
                if thread:
                    page, cursor = await self._desk.client.replies(channel, thread, cursor=cursor)
                else:
                    page, cursor = await self._desk.client.history(channel, cursor=cursor)
            for message in page:
                metadata = object_at(message, "metadata")
                nonce = text_at(metadata, "event_payload", "nonce")
                if nonce == str(self._nonce):
                    return text_at(message, "ts")
            if not cursor:
                break
        return ""


def question_arguments(order: Begin, channel: str, text: str, nonce: UUID) -> dict[str, Any]:
    """The arguments of chat.postMessage for a question. Nothing in it calls anybody but its author."""
    shown = text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}…"
    quoted = "\n".join(f"> {escape(line)}" for line in shown.splitlines())
    return {
        "channel": channel,
        "text": f"<@{order.at.user_id}> asks:\n{quoted}",
        "thread_ts": order.thread or None,
        "metadata": {"event_type": METADATA_EVENT, "event_payload": {"nonce": str(nonce)}},
        "unfurl_links": False,
        "unfurl_media": False,
    }


def _with_quotation(text: str, about: str) -> str:
    if not about:
        return text
    quoted = "\n".join(f"> {line}" for line in about.splitlines())
    return f"{text}\n\n(This is about a message that says:)\n{quoted}"
