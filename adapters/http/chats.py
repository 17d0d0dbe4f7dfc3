"""Chats: make, list, look at, and all that is asked of a whole chat."""

from adapters.http import views
from adapters.http.call import Answer, Call
from adapters.http.errors import filter_too_slow, key_reused
from adapters.http.files import with_stored_files
from adapters.http.model_check import check_model
from adapters.http.queries import chats_query
from adapters.http.refusals import problem_of
from adapters.http.translate import create_chat
from engine.api import Existing, ListTooSlow
from engine.chat.commands import (
    Archive,
    ClearContext,
    Interrupt,
    RequestCompaction,
    Unarchive,
)
from engine.chat.decision import Refusal


async def create(call: Call) -> Answer:
    """Make a chat with its first message; the same idempotency key again finds it."""
    command = create_chat(
        call.body,
        call.sender,
        call.around.new_id(),
        bots=call.around.bots,
        check_tools=call.around.check_tools,
    )
    await check_model(call, command.model)
    command = await with_stored_files(call.engine, command)
    outcome = await call.engine.create_chat(command)
    if isinstance(outcome, Refusal):
        raise problem_of(outcome)
    if isinstance(outcome, Existing) and command.source_key is not None:
        same = await call.engine.find_message_by_source(outcome.chat_id, command.source_key)
        if same is None:
            raise key_reused()
    view = await call.look_at(outcome.chat_id)
    where = {"Location": f"/api/v1/chats/{outcome.chat_id}"}
    status = 200 if isinstance(outcome, Existing) else 201
    return Answer(status=status, body=views.chat(view), headers=where)


async def list_(call: Call) -> Answer:
    """A page of chats, pinned first, then newest first."""
    query = chats_query(call.query)
    try:
        page = await call.engine.list_chats(
            query.wanted,
            identity=call.caller.author.identity,
            after=query.after,
            limit=query.limit + 1,
        )
    except ListTooSlow:
        raise filter_too_slow() from None
    return Answer(body=views.chats(page, query.limit))


async def get(call: Call) -> Answer:
    """One chat."""
    return Answer(body=views.chat(await call.look_at(call.chat_id)))


async def interrupt(call: Call) -> Answer:
    """Stop what runs, keeping what was streamed."""
    return Answer(body=views.applied(await call.submit(Interrupt(by=call.caller.author))))


async def archive(call: Call) -> Answer:
    """Put the chat away."""
    return Answer(body=views.applied(await call.submit(Archive())))


async def unarchive(call: Call) -> Answer:
    """Take the chat back out."""
    return Answer(body=views.applied(await call.submit(Unarchive())))


async def compact(call: Call) -> Answer:
    """Have what was said summarised for the model."""
    return Answer(body=views.applied(await call.submit(RequestCompaction(by=call.caller.author))))


async def clear_context(call: Call) -> Answer:
    """Let the model forget what came before."""
    return Answer(body=views.applied(await call.submit(ClearContext())))
