"""API tokens: the secret is shown once and known by its hash alone."""

from engine.store.pool import Pool
from engine.store.tokens import Tokens
from tests.store.story import sql


async def test_token_is_known_by_its_secret_until_it_is_revoked(pool: Pool) -> None:
    tokens = Tokens(pool)
    token_id, secret = await tokens.create_token("Ada's script", "admin")

    info = await tokens.verify_token(secret)

    assert info is not None
    assert (info.id, info.name, info.role) == (token_id, "Ada's script", "admin")
    assert await tokens.verify_token(secret[:-1]) is None
    assert await tokens.verify_token("\ud800\x00") is None
    assert await tokens.revoke_token(token_id)
    assert not await tokens.revoke_token(token_id)
    assert await tokens.verify_token(secret) is None
    (listed,) = await tokens.list_tokens()
    assert listed.revoked_at is not None
    assert listed.last_used_at is not None


async def test_secret_is_not_stored(pool: Pool) -> None:
    _, secret = await Tokens(pool).create_token("x", "admin")

    (row,) = await sql(pool, "SELECT t::text FROM api_tokens AS t")

    assert secret not in row["t"]
    assert secret.encode().hex() not in row["t"]


async def test_use_is_noted_once_a_minute(pool: Pool) -> None:
    tokens = Tokens(pool)
    _, secret = await tokens.create_token("x", "admin")
    await tokens.verify_token(secret)
    before = pool.statement_count

    await tokens.verify_token(secret)

    assert pool.statement_count - before == 1
