"""The console: a web page to chat with. Routes, and what holds for every request before a page does.

No page loads anything from elsewhere or runs a script that is not ours, no other site can make a
browser do anything here, and an error is a sentence, never a trace.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final
from urllib.parse import quote
from uuid import uuid4

from aiohttp import web

from adapters.console import chat_pages, chat_posts, file_pages
from adapters.console.access import Access, is_same_origin
from adapters.console.console import Console, Trouble, Visit, wants_json
from adapters.console.gate import Gate
from adapters.console.live_stream import LiveStreams
from adapters.console.markdown import Markdown
from adapters.console.pages import Pages
from adapters.console.sessions import SessionKey
from adapters.console.sign_in_limit import SignInLimit
from adapters.file_sending import FileSender
from config.secret import Secret
from engine.api import Engine, StoreUnavailable

log = logging.getLogger(__name__)

SECURITY_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
_FOREVER: Final = "public, max-age=31536000, immutable"
_ELSEWHERE: Final = r"/{path:(?!(?:api|hooks|slack|healthz|readyz|metrics|openapi\.json)(?:/|$)).*}"
"""What no page is at. The addresses of other parts are theirs, with what is wrong about them."""
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Page = Callable[[Visit], Awaitable[web.StreamResponse]]


class ConsoleAdapter:
    """The console of one process. `close` ends its streams, so that the server can stop at once."""

    def __init__(
        self,
        engine: Engine,
        *,
        admin_token: Secret | None,
        secret_key: Secret | None = None,
        bots: Sequence[str] = ("assistant",),
        open_to_loopback: bool = False,
    ) -> None:
        """`bots`: the names to choose from, the default first. `open_to_loopback`: see access.py."""
        secrets = [secret.reveal() for secret in (admin_token, secret_key) if secret is not None]
        key = SessionKey.derive(*secrets) if admin_token is not None else None
        self._console = Console(
            engine=engine,
            pages=Pages(),
            markdown=Markdown(),
            access=Access(session_key=key, open_to_loopback=open_to_loopback),
            limit=SignInLimit(),
            streams=LiveStreams(engine),
            files=FileSender(engine, headers=SECURITY_HEADERS),
            bots=tuple(bots),
            new_id=uuid4,
        )
        self._gate = Gate(self._console, admin_token)

    def routes(self) -> list[web.RouteDef]:
        """The routes, `/` among them."""
        pages: dict[str, Page] = {
            "/": chat_pages.home,
            "/sidebar": chat_pages.sidebar,
            "/chats/{chat_id}": chat_pages.chat,
            "/chats/{chat_id}/live": chat_pages.live,
            "/files/{file_id}": file_pages.file,
        }
        posts: dict[str, Page] = {
            "/chats": chat_posts.create,
            "/chats/{chat_id}/messages": chat_posts.send,
            "/chats/{chat_id}/messages/{message_id}": chat_posts.edit,
            "/chats/{chat_id}/queue/{queued_id}/delete": chat_posts.delete_queued,
            "/chats/{chat_id}/queue/{queued_id}/promote": chat_posts.promote_queued,
            "/chats/{chat_id}/stop": chat_posts.stop,
            "/chats/{chat_id}/details": chat_posts.change,
            "/chats/{chat_id}/archive": chat_posts.archive,
            "/chats/{chat_id}/unarchive": chat_posts.unarchive,
            "/chats/{chat_id}/actions/{action_id}": chat_posts.answer,
        }
        return [
            *(
                web.get(path, self._guard(self._inside(page)), allow_head=page != chat_pages.live)
                for path, page in pages.items()
            ),
            *(web.post(path, self._guard(self._inside(page))) for path, page in posts.items()),
            web.get("/sign-in", self._guard(self._gate.show)),
            web.post("/sign-in", self._guard(self._gate.sign_in)),
            web.post("/sign-out", self._guard(self._gate.sign_out)),
            web.get("/static/{name}", self._guard(self._static)),
            web.head("/chats/{chat_id}/live", self._guard(self._inside(chat_pages.live_head))),
            web.get(_ELSEWHERE, self._nowhere),
        ]

    def close(self) -> None:
        """End all streams; pages come back by themselves."""
        self._console.streams.close()

    def _inside(self, page: Page) -> Handler:
        async def visited(request: web.Request) -> web.StreamResponse:
            visitor = self._console.access.visitor(request)
            if visitor is None:
                return self._turn_away(request)
            return await page(Visit(console=self._console, request=request, visitor=visitor))

        return visited

    def _turn_away(self, request: web.Request) -> web.Response:
        is_page = request.method == "GET" and not request.path.endswith(("/live", "/sidebar"))
        if not is_page:
            raise Trouble(401, "Please sign in again.")
        where = "/sign-in" if request.path == "/" else f"/sign-in?next={quote(request.path)}"
        return web.Response(status=303, headers={"Location": where})

    async def _nowhere(self, request: web.Request) -> web.StreamResponse:
        """A page that says that there is none, for who reads pages."""
        if "text/html" not in request.headers.get("Accept", ""):
            raise web.HTTPNotFound
        return await self._guard(_no_page)(request)

    async def _static(self, request: web.Request) -> web.Response:
        file = self._console.pages.static.get(request.match_info["name"])
        if file is None:
            raise Trouble(404, "There is no such file.")
        is_versioned = request.query.get("v") == file.version
        response = web.Response(body=file.body, content_type=file.content_type)
        response.headers["Cache-Control"] = _FOREVER if is_versioned else "no-cache"
        return response

    def _guard(self, run: Handler) -> Handler:
        async def guarded(request: web.Request) -> web.StreamResponse:
            try:
                _require_own_page(request)
                response = await run(request)
            except Trouble as trouble:
                response = self._trouble(request, trouble)
            except StoreUnavailable:
                sentence = "The database is out of reach. Nothing is lost; try again in a moment."
                response = self._trouble(request, Trouble(503, sentence, {"Retry-After": "2"}))
            except web.HTTPException as error:
                response = self._trouble(request, Trouble(error.status, error.reason))
            except Exception:
                log.exception("A page failed.", extra={"action": "console_failed"})
                if request.path.endswith("/live") and request.transport is not None:
                    # A stream that has begun cannot become another answer.
                    request.transport.abort()
                response = self._trouble(request, Trouble(500, "Something went wrong here."))
            if not response.prepared:
                for name, value in SECURITY_HEADERS.items():
                    response.headers.setdefault(name, value)
                response.headers.setdefault("Cache-Control", "no-store")
            return response

        return guarded

    def _trouble(self, request: web.Request, trouble: Trouble) -> web.Response:
        if wants_json(request):
            body = {"message": trouble.sentence}
            return web.json_response(body, status=trouble.status, headers=trouble.headers)
        text = self._console.pages.page(
            "problem.html",
            title="Not found" if trouble.status == 404 else "That did not work",
            sentence=trouble.sentence,
            back=_back_of(request),
        )
        return web.Response(
            text=text, content_type="text/html", status=trouble.status, headers=trouble.headers
        )


def _require_own_page(request: web.Request) -> None:
    if request.method == "POST" and not is_same_origin(request):
        raise Trouble(403, "This was not sent from a page of the console.")


async def _no_page(_request: web.Request) -> web.StreamResponse:
    raise Trouble(404, "There is no such page.")


def _back_of(request: web.Request) -> str:
    """The page that a form was on."""
    chat_id = request.match_info.get("chat_id")
    return f"/chats/{quote(chat_id)}" if chat_id and request.method == "POST" else "/"
