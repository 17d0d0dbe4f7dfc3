"""The HTTP API under /api/v1: routes, and what holds for every request before an endpoint is asked.

Every answer but a stream or a file is JSON, and every error has the one shape, whatever went wrong.
"""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Final
from uuid import uuid4

from aiohttp import web

from adapters.file_sending import FileSender
from adapters.http import views
from adapters.http.auth import Authenticator, TokenRole
from adapters.http.call import Answer, Call, Endpoint, Surroundings
from adapters.http.endpoints import ENDPOINTS
from adapters.http.errors import Problem, ProblemCode, not_found
from adapters.http.file_endpoints import UPLOADS_MAX
from adapters.http.open_streams import BEAT_SECONDS, OpenStreams
from adapters.http.openapi import PREFIX, document
from adapters.http.queries import no_query
from adapters.http.request_body import BODY_SECONDS, read_json
from config.secret import Secret
from engine.api import Engine, StoreUnavailable, check_dynamic_tools

log = logging.getLogger(__name__)

DOCUMENT_PATH: Final = "/openapi.json"
BODY_BYTES_MAX: Final = 1_048_576
STORE_RETRY_SECONDS: Final = "1"
_HEADERS: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class HttpAdapter:
    """The API of one process. `close` ends its streams, so that the server can stop at once."""

    def __init__(
        self,
        engine: Engine,
        *,
        admin_token: Secret | None,
        bots: Sequence[str] = ("assistant",),
        body_bytes_max: int = BODY_BYTES_MAX,
        body_seconds: float = BODY_SECONDS,
        beat_seconds: float = BEAT_SECONDS,
        files: FileSender | None = None,
    ) -> None:
        """`bots`: the names that a chat may ask for, the default first. `files` sends stored files."""
        self._streams = OpenStreams()
        self._authenticator = Authenticator(engine, admin_token)
        self._around = Surroundings(
            engine=engine,
            bots=tuple(bots),
            check_tools=check_dynamic_tools,
            streams=self._streams,
            beat_seconds=beat_seconds,
            body_seconds=body_seconds,
            uploads=asyncio.Semaphore(UPLOADS_MAX),
            files=files or FileSender(engine),
            new_id=uuid4,
            authenticator=self._authenticator,
        )
        self._body_bytes_max = body_bytes_max
        self._body_seconds = body_seconds
        self._methods = [(_pattern(endpoint.path), endpoint.method) for endpoint in ENDPOINTS]
        self._methods.append((_pattern(DOCUMENT_PATH), "GET"))
        self._document = views.encode(document(ENDPOINTS))

    def routes(self) -> list[web.RouteDef]:
        """The routes, the last of which answers for every other path under the prefix."""
        routes = [
            web.route(
                endpoint.method,
                PREFIX + endpoint.path,
                self._guard(self._endpoint(endpoint), is_stream=endpoint.is_stream),
                # A stream has no headers worth asking for, and never ends.
                **({"allow_head": False} if endpoint.is_stream else {}),
            )
            for endpoint in ENDPOINTS
        ]
        routes.append(web.route("GET", PREFIX + DOCUMENT_PATH, self._guard(self._describe)))
        routes.append(web.route("*", f"{PREFIX}{{tail:(/.*)?}}", self._guard(self._refuse_path)))
        return routes

    @property
    def stream_count(self) -> int:
        """Streams that are open."""
        return self._streams.count

    def close(self) -> None:
        """End all streams; clients come back by themselves."""
        self._streams.close()

    def _endpoint(self, endpoint: Endpoint) -> Handler:
        async def run(request: web.Request) -> web.StreamResponse:
            caller = await self._authenticator.authenticate(request.headers.get("Authorization"))
            if endpoint.role is TokenRole.ADMIN and caller.role is not TokenRole.ADMIN:
                raise Problem(ProblemCode.FORBIDDEN, "This takes an administrator's token.")
            if not any(parameter.place == "query" for parameter in endpoint.parameters):
                no_query(list(request.query.items()))
            body = None
            if endpoint.takes is not None:
                body = await read_json(
                    request, bytes_max=self._body_bytes_max, seconds=self._body_seconds
                )
            call = Call(around=self._around, caller=caller, request=request, body=body)
            answer = await endpoint.run(call)
            return _response(answer) if isinstance(answer, Answer) else answer

        return run

    async def _describe(self, _request: web.Request) -> web.StreamResponse:
        return web.Response(body=self._document, content_type="application/json", headers=_HEADERS)

    async def _refuse_path(self, request: web.Request) -> web.StreamResponse:
        allowed = sorted({m for pattern, m in self._methods if pattern.fullmatch(request.path)})
        if not allowed:
            raise not_found("path")
        raise Problem(
            ProblemCode.METHOD_NOT_ALLOWED,
            f"{request.method[:20]} does not go with this path.",
            headers={"Allow": ", ".join(allowed)},
        )

    def _guard(self, run: Handler, *, is_stream: bool = False) -> Handler:
        async def guarded(request: web.Request) -> web.StreamResponse:
            try:
                return await run(request)
            except Problem as problem:
                return _error_response(problem)
            except StoreUnavailable:
                return _error_response(
                    Problem(
                        ProblemCode.UNAVAILABLE,
                        "The database is out of reach; nothing was half done. Try again.",
                        headers={"Retry-After": STORE_RETRY_SECONDS},
                    )
                )
            except web.HTTPException as error:
                # Raised by the library while it reads or upgrades a request.
                return _error_response(_problem_of_library(error))
            except Exception:
                extra = {
                    "action": "http_failed",
                    "method": request.method,
                    "route": _route_of(request),
                }
                log.exception("A request failed.", extra=extra)
                if is_stream and request.transport is not None:
                    # An answer that has begun cannot become another one.
                    request.transport.abort()
                return _error_response(Problem(ProblemCode.INTERNAL, "Something went wrong here."))

        return guarded


def _pattern(path: str) -> re.Pattern[str]:
    """What matches exactly the paths that the router takes for this one."""
    return re.compile(re.sub(r"{\w+}", "[^/]+", PREFIX + path))


def _response(answer: Answer) -> web.Response:
    if answer.body is None:
        return web.Response(status=answer.status, headers={**_HEADERS, **answer.headers})
    return web.Response(
        status=answer.status,
        body=views.encode(answer.body),
        content_type="application/json",
        headers={**_HEADERS, **answer.headers},
    )


def _error_response(problem: Problem) -> web.Response:
    return _response(
        Answer(status=problem.status, body=views.problem(problem), headers=problem.headers)
    )


def _problem_of_library(error: web.HTTPException) -> Problem:
    codes = {400: ProblemCode.MALFORMED_JSON, 404: ProblemCode.NOT_FOUND}
    code = ProblemCode.BODY_TOO_LARGE if error.status == 413 else codes.get(error.status)
    return Problem(code or f"http_{error.status}", error.reason, status=error.status)


def _route_of(request: web.Request) -> str:
    resource = request.match_info.route.resource
    return "" if resource is None else resource.canonical
