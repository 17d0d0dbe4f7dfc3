"""Gathers what goes with a message before it is sent to its chat: its files, and the thread before it.

A chat keeps all of it in the message: first what the person wrote, then the files, then in text parts
of their own what could not be had and what was said before. So an edit knows what is the person's.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from adapters.slack.desk import Desk
from adapters.slack.identity import PLATFORM
from adapters.slack.received_files import (
    Received,
    ReceivedFiles,
    missed_for_model,
    missed_for_people,
)
from adapters.slack.shared_files import SharedFile
from adapters.slack.thread_context import ThreadContext
from adapters.slack.translate import Edit, StartOrSend
from engine.api import Binding
from engine.chat.content import Author, Content, FilePart, Part, TextPart
from engine.chat.ids import ChatId

_APART = "\n\n"
_NAME_MAX = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """A message as its chat shall have it. `told`: what its author is to be told of it, if anything.

    `is_whole`: with it, the chat knows all that was said in the thread so far.
    """

    content: Content
    told: str = ""
    is_whole: bool = False


class Gathering:
    """Gathers for one event, which was tried `attempt` times with this one."""

    def __init__(self, desk: Desk, *, attempt: int) -> None:
        self._desk = desk
        self._files = ReceivedFiles(desk, attempt=attempt)
        self._context = ThreadContext(desk, attempt=attempt)

    async def gather(self, said: StartOrSend, author: Author, binding: Binding | None) -> Gathered:
        """A message that is new to its chat. Raises SurfaceError while Slack may yet give it all."""
        context = await self._context.read_for(said, binding)
        chat_id = None if binding is None else binding.chat_id
        received = await self._files.bring_in(said.files, author, chat_id=chat_id)
        look = await self._look(said)
        notes = (missed_for_model(received.missed), context.text, look)
        return _gathered(said.text, received, notes, is_whole=context.is_whole)

    async def _look(self, said: StartOrSend) -> str:
        """What the person has open beside a direct message, if Slack has told it lately."""
        if not said.channel.startswith("D"):
            return ""
        installation = self._desk.identity.installation
        found = await self._desk.engine.looks.find(PLATFORM, installation, said.channel)
        return (
            "" if found is None else f"(They have the channel {found[:_NAME_MAX]} open in Slack.)"
        )

    async def amend(
        self,
        text: str,
        files: Sequence[SharedFile],
        author: Author,
        chat_id: ChatId,
        stored: Content,
    ) -> Gathered:
        """A message that the chat has already, as it is now. What was quoted with it stays."""
        kept = [part for part in stored if isinstance(part, FilePart)]
        notes = [part.text.strip() for part in stored[1:] if isinstance(part, TextPart)]
        received = await self._files.bring_in(files, author, chat_id=chat_id, kept=kept)
        return _gathered(text, received, (missed_for_model(received.missed), *notes))

    async def tell_missed(self, said: StartOrSend | Edit, gathered: Gathered) -> None:
        """Tell the author, alone, which of the files could not be had and why."""
        if gathered.told:
            thread = active_thread(said)
            await self._desk.tell(said.channel, thread, said.user_id, gathered.told)


def active_thread(said: StartOrSend | Edit) -> str:
    """The thread that a message is in; none where it would begin one, as Slack shows nothing there."""
    return "" if said.thread == said.message_ts else said.thread


def _gathered(
    text: str, received: Received, notes: Sequence[str], *, is_whole: bool = False
) -> Gathered:
    parts: list[Part] = [TextPart(text=text)] if text else []
    parts += received.parts
    for note in notes:
        if note:
            # The parts are read one after the other, so what parts them is part of them.
            parts.append(TextPart(text=f"{_APART}{note}" if parts else note))
    told = missed_for_people(received.missed) if received.missed else ""
    return Gathered(content=tuple(parts), told=told, is_whole=is_whole)
