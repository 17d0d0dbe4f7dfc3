"""Every named query is one that the migrated schema knows."""

import pytest

from engine.store.pool import Pool
from engine.store.queries import Query, all_queries


@pytest.mark.parametrize("found", all_queries(), ids=lambda found: found.name)
async def test_query_can_be_prepared(pool: Pool, found: Query) -> None:
    async with pool.session() as connection:
        statement = await connection.prepare(found.sql)

        assert len(statement.get_parameters()) == len(found.parameters)
        assert bool(statement.get_attributes()) == (found.kind != "exec")
