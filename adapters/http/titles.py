"""Titles: have a chat named anew."""

from adapters.http.call import Answer, Call
from adapters.http.errors import not_found
from adapters.http.refusals import problem_of
from engine.chat.decision import Refusal


async def regenerate(call: Call) -> Answer:
    """Ask for a new title; it comes soon, as a change of the chat."""
    asked = await call.engine.request_title(call.chat_id, call.caller.author)
    if isinstance(asked, Refusal):
        raise problem_of(asked)
    if not asked:
        raise not_found("chat")
    return Answer(status=202)
