"""Checks of this machine: Python, folders, keys, port, clock. Each looks and changes nothing."""

import asyncio
import email.utils
import importlib.util
import os
import sys
import time
from pathlib import Path
from typing import Final

import httpx

from bots.finding import Finding, fail, ok, warn
from config.settings import Settings

# Slack refuses signatures that are 300 s old; well before that, deadlines and leases look odd.
_SKEW_WARN_SECONDS: Final = 5.0
_SKEW_FAIL_SECONDS: Final = 120.0
_TOKEN_LENGTH_MIN: Final = 16


def check_python() -> Finding:
    """Check the interpreter; one too old for Threadwright cannot come this far."""
    version = ".".join(str(part) for part in sys.version_info[:3])
    if importlib.util.find_spec("uvloop") is None:
        return warn("python", f"{version}, without uvloop", mend="install uvloop for half the CPU")
    return ok("python", version)


def check_state_dir(settings: Settings) -> list[Finding]:
    """Check that the state directory can be written, where one is needed."""
    if settings.database.url:
        return []
    folder = Path(settings.state_dir)
    nearest = next(parent for parent in (folder, *folder.parents) if parent.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        return [
            fail(
                "state",
                f"{folder} cannot be written",
                mend="mend its rights or set THREADWRIGHT_STATE_DIR",
            )
        ]
    return [ok("state", f"{folder}")]


def check_secrets(settings: Settings) -> list[Finding]:
    """Check that a server that others can reach has its keys set."""
    found: list[Finding] = []
    if settings.database.url and not settings.secret_key:
        found.append(
            warn(
                "secret key",
                "is not set, so keys of providers cannot be stored, and whoever knows the admin "
                "token can forge sessions of the console",
                mend="set THREADWRIGHT_SECRET_KEY to the same long random text on every replica",
            )
        )
    if settings.server.host not in {"127.0.0.1", "localhost", "::1"} and not settings.admin.token:
        found.append(
            warn(
                "admin token",
                f"is not set, and {settings.server.host} can be reached by others",
                mend="set THREADWRIGHT_ADMIN_TOKEN to a long random text",
            )
        )
    token = settings.admin.token
    if token and len(token.reveal()) < _TOKEN_LENGTH_MIN:
        found.append(
            warn(
                "admin token",
                f"is shorter than {_TOKEN_LENGTH_MIN} characters, so it can be guessed",
                mend="set THREADWRIGHT_ADMIN_TOKEN to a long random text",
            )
        )
    return found


def check_discord(settings: Settings) -> list[Finding]:
    """Say that a token for Discord has no effect; there is no adapter for it yet."""
    if settings.discord.token is None:
        return []
    message = "the token is not used yet: Discord is not available in this version"
    return [warn("discord", message, mend="leave DISCORD_TOKEN out")]


async def check_port(settings: Settings) -> list[Finding]:
    """Check that the port can be listened on, or is held by a Threadwright that runs already."""
    host, port = settings.server.host, settings.server.port
    try:
        server = await asyncio.start_server(lambda _reader, writer: writer.close(), host, port)
    except OSError as error:
        if await _is_alive(host, port):
            return [ok("port", f"{host}:{port} is served by a Threadwright that runs already")]
        mend = "stop what holds it, or choose another with --port or THREADWRIGHT_PORT"
        return [fail("port", f"{host}:{port} cannot be listened on: {error.strerror}", mend=mend)]
    except UnicodeError:
        mend = "choose an address of this machine with --host or THREADWRIGHT_HOST"
        return [fail("port", f"{host}:{port} cannot be listened on: no such host", mend=mend)]
    server.close()
    await server.wait_closed()
    return [ok("port", f"{host}:{port} is free")]


async def _is_alive(host: str, port: int) -> bool:
    reached = "127.0.0.1" if host == "0.0.0.0" else host  # noqa: S104 - compared, not bound
    try:
        async with httpx.AsyncClient(timeout=2.0, trust_env=False) as client:
            return (await client.get(f"http://{reached}:{port}/healthz")).is_success
    except (httpx.HTTPError, httpx.InvalidURL):
        return False


def clock_findings(server_date: str | None, whose: str) -> list[Finding]:
    """Compare the Date header of an answer just received with the clock of this machine."""
    try:
        stated = email.utils.parsedate_to_datetime(server_date or "").timestamp()
    except ValueError:
        return []
    skew = time.time() - stated
    mend = "let the system keep its time with NTP"
    message = (
        f"this machine's clock is {abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} {whose}"
    )
    if abs(skew) >= _SKEW_FAIL_SECONDS:
        return [fail("clock", message, mend=mend)]
    if abs(skew) >= _SKEW_WARN_SECONDS:
        return [warn("clock", message, mend=mend)]
    return [ok("clock", f"agrees with {whose}")]
