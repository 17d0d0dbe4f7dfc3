"""Carries out what a delivery asks for: finds the chat, submits the command, tells people what came of it.

Refusals are told to the person alone. Telling is best effort and never fails an event, since the command
has been decided by then.
"""

import logging
from typing import assert_never
from uuid import uuid4

from adapters.contract import ChatDefaults
from adapters.errors import SurfaceError
from adapters.slack.buttons import place_of_press, values_of_form
from adapters.slack.client import SlackClient
from adapters.slack.courtesy import Spawn
from adapters.slack.identity import PLATFORM, SlackIdentity
from adapters.slack.people import People
from adapters.slack.questions import (
    UNKNOWN,
    MayAnswer,
    form_of,
    is_own_repetition,
    why_closed,
)
from adapters.slack.refusals import told_of
from adapters.slack.translate import (
    Click,
    Delete,
    Edit,
    Ignore,
    Intent,
    StartOrSend,
    Stop,
    translate,
    users_named,
)
from adapters.slack.wire import object_at, text_at
from config.settings import SlackSettings
from engine.api import Applied, Binding, ClaimedEvent, Created, Engine, MessageRef, QueuedRef
from engine.chat.actions import RequiredAction
from engine.chat.commands import (
    AnswerAction,
    BusyBehavior,
    CreateChat,
    DeleteQueuedMessage,
    EditMessage,
    EditQueuedMessage,
    Interrupt,
    SendMessage,
    ThreadBinding,
    Unarchive,
    UserCommand,
)
from engine.chat.content import Author, Content, FilePart, Role
from engine.chat.decision import Effect, Refusal, RefusalReason
from engine.chat.form import answer_of_fields, answer_of_option
from engine.chat.ids import ChatId, MessageId
from engine.chat.view import ShownStatus
from engine.chat.writes import ActionState

logger = logging.getLogger(__name__)

SEEN_REACTION = "eyes"
NOTHING_TO_STOP = "There is nothing to stop."
APOLOGY = (
    "Something went wrong with what you just sent, and I could not deal with it. Please try again."
)
NO_SUCH_OPTION = "I do not know this option any more."


