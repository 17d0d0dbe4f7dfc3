"""What the driver raises, translated into the store's errors. Nothing else knows asyncpg's tree."""

import asyncpg

from engine.store.errors import StoreError, StoreRefused, StoreUnavailable

FAULTS = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
)
"""Everything that the driver raises for reasons that lie outside this program, or inside it."""

_UNAVAILABLE = (
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.TransactionRollbackError,
    asyncpg.LockNotAvailableError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
)


def translate_fault(fault: BaseException) -> StoreError:
    """StoreUnavailable when asking again may succeed, StoreRefused when it cannot."""
    text = f"{type(fault).__name__}: {fault}" if str(fault) else type(fault).__name__
    if isinstance(fault, ValueError):
        return StoreRefused(text)
    if isinstance(fault, _UNAVAILABLE):
        return StoreUnavailable(text)
    return StoreRefused(text)
