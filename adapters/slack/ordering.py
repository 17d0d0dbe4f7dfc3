"""Carries out what people order beside threads. Whatever is done here may be done again; see inbox_worker.

Only chats that somebody has begun themselves can be listed, stopped or changed by these ways; in its thread,
anybody may stop one.
"""

from collections.abc import Sequence
from typing import Final, assert_never

from adapters.slack.chat_cards import STOPPABLE, chat_blocks, chat_lines, title_of
from adapters.slack.command_line import Verb
from adapters.slack.command_views import BY_DEFAULT, model_key
from adapters.slack.desk import Desk
from adapters.slack.home import Home
from adapters.slack.identity import PLATFORM
from adapters.slack.markup_inline import escape
from adapters.slack.orders import (
    Begin,
    ChooseModel,
    Order,
    ShowHome,
    StopChat,
    StopMine,
    Tell,
    Whence,
)
from adapters.slack.permalinks import Permalinks
from adapters.slack.plain_labels import label_of
from adapters.slack.private_answer import answer_alone
from adapters.slack.question_blocks import section
from adapters.slack.question_posts import QuestionPosts
from adapters.slack.usage_text import usage_lines
from engine.api import ModelChoice, ThreadChat
from engine.chat.commands import Interrupt
from engine.chat.content import Author
from engine.chat.decision import Refusal
from engine.chat.details import DetailsChange
from engine.chat.ids import ChatId

CHATS_SHOWN_MAX: Final = 20
LOOKED_AT_MAX: Final = 100
NOTHING_RUNS: Final = "I am doing nothing for you in this channel."
NO_CHATS: Final = "You have no chats in this channel."
STOPPED: Final = "I stop “{title}”."
SEVERAL: Final = "Several of your chats are at work. Which one do I stop?"
NOT_YOURS: Final = "This is none of your chats, or it is gone."
AT_REST: Final = "“{title}” is not at work."
MODEL_SET: Final = "From its next answer on, “{title}” uses {model}."
USUAL_MODEL: Final = "the usual model"
MODEL_GONE: Final = "This model cannot be used any more. Nothing was changed."
TOOL_TEXT_MAX: Final = 200
NO_TOOLS: Final = "I have no tools."


