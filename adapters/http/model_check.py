"""Refuses a chat's model that nobody could be answered by, before anything is stored."""

from adapters.http.call import Call
from adapters.http.fields import Mistakes
from engine.chat.errors import ChatError, ErrorKind


async def check_model(call: Call, reference: object) -> None:
    """Raise Problem 422 for a model that is unknown or ambiguous, with those that there are.

    One that is only switched off is taken, and answers when it is on again. Where no model is configured
    at all, whoever made the engine knows better.
    """
    if not isinstance(reference, str) or not reference.strip():
        return
    catalog = await call.engine.models.current()
    if not catalog.providers:
        return
    found = catalog.resolve(reference)
    if isinstance(found, ChatError) and found.kind is ErrorKind.CONFIG:
        mistakes = Mistakes()
        mistakes.add("model", f"cannot be asked: {found.message}")
        mistakes.raise_if_any()
