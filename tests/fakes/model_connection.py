"""How a fake provider ends a connection in the middle of a body."""

import socket
import struct

from aiohttp import web


def cut(request: web.Request, *, is_reset: bool) -> None:
    """Close the connection, or reset it."""
    transport = request.transport
    if transport is None:
        return
    if is_reset:
        # A linger of zero makes the kernel send a reset instead of an orderly end.
        linger = struct.pack("ii", 1, 0)
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        transport.abort()
    else:
        transport.close()
