"""One request as endpoints see it, what they answer, and how an endpoint is described."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from aiohttp import web

from adapters.file_sending import FileSender
from adapters.http.auth import Authenticator, Caller, TokenRole
from adapters.http.errors import not_found
from adapters.http.open_streams import OpenStreams
from adapters.http.queries import Pairs
from adapters.http.refusals import problem_of
from adapters.http.translate import CheckTools, Sender, chat_id_of, idempotency_key
from engine.api import Applied, Engine, ListedChat
from engine.chat.commands import UserCommand
from engine.chat.decision import Refusal
from engine.chat.ids import ChatId


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What all calls of one adapter share."""

    engine: Engine
    bots: tuple[str, ...]
    check_tools: CheckTools
    streams: OpenStreams
    beat_seconds: float
    body_seconds: float
    uploads: asyncio.Semaphore
    files: FileSender
    authenticator: Authenticator
    new_id: Callable[[], UUID]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request whose caller is known and whose body is read. `body` None: the endpoint takes none."""

    around: Surroundings
    caller: Caller
    request: web.Request
    body: Any = None

    @property
    def engine(self) -> Engine:
        """The engine's front door."""
        return self.around.engine

    @property
    def path(self) -> Mapping[str, str]:
        """What the path names."""
        return self.request.match_info

    @property
    def query(self) -> Pairs:
        """The query, in order."""
        return list(self.request.query.items())

    @property
    def chat_id(self) -> ChatId:
        """The chat that the path names. Raises Problem 404."""
        return chat_id_of(self.path)

    @property
    def sender(self) -> Sender:
        """Who sends, with the idempotency key. Raises Problem 422 for one that is none."""
        key = idempotency_key(self.request.headers.get("Idempotency-Key"))
        return Sender(author=self.caller.author, scope=self.caller.scope, idempotency_key=key)

    async def submit(self, command: UserCommand) -> Applied:
        """Carry the command out on the path's chat. Raises Problem for a refusal or no such chat."""
        outcome = await self.engine.submit(self.chat_id, command)
        if outcome is None:
            raise not_found("chat")
        if isinstance(outcome, Refusal):
            raise problem_of(outcome)
        return outcome

    async def look_at(self, chat_id: ChatId) -> ListedChat:
        """A chat as the caller sees it. Raises Problem 404."""
        listed = await self.engine.read_listed(chat_id, self.caller.author.identity)
        if listed is None:
            raise not_found("chat")
        return listed

    async def require_token(self) -> None:
        """Raise Problem 401 if the caller's token was revoked since."""
        await self.around.authenticator.authenticate(self.request.headers.get("Authorization"))

    async def require_chat(self) -> None:
        """Raise Problem 404 unless the path's chat exists."""
        if await self.engine.read_chat(self.chat_id) is None:
            raise not_found("chat")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What an endpoint answers; `body` None is an empty body."""

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A query parameter or header that an endpoint takes."""

    name: str
    meaning: str
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "string"})
    place: str = "query"
    repeated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One method on one path: what it does, and how the OpenAPI document describes it.

    `takes`, `gives`: names of schemas. `successes`: every success status. `problems`: the statuses
    of errors beside those that every endpoint may answer. `other_kinds`: media types, beside JSON, of
    answers that are text. A stream answers by itself; a file is
    bytes, not JSON.
    """

    method: str
    path: str
    name: str
    summary: str
    run: Callable[[Call], Awaitable[Answer | web.StreamResponse]]
    takes: str | None = None
    gives: str | None = None
    successes: tuple[int, ...] = (200,)
    problems: tuple[int, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    role: TokenRole = TokenRole.CLIENT
    is_stream: bool = False
    takes_file: bool = False
    gives_file: bool = False
    other_kinds: tuple[str, ...] = ()
    detail: str = ""