class Ordering:
    """Orders of one workspace, for an event with this key, which was tried `attempt` times with this one."""

    def __init__(self, desk: Desk, permalinks: Permalinks, *, event_key: str, attempt: int) -> None:
        self._desk = desk
        self._permalinks = permalinks
        self._event_key = event_key
        self._attempt = attempt

    async def carry_out(self, order: Order, author: Author) -> None:
        """Do it, and tell the person alone what became of it. Raises SurfaceError to be tried again."""
        match order:
            case StopMine(at=at):
                await self._stop_mine(at, author)
            case StopChat(at=at, chat_id=chat_id):
                await self._stop_chat(at, chat_id, author)
            case Tell(at=at, verb=verb):
                await self._tell(at, verb, author)
            case Begin():
                await self._begin(order, author)
            case ChooseModel():
                await self._choose_model(order, author)
            case ShowHome(at=at, page=page):
                await Home(self._desk, self._permalinks).show(at.user_id, author, page=page)
            case _:
                assert_never(order)

    async def _stop_mine(self, at: Whence, author: Author) -> None:
        chats = await self._chats(at, author)
        running = [each for each in chats if each.chat.status in STOPPABLE]
        if len(running) > 1:
            shown = running[:CHATS_SHOWN_MAX]
            await self._answer_list(at, SEVERAL, shown)
        elif running:
            await self._stop(at, running[0], author)
        else:
            await answer_alone(self._desk, at, NOTHING_RUNS)

    async def _stop_chat(self, at: Whence, chat_id: ChatId, author: Author) -> None:
        found = await self._own(chat_id, author)
        if found is None:
            await answer_alone(self._desk, at, NOT_YOURS, replaces=True)
        else:
            await self._stop(at, found, author, replaces=True)
        if at.is_in_home:
            await Home(self._desk, self._permalinks).show(at.user_id, author)

    async def _stop(
        self, at: Whence, listed: ThreadChat, author: Author, *, replaces: bool = False
    ) -> None:
        outcome = await self._desk.engine.submit(listed.chat.id, Interrupt(by=author))
        sentence = AT_REST if outcome is None or isinstance(outcome, Refusal) else STOPPED
        said = sentence.format(title=title_of(listed.chat))
        await answer_alone(self._desk, at, said, replaces=replaces)

    async def _tell(self, at: Whence, verb: Verb, author: Author) -> None:
        if verb is Verb.STATUS:
            chats = (await self._chats(at, author))[:CHATS_SHOWN_MAX]
            if chats:
                await self._answer_list(at, "Your chats in this channel:", chats)
            else:
                await answer_alone(self._desk, at, NO_CHATS)
        elif verb is Verb.USAGE:
            channel = f"{PLATFORM}:{self._desk.identity.installation}:{at.channel}"
            status = await self._desk.engine.spending.status(author.identity, channel=channel)
            await answer_alone(self._desk, at, "\n".join(usage_lines(status)))
        else:
            await answer_alone(self._desk, at, self._tools_said())

    async def _begin(self, order: Begin, author: Author) -> None:
        model = None
        if order.model not in ("", BY_DEFAULT):
            choice = await self._model(order.model, author)
            if choice is None:
                await answer_alone(self._desk, order.at, MODEL_GONE)
                return
            model = choice.choice.reference
        posts = QuestionPosts(self._desk, event_key=self._event_key, attempt=self._attempt)
        await posts.begin(order, author, model=model)

    async def _choose_model(self, order: ChooseModel, author: Author) -> None:
        found = await self._own(order.chat_id, author)
        if found is None:
            await answer_alone(self._desk, order.at, NOT_YOURS)
            return
        reference, name = None, USUAL_MODEL
        if order.model not in ("", BY_DEFAULT):
            choice = await self._model(order.model, author)
            if choice is None:
                await answer_alone(self._desk, order.at, MODEL_GONE)
                return
            reference = choice.choice.reference
            name = escape(choice.choice.model.display_name or reference)
        await self._desk.engine.change_details(order.chat_id, DetailsChange(model=reference))
        said = MODEL_SET.format(title=title_of(found.chat), model=name)
        await answer_alone(self._desk, order.at, said)

    async def _answer_list(self, at: Whence, intro: str, chats: Sequence[ThreadChat]) -> None:
        links = await self._permalinks.of(self._desk, [(c.channel, c.thread) for c in chats])
        blocks = [section(intro), *chat_blocks(chats, links)]
        await answer_alone(self._desk, at, f"{intro}\n{chat_lines(chats)}", blocks)

    async def _chats(self, at: Whence, author: Author) -> Sequence[ThreadChat]:
        return await self._desk.engine.thread_chats.of_owner(
            PLATFORM,
            self._desk.identity.installation,
            author.identity,
            channel=at.channel,
            limit=LOOKED_AT_MAX,
        )

    async def _own(self, chat_id: ChatId, author: Author) -> ThreadChat | None:
        """The chat, if this person has begun it in this installation."""
        chat = await self._desk.engine.read_chat(chat_id)
        if chat is None or chat.owner is None or chat.owner.identity != author.identity:
            return None
        for binding in await self._desk.engine.bindings.bindings_of(chat_id):
            if binding.thread.installation == self._desk.identity.installation:
                place = binding.thread
                return ThreadChat(chat=chat, channel=place.channel, thread=place.thread)
        return None

    async def _model(self, key: str, author: Author) -> ModelChoice | None:
        for each in await self._desk.engine.models.choices(author.identity):
            if each.why_not is None and model_key(each.choice.reference) == key:
                return each
        return None

    def _tools_said(self) -> str:
        tools = self._desk.house.defaults.tools
        lines = [
            f"• `{name}` {label_of(text, TOOL_TEXT_MAX)}".rstrip() for name, text in tools.items()
        ]
        return "\n".join(["What I can use:", *lines]) if lines else NO_TOOLS
