"""Messages of a chat: read, send, edit."""

from dataclasses import replace

from adapters.http import views
from adapters.http.call import Answer, Call
from adapters.http.errors import key_reused
from adapters.http.files import with_stored_files
from adapters.http.queries import messages_query
from adapters.http.translate import edit_message, number_of, send_message
from engine.api import Applied, MessageRef, QueuedRef
from engine.chat.content import Content
from engine.chat.decision import Effect
from engine.chat.ids import MessageId

_STATUS_OF_EFFECT = {Effect.INSERTED: 201, Effect.QUEUED: 202}


async def list_(call: Call) -> Answer:
    """A page of the history, in order."""
    query = messages_query(call.query)
    await call.require_chat()
    page = await call.engine.read_messages(
        call.chat_id, after=query.after, before=query.before, limit=query.limit + 1
    )
    return Answer(body=views.messages(page, query.limit, forward=query.after is not None))


async def send(call: Call) -> Answer:
    """Send a message: 201 it is in the history, 202 it waits, 200 it was known already."""
    command = await with_stored_files(call.engine, send_message(call.body, call.sender))
    applied = await call.submit(command)
    if applied.effect is Effect.DUPLICATE and command.source_key is not None:
        applied = await _original(call, applied, command.source_key, command.content)
    return Answer(status=_STATUS_OF_EFFECT.get(applied.effect, 200), body=views.applied(applied))


async def edit(call: Call) -> Answer:
    """Change a message of a person and answer it anew, or only change it."""
    message_id = MessageId(number_of(call.path, "message_id", "message"))
    command = edit_message(call.body, call.sender, message_id)
    applied = await call.submit(await with_stored_files(call.engine, command))
    return Answer(body=views.applied(applied))


async def _original(call: Call, applied: Applied, source_key: str, content: Content) -> Applied:
    """The same, with the id of the message that was sent with this key, unless it is gone.

    Raises Problem 422 if that message says something else.
    """
    match await call.engine.find_message_by_source(call.chat_id, source_key):
        case MessageRef(message_id=message_id):
            page = await call.engine.read_messages(
                call.chat_id, after=MessageId(message_id - 1), limit=1
            )
            there = [message.content for message in page if message.id == message_id]
            applied = replace(applied, message_ids=(message_id,))
        case QueuedRef(queued_id=queued_id):
            queue = await call.engine.read_queue(call.chat_id)
            there = [waiting.content for waiting in queue if waiting.id == queued_id]
            applied = replace(applied, queued_id=queued_id)
        case None:
            return applied
    if there and there[0] != content:
        raise key_reused()
    return applied
