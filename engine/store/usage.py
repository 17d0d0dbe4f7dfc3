"""What models were used for, summed up from the records of all calls that were paid for."""

from datetime import datetime
from typing import Final

from engine.chat.ids import DEFAULT_ORGANIZATION, OrganizationId
from engine.chat.usage import COLUMNS, UsageBy, UsageReport, UsageRow
from engine.store.pool import Pool
from engine.store.queries import query
from engine.store.stored_json import decode_optional_text

ROWS_MAX: Final = 10_000
"""Of one report. Whoever has more people than this asks for a shorter time."""


class Usage:
    """Reports usage. Methods raise StoreUnavailable when the database is out of reach."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def report(
        self,
        by: UsageBy,
        *,
        organization_id: OrganizationId = DEFAULT_ORGANIZATION,
        since: datetime | None = None,
        until: datetime | None = None,
        rows_max: int = ROWS_MAX,
    ) -> UsageReport:
        """An organization's model calls from `since` on and before `until`, in groups."""
        rows = await self._pool.fetch(
            query("usage.report"), organization_id, by.value, since, until, rows_max + 1
        )
        found = tuple(
            UsageRow(
                key=decode_optional_text(row["key"]), **{column: row[column] for column in COLUMNS}
            )
            for row in rows[:rows_max]
        )
        return UsageReport(by=by, rows=found, is_cut=len(rows) > rows_max)
