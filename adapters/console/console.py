"""What all pages of one console share, and the ways in which a request can end early."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from aiohttp import web

from adapters.console.access import Access
from adapters.console.live_stream import LiveStreams
from adapters.console.markdown import Markdown
from adapters.console.pages import Pages
from adapters.console.sentences import refusal_sentence
from adapters.console.sign_in_limit import SignInLimit
from adapters.console.translate import FormData, chat_id_of, number_of
from adapters.file_sending import FileSender
from engine.api import Applied, Engine
from engine.chat.commands import UserCommand
from engine.chat.content import Author
from engine.chat.decision import Refusal
from engine.chat.ids import ChatId

BODY_BYTES_MAX: Final = 1_048_576


class Trouble(Exception):
    """The request ends with a sentence for people."""

    def __init__(
        self, status: int, sentence: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence
        self.headers = dict(headers or {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Console:
    """The parts that every page uses."""

    engine: Engine
    pages: Pages
    markdown: Markdown
    access: Access
    limit: SignInLimit
    streams: LiveStreams
    files: FileSender
    bots: tuple[str, ...]
    new_id: Callable[[], UUID]


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A request of somebody who may come in."""

    console: Console
    request: web.Request
    visitor: Author

    @property
    def chat_id(self) -> ChatId:
        """The chat that the path names. Raises Trouble 404."""
        chat_id = chat_id_of(self.request.match_info["chat_id"])
        if chat_id is None:
            raise Trouble(404, "There is no such chat.")
        return chat_id

    def number(self, name: str) -> int:
        """A number that the path names. Raises Trouble 404."""
        number = number_of(self.request.match_info[name])
        if number is None:
            raise Trouble(404, "There is no such thing.")
        return number

    async def form(self) -> FormData:
        """The form that was sent. Raises Trouble 413 or 400."""
        return await read_form(self.request)

    async def submit(self, command: UserCommand) -> Applied:
        """Carry a command out on the path's chat. Raises Trouble for a refusal or no such chat."""
        outcome = await self.console.engine.submit(self.chat_id, command)
        if outcome is None:
            raise Trouble(404, "There is no such chat.")
        if isinstance(outcome, Refusal):
            raise Trouble(409, refusal_sentence(outcome))
        return outcome

    def done(self, where: str) -> web.Response:
        """Done: a live page stays where it is, others are sent on."""
        if wants_json(self.request):
            return web.Response(status=204)
        return web.Response(status=303, headers={"Location": where})


async def read_form(request: web.Request) -> FormData:
    """A form's fields, each with all its values."""
    if request.content_type not in ("application/x-www-form-urlencoded", ""):
        raise Trouble(415, "This is not a form that the console knows.")
    if (request.content_length or 0) > BODY_BYTES_MAX:
        raise Trouble(413, "That is too much text for one message.")
    try:
        sent = await request.post()
    except web.HTTPRequestEntityTooLarge:
        raise Trouble(413, "That is too much text for one message.") from None
    except (ValueError, LookupError, web.RequestPayloadError) as error:
        raise Trouble(400, "The form did not arrive as it was sent.") from error
    fields: dict[str, Sequence[str]] = {}
    for name in sent:
        fields[name] = [value for value in sent.getall(name) if isinstance(value, str)]
    return fields


def wants_json(request: web.Request) -> bool:
    """Whether a script of ours asks, not a browser that goes to another page."""
    return "application/json" in request.headers.get("Accept", "")
