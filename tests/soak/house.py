"""Replicas of the real program for a soak: started, killed, replaced, watched from outside."""

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path
from random import Random

from tests.chaos.serving import ROOT, die_with_parent

LEASE_SECONDS = 5.0
READY_SECONDS = 60.0


class House:
    """Worker processes on one database and one Redis. `killed`: how many died by our hand."""

    def __init__(self, database_url: str, redis_url: str, model_url: str) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="threadwright-soak-"))
        self._environ = {
            "PATH": os.environ["PATH"],
            "DATABASE_URL": database_url,
            "REDIS_URL": redis_url,
            "OPENAI_BASE_URL": model_url,
            "OPENAI_API_KEY": "sk-soak",
            "THREADWRIGHT_MODEL_NAME": "load",
            "THREADWRIGHT_PORT": "0",
            "THREADWRIGHT_TITLES_ENABLED": "false",
            "THREADWRIGHT_LOG_FORMAT": "json",
            "THREADWRIGHT_STATE_DIR": str(self._folder),
            "THREADWRIGHT_WORKER_LEASE_SECONDS": str(LEASE_SECONDS),
            "THREADWRIGHT_WORKER_HEARTBEAT_SECONDS": "1.5",
        }
        self._processes: list[asyncio.subprocess.Process] = []
        self._logs: list[Path] = []
        self.killed = 0

    async def start(self) -> None:
        """One more replica, ready to work."""
        log = self._folder / f"{len(self._logs)}.log"
        self._logs.append(log)
        with log.open("wb") as file:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "bots", "serve", "--roles", "worker",
                cwd=ROOT,
                env=self._environ,
                stdin=asyncio.subprocess.DEVNULL,
                stderr=file,
                stdout=file,
                preexec_fn=die_with_parent,
            )  # fmt: skip
        self._processes.append(process)
        async with asyncio.timeout(READY_SECONDS):
            while b'"listening"' not in log.read_bytes():
                if process.returncode is not None:
                    raise RuntimeError(f"a replica did not start: {log.read_text()}")
                await asyncio.sleep(0.05)

    async def replace(self, chance: Random) -> None:
        """Kill one without a warning, and start another."""
        victim = self._processes.pop(chance.randrange(len(self._processes)))
        victim.kill()
        await victim.wait()
        self.killed += 1
        await self.start()

    async def kill_all(self) -> None:
        """End them all."""
        for process in self._processes:
            if process.returncode is None:
                process.kill()
            await process.wait()

    def memory_kib(self) -> dict[int, float]:
        """Memory in RAM of every replica that lives, by process id."""
        found = {}
        for process in self._processes:
            pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
            found[process.pid] = pages * os.sysconf("SC_PAGE_SIZE") / 1024
        return found

    def errors(self) -> list[str]:
        """What the replicas logged as errors, without doubles."""
        found = set()
        for log in self._logs:
            for line in log.read_text(errors="replace").splitlines():
                if '"ERROR"' in line or '"CRITICAL"' in line:
                    found.add(f"logged: {json.loads(line).get('message')}")
        return sorted(found)
