"""What the platform counts each operation of a plan as (pure)."""

from typing import assert_never

from adapters.delivery.call_gates import DELETE, EDIT, FIND, POST
from adapters.delivery.delivery_plan import Delete, Edit, LookUp, Operation, Post, Seal


def method_of(operation: Operation) -> str | None:
    """The method by which an operation is done; None for what the platform never hears of."""
    match operation:
        case Post():
            return POST
        case Edit():
            return EDIT
        case Delete():
            return DELETE
        case LookUp():
            return FIND
        case Seal():
            return None
    assert_never(operation)
