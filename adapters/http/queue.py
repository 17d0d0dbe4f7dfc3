"""The queue of a chat: what waits, and what people do about it."""

from adapters.http import views
from adapters.http.call import Answer, Call
from adapters.http.files import with_stored_files
from adapters.http.translate import edit_queued, number_of
from engine.chat.commands import DeleteQueuedMessage, PromoteQueuedMessage
from engine.chat.ids import QueuedId


async def list_(call: Call) -> Answer:
    """What waits, in the order in which it will be answered."""
    await call.require_chat()
    return Answer(body=views.queue(await call.engine.read_queue(call.chat_id)))


async def edit(call: Call) -> Answer:
    """Change a message that waits."""
    command = await with_stored_files(call.engine, edit_queued(call.body, _id_of(call)))
    return Answer(body=views.applied(await call.submit(command)))


async def delete(call: Call) -> Answer:
    """Take a message out of the queue."""
    await call.submit(DeleteQueuedMessage(queued_id=_id_of(call)))
    return Answer(status=204)


async def promote(call: Call) -> Answer:
    """Have a message answered next."""
    applied = await call.submit(PromoteQueuedMessage(queued_id=_id_of(call)))
    return Answer(body=views.applied(applied))


def _id_of(call: Call) -> QueuedId:
    return QueuedId(number_of(call.path, "queued_id", "queued message"))
