"""Titles: have a chat named anew."""

from adapters.http.call import Answer, Call
from adapters.http.errors import not_found
from adapters.http.refusals import problem_of
from engine.chat.decision import Refusal, RefusalReason


async def regenerate(call: Call) -> Answer:
    """Ask for a new title; it comes soon, as a change of the chat."""
    is_asked = await call.engine.request_title(call.chat_id)
    if is_asked is None:
        raise not_found("chat")
    if not is_asked:
        raise problem_of(Refusal(reason=RefusalReason.ARCHIVED))
    return Answer(status=202)
