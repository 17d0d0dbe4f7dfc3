"""Messages of a chat: read, send, edit."""

from adapters.http import views
from adapters.http.call import Answer, Call
from adapters.http.queries import messages_query
from adapters.http.translate import edit_message, number_of, send_message
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
    applied = await call.submit(send_message(call.body, call.sender))
    return Answer(status=_STATUS_OF_EFFECT.get(applied.effect, 200), body=views.applied(applied))


async def edit(call: Call) -> Answer:
    """Change a message of a person and answer it anew, or only change it."""
    message_id = MessageId(number_of(call.path, "message_id", "message"))
    applied = await call.submit(edit_message(call.body, call.sender, message_id))
    return Answer(body=views.applied(applied))
