"""API tokens, for administrators: make, list, revoke. A secret is shown once, when it is made."""

from adapters.http import views
from adapters.http.auth import TokenRole
from adapters.http.call import Answer, Call
from adapters.http.errors import not_found
from adapters.http.translate import new_token, number_of


async def create(call: Call) -> Answer:
    """Make a token."""
    wanted = new_token(call.body, tuple(role.value for role in TokenRole))
    token_id, secret = await call.engine.tokens.create_token(wanted.name, wanted.role)
    made = {"id": token_id, "name": wanted.name, "role": wanted.role, "token": secret}
    return Answer(status=201, body=made)


async def list_(call: Call) -> Answer:
    """All tokens, revoked ones too, without their secrets."""
    infos = await call.engine.tokens.list_tokens()
    return Answer(body={"tokens": [views.token(info) for info in infos]})


async def revoke(call: Call) -> Answer:
    """Refuse a token from now on."""
    token_id = number_of(call.path, "token_id", "token")
    if not await call.engine.tokens.revoke_token(token_id):
        raise not_found("token")
    return Answer(status=204)
