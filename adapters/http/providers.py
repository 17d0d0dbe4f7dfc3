"""Model providers and people's keys for them, for administrators. No answer ever holds a key."""

from adapters.http.call import Answer, Call
from adapters.http.errors import not_found
from adapters.http.provider_bodies import problem_of_rejection, provider_fields, user_key
from adapters.http.provider_views import model, provider
from engine.api import Rejection


async def list_(call: Call) -> Answer:
    """All providers with their models."""
    catalog = call.engine.catalog
    models = await catalog.list_models()
    shown = [
        {
            **provider(info),
            "models": [model(each) for each in models if each.provider_id == info.id],
        }
        for info in await catalog.list_providers()
    ]
    return Answer(body={"providers": shown})


async def create(call: Call) -> Answer:
    """Add a provider."""
    outcome = await call.engine.catalog.create_provider(provider_fields(call.body))
    if isinstance(outcome, Rejection):
        raise problem_of_rejection(outcome, "provider")
    return Answer(status=201, body=provider(outcome))


async def update(call: Call) -> Answer:
    """Change a provider."""
    fields = provider_fields(call.body)
    outcome = await call.engine.catalog.update_provider(call.path["provider"], fields)
    if isinstance(outcome, Rejection):
        raise problem_of_rejection(outcome, "provider")
    return Answer(body=provider(outcome))


async def delete(call: Call) -> Answer:
    """Remove a provider."""
    outcome = await call.engine.catalog.delete_provider(call.path["provider"])
    if isinstance(outcome, Rejection):
        raise problem_of_rejection(outcome, "provider")
    return Answer(status=204)


async def set_user_key(call: Call) -> Answer:
    """Keep somebody's own key."""
    name, identity = call.path["provider"], call.path["identity"]
    outcome = await call.engine.catalog.set_user_key(name, identity, user_key(call.body))
    if outcome is not None:
        raise problem_of_rejection(outcome, "provider")
    return Answer(status=204)


async def delete_user_key(call: Call) -> Answer:
    """Forget somebody's own key."""
    if not await call.engine.catalog.delete_user_key(call.path["provider"], call.path["identity"]):
        raise not_found("key")
    return Answer(status=204)
