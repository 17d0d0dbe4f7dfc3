"""A model server for load in a process of its own."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def model_under_load(parts: int, interval_ms: float) -> Iterator[tuple[str, int]]:
    """Its address and its process id, until the block ends."""
    command = [sys.executable, "-m", "tests.fakes.model_server"]
    command += ["--parts", str(parts), "--interval-ms", str(interval_ms)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())["url"], process.pid
        finally:
            process.terminate()