class IntentHandler:
    """Carries out intents of one installation. Raises only what is worth trying again."""

    def __init__(
        self,
        engine: Engine,
        client: SlackClient,
        people: People,
        *,
        identity: SlackIdentity,
        settings: SlackSettings,
        defaults: ChatDefaults,
        may_answer: MayAnswer,
        spawn: Spawn,
    ) -> None:
        self._engine = engine
        self._client = client
        self._people = people
        self._identity = identity
        self._settings = settings
        self._defaults = defaults
        self._may_answer = may_answer
        self._spawn = spawn

    async def handle(self, event: ClaimedEvent) -> None:
        """Do what the event asks for. Doing it again changes nothing."""
        body = event.event.payload
        names = await self._people.names_of(users_named(body))
        intent = translate(
            event.event.kind,
            body,
            identity=self._identity,
            stop_words=self._settings.stop_words,
            twin=event.twin.payload if event.twin else None,
            names=names,
        )
        await self._carry_out(intent, names)

    async def apologise(self, event: ClaimedEvent) -> None:
        """Tell whoever sent it that the event could not be dealt with."""
        body = event.event.payload
        said = object_at(body, "event")
        if said:
            message = object_at(said, "message") or said
            channel, user = text_at(said, "channel"), text_at(message, "user")
            thread = text_at(message, "thread_ts") or text_at(message, "ts")
        else:
            place = place_of_press(body)
            channel, user, thread = place.channel, place.user_id, place.thread
        await self._tell(channel, thread, user, APOLOGY)

    async def _carry_out(self, intent: Intent, names: dict[str, str]) -> None:
        match intent:
            case StartOrSend():
                await self._start_or_send(intent, self._author(intent.user_id, names))
            case Edit():
                await self._edit(intent, self._author(intent.user_id, names))
            case Delete():
                await self._delete(intent)
            case Stop():
                await self._stop(intent, self._author(intent.user_id, names))
            case Click():
                await self._answer(intent, self._author(intent.user_id, names))
            case Ignore(reason=reason):
                logger.info("ignored", extra={"action": "slack_event_ignored", "reason": reason})
            case _:
                assert_never(intent)

    # -- messages --------------------------------------------------------------------------------

    async def _start_or_send(self, said: StartOrSend, author: Author) -> None:
        binding = await self._binding(said.channel, said.thread)
        if binding is not None:
            await self._send(binding.chat_id, said, author)
            return
        if not said.starts:
            return
        defaults = self._defaults
        created = await self._engine.create_chat(
            CreateChat(
                chat_id=ChatId(uuid4()),
                content=said.content,
                author=author,
                source_key=said.source_key,
                bot=defaults.bot,
                model=defaults.model,
                system_prompt=defaults.system_prompt,
                labels=dict(defaults.labels),
                dynamic_tools=defaults.dynamic_tools,
                binding=ThreadBinding(
                    platform=PLATFORM,
                    installation=self._identity.team_id,
                    channel=said.channel,
                    thread=said.thread,
                ),
            )
        )
        if isinstance(created, Created):
            self._acknowledge(said.channel, said.message_ts)
        elif isinstance(created, Refusal):
            await self._explain(created, said.channel, _active_thread(said), said.user_id)
        else:
            await self._send(created.chat_id, said, author)

    async def _send(self, chat_id: ChatId, said: StartOrSend, author: Author) -> None:
        outcome = await self._submit(
            chat_id,
            SendMessage(
                content=said.content,
                author=author,
                source_key=said.source_key,
                busy=BusyBehavior(self._settings.busy_behavior.value),
            ),
        )
        if isinstance(outcome, Refusal):
            await self._explain(outcome, said.channel, said.thread, said.user_id)
        elif outcome is not None and outcome.effect is Effect.DUPLICATE:
            await self._add_files(chat_id, said)
        elif outcome is not None:
            self._acknowledge(said.channel, said.message_ts)

    async def _add_files(self, chat_id: ChatId, said: StartOrSend) -> None:
        """A mention's two events are one message; the second may be the one that has the files."""
        files = file_count(said.content)
        if not files:
            return
        found = await self._engine.find_message_by_source(chat_id, said.source_key)
        if isinstance(found, QueuedRef):
            command = EditQueuedMessage(queued_id=found.queued_id, content=said.content)
            await self._submit(chat_id, command)
        elif found is not None:
            before = MessageId(found.message_id - 1)
            stored = await self._engine.read_messages(chat_id, after=before, limit=1)
            if stored and file_count(stored[0].content) < files:
                amend = EditMessage(message_id=found.message_id, content=said.content, rerun=False)
                await self._submit(chat_id, amend)

    async def _edit(self, edit: Edit, author: Author) -> None:
        binding = await self._binding(edit.channel, edit.thread)
        found = None
        if binding is not None:
            found = await self._engine.find_message_by_source(binding.chat_id, edit.source_key)
        if binding is None or found is None:
            # Not ours so far: an edit that now addresses us is as good as a new message.
            if edit.starts:
                await self._start_or_send(_as_said(edit), author)
            return
        outcome = await self._submit_edit(binding.chat_id, edit, author, found)
        if isinstance(outcome, Refusal) and outcome.reason is RefusalReason.QUEUED_NOT_FOUND:
            # It was promoted between looking and asking.
            found = await self._engine.find_message_by_source(binding.chat_id, edit.source_key)
            if found is not None:
                outcome = await self._submit_edit(binding.chat_id, edit, author, found)
        if isinstance(outcome, Refusal) and outcome.reason is RefusalReason.USAGE_LIMIT:
            await self._explain(outcome, edit.channel, edit.thread, edit.user_id)

    async def _submit_edit(
        self, chat_id: ChatId, edit: Edit, author: Author, found: MessageRef | QueuedRef
    ) -> Applied | Refusal | None:
        if isinstance(found, QueuedRef):
            command = EditQueuedMessage(queued_id=found.queued_id, content=edit.content)
            return await self._submit(chat_id, command)
        if found.role is not Role.USER:
            return None
        return await self._submit(
            chat_id,
            EditMessage(
                message_id=found.message_id,
                content=edit.content,
                author=author,
                rerun=found.is_last_user_message and not await self._has_queue(chat_id),
            ),
        )

    async def _has_queue(self, chat_id: ChatId) -> bool:
        """Whether others wait behind it: answering anew from there would forget what they said."""
        chat = await self._engine.read_chat(chat_id)
        return chat is not None and chat.queue_length > 0

    async def _delete(self, deletion: Delete) -> None:
        binding = await self._binding(deletion.channel, deletion.thread)
        if binding is None:
            return
        found = await self._engine.find_message_by_source(binding.chat_id, deletion.source_key)
        if isinstance(found, QueuedRef):
            await self._submit(binding.chat_id, DeleteQueuedMessage(queued_id=found.queued_id))

    # -- stopping --------------------------------------------------------------------------------

    async def _stop(self, stop: Stop, author: Author) -> None:
        binding = await self._binding_of_stop(stop)
        if binding is None:
            return
        outcome = await self._engine.submit(binding.chat_id, Interrupt(by=author))
        if not isinstance(outcome, Refusal) or stop.thread is None:
            return
        chat = await self._engine.read_chat(binding.chat_id)
        if chat is not None and chat.status is not ShownStatus.INTERRUPTING:
            await self._tell(stop.channel, stop.thread, stop.user_id, NOTHING_TO_STOP)

    async def _binding_of_stop(self, stop: Stop) -> Binding | None:
        if stop.thread is not None:
            return await self._binding(stop.channel, stop.thread)
        binding = await self._binding(stop.channel, stop.message_ts)
        if binding is not None:
            return binding
        # A reaction names only its message; Slack knows which thread that is in.
        messages, _ = await self._client.replies(stop.channel, stop.message_ts)
        thread = text_at(messages[0], "thread_ts") if messages else ""
        return await self._binding(stop.channel, thread) if thread else None

    # -- answering -------------------------------------------------------------------------------

    async def _answer(self, click: Click, author: Author) -> None:
        action = await self._engine.read_action(click.action_id)
        refusal = UNKNOWN if action is None else self._may_answer(action, author)
        if action is None or refusal:
            await self._tell(click.channel, click.thread, click.user_id, refusal or UNKNOWN)
            return
        result, problem = _result_of(action, click)
        if problem:
            await self._tell(click.channel, click.thread, click.user_id, problem)
            return
        if action.state is ActionState.OPEN:
            command = AnswerAction(action_id=action.id, result=result, by=author)
            outcome = await self._engine.submit(action.chat_id, command)
            if isinstance(outcome, Applied):
                return
            action = await self._engine.read_action(click.action_id) or action
        if not is_own_repetition(action, author, result):
            late = why_closed(action) or UNKNOWN
            await self._tell(click.channel, click.thread, click.user_id, late)

    # -- what they have in common ----------------------------------------------------------------

    async def _submit(self, chat_id: ChatId, command: UserCommand) -> Applied | Refusal | None:
        """Submit; a chat that was put away is taken out again for it."""
        outcome = await self._engine.submit(chat_id, command)
        if isinstance(outcome, Refusal) and outcome.reason is RefusalReason.ARCHIVED:
            await self._engine.submit(chat_id, Unarchive())
            outcome = await self._engine.submit(chat_id, command)
        return outcome

    async def _binding(self, channel: str, thread: str) -> Binding | None:
        return await self._engine.bindings.find_binding(
            PLATFORM, self._identity.team_id, channel, thread
        )

    def _author(self, user_id: str, names: dict[str, str]) -> Author:
        return Author(
            identity=self._identity.identity_of(user_id), name=names.get(user_id, user_id)
        )

    def _acknowledge(self, channel: str, ts: str) -> None:
        self._spawn(self._react(channel, ts))

    async def _react(self, channel: str, ts: str) -> None:
        try:
            await self._client.add_reaction(channel, ts, SEEN_REACTION)
        except SurfaceError as error:
            logger.info("no reaction", extra={"action": "slack_not_told", "code": error.code})

    async def _explain(self, refusal: Refusal, channel: str, thread: str, user_id: str) -> None:
        if text := told_of(refusal):
            await self._tell(channel, thread, user_id, text)
            return
        logger.info("refused", extra={"action": "slack_refused", "reason": refusal.reason.value})

    async def _tell(self, channel: str, thread: str, user_id: str, text: str) -> None:
        """Tell one person alone, if Slack lets us."""
        if not channel or not user_id:
            return
        try:
            await self._client.post_ephemeral(
                channel=channel, thread=thread, user=user_id, text=text
            )
        except SurfaceError as error:
            logger.info("not told", extra={"action": "slack_not_told", "code": error.code})


def file_count(content: Content) -> int:
    """How many files a message names."""
    return sum(isinstance(part, FilePart) for part in content)


def _active_thread(said: StartOrSend) -> str:
    """The thread that a message is in; none where it would begin one, as Slack shows nothing there."""
    return "" if said.thread == said.message_ts else said.thread


def _as_said(edit: Edit) -> StartOrSend:
    return StartOrSend(
        channel=edit.channel,
        thread=edit.thread,
        user_id=edit.user_id,
        message_ts=edit.message_ts,
        source_key=edit.source_key,
        content=edit.content,
        starts=edit.starts,
    )


def _result_of(action: RequiredAction, click: Click) -> tuple[object, str]:
    """What the click answers, and why it cannot be taken, if so."""
    form = form_of(action)
    if form is None:
        return None, UNKNOWN
    if click.form is not None:
        result, problems = answer_of_fields(form, values_of_form(click.form, form))
        return result, next(iter(problems.values()), "")
    try:
        return answer_of_option(form, click.option if click.option is not None else -1), ""
    except IndexError:
        return None, NO_SUCH_OPTION
