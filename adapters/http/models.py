"""Models: what everybody may ask for, and what administrators make of it."""

from uuid import UUID

from adapters.http.call import Answer, Call
from adapters.http.errors import not_found
from adapters.http.provider_bodies import model_fields, new_model, problem_of_rejection
from adapters.http.provider_views import choice, model
from engine.api import Rejection


async def list_(call: Call) -> Answer:
    """What may be asked for, as it stands for whoever has this token."""
    found = await call.engine.models.choices(call.caller.author.identity)
    return Answer(body={"models": [choice(each) for each in found]})


async def create(call: Call) -> Answer:
    """Add a model."""
    provider, fields = new_model(call.body)
    outcome = await call.engine.catalog.create_model(provider, fields)
    if isinstance(outcome, Rejection):
        raise problem_of_rejection(outcome, "provider")
    return Answer(status=201, body=model(outcome))


async def update(call: Call) -> Answer:
    """Change a model."""
    fields = model_fields(call.body)
    outcome = await call.engine.catalog.update_model(_model_id(call), fields)
    if isinstance(outcome, Rejection):
        raise problem_of_rejection(outcome, "model")
    return Answer(body=model(outcome))


async def delete(call: Call) -> Answer:
    """Remove a model."""
    outcome = await call.engine.catalog.delete_model(_model_id(call))
    if isinstance(outcome, Rejection):
        raise problem_of_rejection(outcome, "model")
    return Answer(status=204)


def _model_id(call: Call) -> UUID:
    try:
        return UUID(call.path["model_id"])
    except ValueError:
        raise not_found("model") from None
