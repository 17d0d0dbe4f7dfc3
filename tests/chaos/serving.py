"""Replicas of the real program as processes of their own, to be killed at any moment.

async with serving(slack, model, database_url, redis_url) as house:
    first = await house.start()
    question = await ada.say(harbour, "<@BOT> hi")
    await first.kill()
    await house.start()

Slack, the model provider and the databases stay with the test. Whatever happens, every process is dead
when the block ends, and each dies with the test process.
"""

import asyncio
import ctypes
import json
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from engine.store.errors import StoreUnavailable
from tests.fakes.model_server import FakeModel
from tests.fakes.slack_server import FakeSlack

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 30.0
LEASE_SECONDS = 1.5
"""Short enough to wait for, long enough for a busy machine to keep."""
_PROGRAM = (sys.executable, "-m", "bots", "serve", "--roles")
_PACE = {
    "THREADWRIGHT_WORKER_LEASE_SECONDS": str(LEASE_SECONDS),
    "THREADWRIGHT_WORKER_HEARTBEAT_SECONDS": "0.3",
    "THREADWRIGHT_WORKER_POLL_SECONDS": "0.2",
    "THREADWRIGHT_DELIVERY_LEASE_SECONDS": str(LEASE_SECONDS),
    "THREADWRIGHT_DELIVERY_HEARTBEAT_SECONDS": "0.3",
    "THREADWRIGHT_DELIVERY_POLL_SECONDS": "0.1",
    "THREADWRIGHT_SLACK_EDIT_INTERVAL_MS_MIN": "100",
    # Long replies are told in messages to their end.
    "THREADWRIGHT_DELIVERY_PAGES_MAX": "100",
    "THREADWRIGHT_SLACK_CALL_RATE": "50",
    # A mark set after the end of a test would be told of to nobody.
    "THREADWRIGHT_SLACK_DONE_REACTION": "off",
    "THREADWRIGHT_SLACK_FAILED_REACTION": "off",
    "THREADWRIGHT_SLACK_SOCKETS": "1",
    # Replies grow by edits unless a test says otherwise.
    "THREADWRIGHT_SLACK_STREAMING": "edits",
    "THREADWRIGHT_SLACK_STREAM_INTERVAL_MS": "100",
    # The model sees no request that a test did not cause.
    "THREADWRIGHT_TITLES_ENABLED": "false",
    "THREADWRIGHT_NOTIFICATIONS_POLL_SECONDS": "0.1",
}
_DIE_WITH_PARENT = 1
_SDK_LOGGER = "threadwright.slack.sdk"
"""The SDK calls it an error that it cannot acknowledge on a socket that is closed."""
_TAIL_LINES = 30
_LINE_BYTES_MAX = 1024 * 1024


class Replica:
    """One process. `lines` are its log lines, `said` what it told the operator besides."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._reading = asyncio.create_task(self._read())
        self._heard = asyncio.Condition()
        self.lines: list[dict[str, Any]] = []
        self.said: list[str] = []

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.returncode is None

    @property
    def url(self) -> str:
        """Where it listens over HTTP."""
        return str(self.logged("listening")[0]["address"])

    def logged(self, action: str) -> list[dict[str, Any]]:
        """Its log lines of this action."""
        return [line for line in self.lines if line.get("action") == action]

    async def until_logged(self, action: str) -> dict[str, Any]:
        """Wait for the first log line of this action; fail when the process ends without."""
        async with asyncio.timeout(PATIENCE_SECONDS), self._heard:
            await self._heard.wait_for(lambda: self.logged(action) or self._reading.done())
        assert self.logged(action), f"no {action}; it said {self.said} {self.lines}"
        return self.logged(action)[0]

    async def kill(self) -> None:
        """End it as the kernel does when memory runs out: nothing is put away."""
        self.begin_to_kill()
        await self._ended()

    def begin_to_kill(self) -> None:
        """Send the signal; `kill` waits for the end."""
        self._signal(signal.SIGKILL)

    def freeze(self) -> None:
        """Stop it where it stands: to others it looks dead, to itself no time passes."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self._signal(signal.SIGCONT)

    async def terminate(self) -> int:
        """Ask it to end, as an orchestrator does; its exit code."""
        self._signal(signal.SIGTERM)
        return await self._ended()

    def _signal(self, number: signal.Signals) -> None:
        """Not by the process object: that would also look whether it ended, which others wait for."""
        if self.is_running:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    async def _ended(self) -> int:
        async with asyncio.timeout(PATIENCE_SECONDS):
            code = await self._process.wait()
            await self._reading
        return code

    async def _read(self) -> None:
        stream = self._process.stderr
        assert stream is not None
        while raw := await stream.readline():
            text = raw.decode(errors="replace").rstrip()
            try:
                self.lines.append(json.loads(text))
            except ValueError:
                self.said.append(text)
            async with self._heard:
                self._heard.notify_all()
        async with self._heard:
            self._heard.notify_all()


