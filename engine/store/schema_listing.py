"""Lists a database's schema as text that can be read, reviewed and compared: schema.sql.

`python -m engine.store.schema_listing postgresql://...` prints the listing of a migrated database.
"""

import asyncio
import sys

from engine.store.pool import Pool, open_pool
from engine.store.queries import query

_HEADER = (
    "-- What the migrations lead to, as the database tells it. Written by schema_listing.py.\n"
)


async def list_schema(pool: Pool) -> str:
    """Tables with columns, constraints, indexes and triggers, then functions; in a fixed order."""
    lines = [_HEADER]
    for table in await pool.fetch(query("schema_listing.tables")):
        kind = "UNLOGGED TABLE" if table["is_unlogged"] else "TABLE"
        parts = [f"    {part}" for part in (*table["columns"], *table["constraints"])]
        lines.append(f"CREATE {kind} {table['name']} (\n" + ",\n".join(parts) + "\n);")
        lines += [f"{definition};" for definition in (*table["indexes"], *table["triggers"])]
        lines.append("")
    for function in await pool.fetch(query("schema_listing.functions")):
        lines += [function["definition"].strip() + ";", ""]
    return "\n".join(lines).rstrip() + "\n"


async def _print_schema(url: str) -> None:
    pool = await open_pool(url, connections_max=1)
    try:
        sys.stdout.write(await list_schema(pool))
    finally:
        await pool.close()


if __name__ == "__main__":
    asyncio.run(_print_schema(sys.argv[1]))
