"""What people do in the console: every form leads to one command of the engine."""

from dataclasses import replace

from aiohttp import web

from adapters.console import translate
from adapters.console.console import Trouble, Visit
from adapters.console.file_pages import files_of_message
from adapters.console.sentences import refusal_sentence
from engine.chat.commands import (
    AnswerAction,
    Archive,
    DeleteQueuedMessage,
    Interrupt,
    PromoteQueuedMessage,
    Unarchive,
)
from engine.chat.decision import Refusal
from engine.chat.ids import ActionId, MessageId, QueuedId


async def create(visit: Visit) -> web.Response:
    """Start a chat and go to it."""
    console = visit.console
    command = translate.create_chat(
        await visit.form(), visit.visitor, console.new_id(), console.bots
    )
    outcome = await console.engine.create_chat(command)
    if isinstance(outcome, Refusal):
        raise Trouble(422, refusal_sentence(outcome))
    return web.Response(status=303, headers={"Location": f"/chats/{outcome.chat_id}"})


async def send(visit: Visit) -> web.Response:
    """Send a message."""
    await visit.submit(translate.send_message(await visit.form(), visit.visitor))
    return _back_to_chat(visit)


async def edit(visit: Visit) -> web.Response:
    """Change a message and have it answered anew."""
    message_id = MessageId(visit.number("message_id"))
    command = translate.edit_message(await visit.form(), visit.visitor, message_id)
    files = await files_of_message(visit, message_id)
    await visit.submit(replace(command, content=(*command.content, *files)))
    return _back_to_chat(visit)


async def delete_queued(visit: Visit) -> web.Response:
    """Take a message out of the queue."""
    await visit.submit(DeleteQueuedMessage(queued_id=QueuedId(visit.number("queued_id"))))
    return _back_to_chat(visit)


async def promote_queued(visit: Visit) -> web.Response:
    """Have a message answered next."""
    await visit.submit(PromoteQueuedMessage(queued_id=QueuedId(visit.number("queued_id"))))
    return _back_to_chat(visit)


async def stop(visit: Visit) -> web.Response:
    """Stop what runs."""
    await visit.submit(Interrupt(by=visit.visitor))
    return _back_to_chat(visit)


async def change(visit: Visit) -> web.Response:
    """Give the chat another title, or pin or unpin it."""
    wanted = translate.details_change(await visit.form())
    outcome = await visit.console.engine.change_details(visit.chat_id, wanted)
    if isinstance(outcome, Refusal):
        raise Trouble(409, refusal_sentence(outcome))
    if not outcome:
        raise Trouble(404, "There is no such chat.")
    return _back_to_chat(visit)


async def archive(visit: Visit) -> web.Response:
    """Put the chat away."""
    await visit.submit(Archive())
    return _back_to_chat(visit)


async def unarchive(visit: Visit) -> web.Response:
    """Take the chat back out."""
    await visit.submit(Unarchive())
    return _back_to_chat(visit)


async def answer(visit: Visit) -> web.Response:
    """Answer a question."""
    action_id = ActionId(visit.number("action_id"))
    action = await visit.console.engine.read_action(action_id)
    if action is None or action.chat_id != visit.chat_id:
        raise Trouble(404, "There is no such question.")
    try:
        result = translate.answer_of(await visit.form(), action)
    except translate.AnswerInvalid as error:
        raise Trouble(422, error.sentence) from error
    await visit.submit(AnswerAction(action_id=action_id, result=result, by=visit.visitor))
    return _back_to_chat(visit)


def _back_to_chat(visit: Visit) -> web.Response:
    return visit.done(f"/chats/{visit.chat_id}")
