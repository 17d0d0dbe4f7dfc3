"""A replica in a process of its own, to be killed: python -m tests.chaos.engine_process '{...}'.

It works on what it finds until it is killed, and notes every run of its tool in a file, which
outlives it.
"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from engine.agent.brain import Brain
from engine.models.client import HttpModel, model_session
from engine.models.model import ModelPrompt, ModelStream
from engine.models.parts import StreamResult
from engine.tools.definition import ToolDefinition
from engine.tools.registry import LocalTool, ToolContext
from tests.fakes.replica import TestReplica, brains_of, provider_at


class Orders(msgspec.Struct, frozen=True, kw_only=True):
    """What the process is to do. `dies_before_request`: instead of asking the model."""

    database_url: str
    model_url: str
    notes: str
    redis_url: str | None = None
    dies_before_request: bool = False


class DyingModel:
    """A provider in front of which the process falls dead."""

    def stream(self, _prompt: ModelPrompt) -> ModelStream:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError

    async def complete(self, _prompt: ModelPrompt) -> StreamResult:
        raise NotImplementedError


def deploy_tool(notes: Path) -> LocalTool:
    """A tool with a side effect: a line in the file. It ends once the file `wait_for` is there."""

    async def run(args: Mapping[str, Any], context: ToolContext) -> Any:
        with notes.open("a") as file:
            file.write(f"{context.tool_call_id}\n")
        while "wait_for" in args and not Path(args["wait_for"]).exists():  # noqa: ASYNC110, ASYNC240
            await asyncio.sleep(0.01)
        return f"deployed for {context.tool_call_id}"

    definition = ToolDefinition(name="deploy", description="Deploys.", timeout_seconds=600)
    return LocalTool(definition=definition, run=run)


@asynccontextmanager
async def running(orders: Orders) -> AsyncIterator[asyncio.subprocess.Process]:
    """The process, killed at the end of the block at the latest."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.chaos.engine_process", msgspec.json.encode(orders).decode()
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def work(orders: Orders) -> None:
    """Run the replica for good."""
    async with model_session() as session:
        client = HttpModel(session, provider_at(orders.model_url))
        brain = Brain(
            model=DyingModel() if orders.dies_before_request else client,
            model_name="test-model",
            system="You are Wren.",
            local_tools=(deploy_tool(Path(orders.notes)),),
        )
        async with TestReplica.start(
            orders.database_url, redis_url=orders.redis_url, brains=brains_of(brain)
        ):
            await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(work(msgspec.json.decode(sys.argv[1], type=Orders)))
