"""Signing in and out. Whoever knows the token gets in; wrong guesses are counted and slowed down.

A guess counts when it is compared, after its form is there, with no pause in between: forms that are
held back and finished together gain nothing. The right token is let in even when its address has to
wait, so nobody can lock its owner out, from behind the same proxy either. A session is a signed cookie.
"""

import hashlib
import hmac
import math
import time

from aiohttp import web

from adapters.console.access import COOKIE
from adapters.console.console import Console, Trouble, read_form
from adapters.console.sessions import NAME_MAX
from adapters.console.translate import text_of_field
from config.secret import Secret


class Gate:
    """The sign-in page. `admin_token` None: nobody can sign in."""

    def __init__(self, console: Console, admin_token: Secret | None) -> None:
        self._console = console
        self._admin = None if admin_token is None else _digest(admin_token.reveal())

    async def show(self, request: web.Request) -> web.Response:
        """The page to sign in at; whoever may come in already is sent on."""
        next_page = _safe_next(request.query.get("next", "/"))
        if self._console.access.visitor(request) is not None:
            return web.Response(status=303, headers={"Location": next_page})
        return self.page(status=200, next_page=next_page)

    def page(
        self, *, status: int, next_page: str, name: str = "", problem: str = ""
    ) -> web.Response:
        """The page to sign in at, with what went wrong."""
        text = self._console.pages.page(
            "sign_in.html",
            can_sign_in=self._admin is not None,
            next=next_page,
            name=name,
            problem=problem,
        )
        return web.Response(text=text, content_type="text/html", status=status)

    async def sign_in(self, request: web.Request) -> web.Response:
        """Let in whoever knows the token."""
        form = await read_form(request)
        name = text_of_field(form, "name").strip()[:NAME_MAX]
        next_page = _safe_next(text_of_field(form, "next"))
        given = _digest(text_of_field(form, "token").strip())
        if self._admin is None or not hmac.compare_digest(given, self._admin):
            self._note_failure(request.remote or "")
            problem = "That is not the token."
            return self.page(status=401, next_page=next_page, name=name, problem=problem)
        if not name or not name.isprintable():
            problem = "Please say who you are; others see who answered."
            return self.page(status=422, next_page=next_page, problem=problem)
        self._console.limit.note_success(request.remote or "")
        response = web.Response(status=303, headers={"Location": next_page})
        self._console.access.admit(request, response, name)
        return response

    def _note_failure(self, address: str) -> None:
        """Count a wrong guess. Raises Trouble 429 when there were too many before it."""
        limit, now = self._console.limit, time.monotonic()
        if (wait := limit.wait_seconds(address, now)) > 0:
            sentence = "That is not the token. Too many attempts; please wait a few minutes."
            raise Trouble(429, sentence, {"Retry-After": str(math.ceil(wait))})
        limit.note_failure(address, now)

    async def sign_out(self, _request: web.Request) -> web.Response:
        """End the session in this browser."""
        response = web.Response(status=303, headers={"Location": "/sign-in"})
        response.del_cookie(COOKIE, path="/")
        return response


def _safe_next(page: str) -> str:
    """A page of ours and nothing else: no other host may be behind it."""
    is_ours = page.startswith("/") and not page.startswith(("//", "/\\")) and page.isprintable()
    return page if is_ours and page.isascii() else "/"


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode(errors="replace")).digest()