class Serving:
    """Starts replicas on one database and, if there is one, one Redis."""

    def __init__(
        self, slack: FakeSlack, environ: Mapping[str, str], *, over_http: bool = False
    ) -> None:
        self._slack = slack
        self._environ = environ
        self._over_http = over_http
        self.replicas: list[Replica] = []

    async def start(
        self, *, roles: Sequence[str] = ("worker", "slack"), waits: bool = True, **environ: str
    ) -> Replica:
        """Start one and wait until Slack reaches it, if it has the role. `environ`: more of it."""
        sockets = self._slack.sockets.count
        process = await asyncio.create_subprocess_exec(
            *_PROGRAM,
            ",".join(roles),
            cwd=ROOT,
            env={**self._environ, **environ},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            limit=_LINE_BYTES_MAX,
            preexec_fn=die_with_parent,
        )
        replica = Replica(process)
        self.replicas.append(replica)
        await replica.until_logged("listening")
        if waits and "slack" in roles:
            if self._over_http:
                await until_true(lambda: self._slack.http.verify_url(f"{replica.url}/slack/events"))
            else:
                await self._slack.wait_until(
                    lambda: self._slack.sockets.count > sockets, timeout=PATIENCE_SECONDS
                )
        return replica

    def tail(self) -> str:
        """The last words of every replica, for people reading a failed test."""
        lines = []
        for number, replica in enumerate(self.replicas, 1):
            lines.append(f"replica {number}, process {replica.pid}: {replica.said}")
            lines += [json.dumps(line) for line in replica.lines[-_TAIL_LINES:]]
        return "\n".join(lines)

    async def kill_all(self) -> None:
        """Kill every process at once."""
        for replica in self.replicas:
            replica.begin_to_kill()
        for replica in self.replicas:
            await replica.kill()


@asynccontextmanager
async def serving(
    slack: FakeSlack,
    model: FakeModel,
    database_url: str,
    redis_url: str | None = None,
    *,
    over_http: bool = False,
    **more: str,
) -> AsyncIterator[Serving]:
    """A place to start replicas in. At the end none may have logged an error."""
    with tempfile.TemporaryDirectory(prefix="threadwright-chaos-") as folder:
        environ = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": folder,
            "THREADWRIGHT_STATE_DIR": folder,
            "THREADWRIGHT_PORT": "0",
            "DATABASE_URL": database_url,
            "OPENAI_BASE_URL": model.url,
            "OPENAI_API_KEY": "sk-of-the-fake-model",
            "THREADWRIGHT_SLACK_API_URL": slack.base_url,
            "SLACK_BOT_TOKEN": slack.bot.token,
            **_PACE,
            **more,
        }
        if redis_url is not None:
            environ["REDIS_URL"] = redis_url
        if over_http:
            environ["SLACK_SIGNING_SECRET"] = slack.signing_secret
        else:
            environ["SLACK_APP_TOKEN"] = slack.app_token
        house = Serving(slack, environ, over_http=over_http)
        try:
            yield house
        except BaseException as error:
            error.add_note(house.tail())
            raise
        finally:
            await house.kill_all()
    errors = [
        line
        for replica in house.replicas
        for line in replica.lines
        if line.get("level") in ("ERROR", "CRITICAL") and line["logger"] != _SDK_LOGGER
    ]
    assert not errors, json.dumps(errors, indent=1)


async def until_true(
    condition: Callable[[], Awaitable[bool]], seconds: float = PATIENCE_SECONDS
) -> None:
    """Wait until something that must be asked for holds. An answer that cannot be had is a no."""
    async with asyncio.timeout(seconds):
        while True:
            try:
                if await condition():
                    return
            except (OSError, StoreUnavailable):
                pass
            await asyncio.sleep(0.02)


def die_with_parent() -> None:
    """Run in a child before its program: it is killed when its parent ends."""
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
