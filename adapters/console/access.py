"""Who may come in: people of this machine in the demo, else whoever signed in with the admin token.

Theory of operation. Open to loopback means: the connection comes from this machine, no proxy says that
it brings it from elsewhere, and the browser asked for this machine by name. The last is what stops a
web page elsewhere whose name was pointed at 127.0.0.1 after it was loaded. Every POST must come from a
page of this very host, so no other site can make a browser do anything here.
"""

import ipaddress
import time
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web

from adapters.console.sessions import SESSION_SECONDS, Session, SessionKey
from engine.chat.content import Author

COOKIE: Final = "threadwright_session"
LOCAL: Final = Author(identity="console:local", name="Console")
_FORWARDED: Final = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP")


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Tells visitors. `session_key` None: nobody can sign in."""

    session_key: SessionKey | None
    open_to_loopback: bool

    def visitor(self, request: web.Request) -> Author | None:
        """Who looks at the console; None: somebody who must sign in first."""
        if self.session_key is not None and (cookie := request.cookies.get(COOKIE)):
            session = self.session_key.open(cookie, now=time.time())
            if session is not None:
                return Author(identity=f"console:{session.name.casefold()}", name=session.name)
        if self.open_to_loopback and is_from_here(request):
            return LOCAL
        return None

    def admit(self, request: web.Request, response: web.StreamResponse, name: str) -> None:
        """Give a visitor who showed the token a session."""
        if self.session_key is None:
            return
        expires_at = int(time.time()) + SESSION_SECONDS
        response.set_cookie(
            COOKIE,
            self.session_key.seal(Session(name=name, expires_at=expires_at)),
            max_age=SESSION_SECONDS,
            httponly=True,
            samesite="Lax",
            secure=request.headers.get("X-Forwarded-Proto", request.scheme) == "https",
            path="/",
        )


def is_from_here(request: web.Request) -> bool:
    """Whether the request was made on this machine, for this machine, by nobody else's leave."""
    if any(name in request.headers for name in _FORWARDED):
        return False
    return _is_loopback(request.remote or "") and _is_loopback(host_of(request.host))


def is_same_origin(request: web.Request) -> bool:
    """Whether a page of this host sent the request. A browser that does not say is not believed."""
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = request.headers.get("Origin")
    return origin is not None and urlsplit(origin).netloc.lower() == request.host.lower()


def host_of(host: str) -> str:
    """The host of a Host header without its port."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _is_loopback(host: str) -> bool:
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
