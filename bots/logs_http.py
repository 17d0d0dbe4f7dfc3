"""Keeps what clients send out of the log lines of the web server, whose errors quote it."""

import logging
import traceback
from http.cookies import CookieError
from typing import Final

# The server's own log, and the one of what it parses, such as cookies.
LOGGERS: Final = ("aiohttp.server", "aiohttp.internal")


class WithoutRequest(logging.Filter):
    """Replace a record of the web server by one that holds nothing of the request.

    A request that is not HTTP is the client's mistake: INFO. Any other error keeps its level, its
    type and the place where it was raised; its text may quote the request.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Rewrite the record in place; False where its new level is not wanted."""
        error = record.exc_info[1] if record.exc_info else None
        record.args = ()
        record.exc_info = record.exc_text = record.stack_info = None
        if _is_the_clients_mistake(error) or (error is None and record.name != LOGGERS[0]):
            record.msg = "A request was not well-formed."
            record.__dict__["action"] = "bad_http_request"
            if record.levelno > logging.INFO:
                record.levelno, record.levelname = logging.INFO, logging.getLevelName(logging.INFO)
            return logging.getLogger().isEnabledFor(record.levelno)
        record.msg = "A request could not be answered."
        record.__dict__["action"] = "http_request_failed"
        if error is not None:
            record.__dict__["error"] = type(error).__name__
            record.__dict__["place"] = _place_of(error)
        return True


def _is_the_clients_mistake(error: BaseException | None) -> bool:
    # Loaded here, since commands that serve nothing have logs too.
    from aiohttp.http_exceptions import BadHttpMessage
    from aiohttp.web_protocol import RequestPayloadError

    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, BadHttpMessage | RequestPayloadError | CookieError):
            return True
        seen.add(id(error))
        error = error.__cause__
    return False


def _place_of(error: BaseException) -> str:
    """Return the calls that led to the error, the last few, without their source or values."""
    frames = traceback.extract_tb(error.__traceback__)[-5:]
    return " > ".join(f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames)


WITHOUT_REQUEST: Final = WithoutRequest()
