"""What the platform counts each operation of a plan as (pure)."""

from typing import assert_never

from adapters.delivery.call_gates import APPEND, CLOSE, DELETE, EDIT, FIND, POST, START
from adapters.delivery.delivery_plan import Delete, Edit, LookUp, Post, Seal
from adapters.delivery.stream_operations import AnyOperation, Finish, Grow, Start, StreamOperation


def method_of(operation: AnyOperation) -> str | None:
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
        case Start() | Grow() | Finish():
            return _method_of_stream(operation)
        case Seal():
            return None
    assert_never(operation)


def _method_of_stream(operation: StreamOperation) -> str:
    match operation:
        case Start():
            return START
        case Grow():
            return APPEND
        case Finish():
            return CLOSE
    assert_never(operation)
