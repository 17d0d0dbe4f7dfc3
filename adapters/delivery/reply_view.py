"""What a thread should show of a chat: replies and questions, in order (pure).

Theory of operation. A turn is a user message and all that answers it. Its reply is the text of its
assistant messages, joined, with a line for what it is doing now and a line for how it ended if not
well. A question to people stands where it was asked, so it divides the reply into segments: what is
said after the answer appears below it. Reasoning is never shown, nor that a summary was made.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Any

import msgspec

from adapters.contract import TaskCard
from adapters.delivery.chat_mirror import NO_MESSAGE, ChatMirror
from adapters.delivery.item_files import files_of_turn
from adapters.delivery.plain_text import is_blank
from adapters.delivery.reply_items import Item, ItemKey, QuestionItem, ReplyItem
from adapters.delivery.reply_tasks import cards_by_step, live_cards, with_live_results
from engine.chat.actions import RequiredAction
from engine.chat.content import Finish, Message, Role, ToolCallPart, ToolResultPart, text_of
from engine.chat.errors import ChatError, ErrorKind
from engine.chat.form import FieldKind, Form, FormKind
from engine.chat.ids import ActionId, MessageId, ToolCallId
from engine.chat.summaries import is_summary_note
from engine.chat.view import ShownStatus
from engine.chat.writes import ActionState

RETRY_SHOWN_FROM_ATTEMPT = 2
"""A first failed attempt is usually over before anybody has read that there was one."""
OUTCOME_MAX = 300
"""Characters of an answer that are repeated below its question."""

STOPPED = "*Stopped.*"
NO_ANSWER = "*There was nothing to say.*"
FAILED_BEFORE = "⚠️ Something went wrong with this answer."
ENDINGS = {
    Finish.LENGTH: "*Cut off here: the answer reached the model's length limit.*",
    Finish.CONTENT_FILTER: "*The provider's content filter ended this answer.*",
    Finish.INCOMPLETE: "*The answer broke off here.*",
    Finish.INTERRUPTED: STOPPED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyView:
    """All that should be shown.

    `turn_ids`, `source_keys`: of the turns that stand, with or without items; `last_source_key` is
    that of the last one. `after_turn`: up to this one they have no items here, since what is shown
    of them is settled. `withdrawn`: questions whose turn was taken back. `finished_id`: of the last turn that is over, 0 for none.
    `is_resting`: nothing more will come unless somebody does something.
    """

    items: tuple[Item, ...]
    turn_ids: tuple[MessageId, ...]
    source_keys: frozenset[str]
    last_source_key: str | None
    withdrawn: frozenset[ActionId]
    after_turn: MessageId
    finished_id: MessageId
    is_resting: bool

    @property
    def last_turn_id(self) -> MessageId:
        """The turn that may still change; 0 when there is none."""
        return self.turn_ids[-1] if self.turn_ids else NO_MESSAGE

    @property
    def is_settled(self) -> bool:
        """Whether the last turn is one of those that are settled."""
        return self.last_turn_id <= self.after_turn


@dataclass(slots=True, kw_only=True)
class _Turn:
    user: Message
    replies: list[Message] = dataclass_field(default_factory=list)


@dataclass(slots=True)
class _Draft:
    """A turn's items while they are put together."""

    items: list[Item] = dataclass_field(default_factory=list)
    paragraphs: list[str] = dataclass_field(default_factory=list)
    segment: int = 0
    has_said_anything: bool = False
    tasks: list[TaskCard] = dataclass_field(default_factory=list)

    def say(self, text: str) -> None:
        if not is_blank(text):
            self.paragraphs.append(text.strip("\n"))
            self.has_said_anything = True

    def close_segment(self, turn: _Turn, *, is_whole: bool = False) -> None:
        self._put(
            ReplyItem(
                key=self._key(turn),
                markdown=self._text(),
                tasks=tuple(self.tasks),
                reader=_reader(turn),
                rates=turn.user.id if is_whole else None,
            )
        )

    def leave_growing(self, turn: _Turn, *, activity: str, can_stop: bool) -> None:
        self._put(
            ReplyItem(
                key=self._key(turn),
                markdown=self._text(),
                activity=activity,
                is_growing=True,
                can_stop=can_stop,
                tasks=tuple(self.tasks),
                reader=_reader(turn),
            )
        )

    def _key(self, turn: _Turn) -> ItemKey:
        user = turn.user
        return ItemKey(turn_id=user.id, source_key=user.source_key, segment=self.segment)

    def _text(self) -> str:
        return "\n\n".join(self.paragraphs)

    def _put(self, item: ReplyItem) -> None:
        if item.markdown or item.activity:
            self.items.append(item)
        self.paragraphs = []
        self.tasks = []


def _reader(turn: _Turn) -> str:
    return turn.user.author.identity if turn.user.author is not None else ""


def view_of(
    mirror: ChatMirror, *, after_turn: MessageId = NO_MESSAGE, is_whole: bool = True
) -> ReplyView:
    """Project the chat onto its thread. Turns up to `after_turn` stand but are not looked at.

    `is_whole`: the mirror holds the chat from its first message, not from a settled turn on.
    """
    turns = _turns_of(mirror.messages.values())
    asked = _actions_by_message(mirror)
    items: list[Item] = []
    for turn in turns:
        if turn.user.id > after_turn:
            is_last = turn is turns[-1]
            items += _items_of(mirror, turn, asked, is_last=is_last)
            if not (is_last and mirror.is_live):
                items += files_of_turn(turn.user.id, turn.replies)
    is_over = mirror.status in (ShownStatus.WAITING, ShownStatus.ERROR)
    finished = turns if is_over else turns[:-1]
    return ReplyView(
        items=tuple(items),
        turn_ids=tuple(turn.user.id for turn in turns),
        source_keys=frozenset(turn.user.source_key for turn in turns if turn.user.source_key),
        last_source_key=turns[-1].user.source_key if turns else None,
        withdrawn=_withdrawn(mirror, asked, is_whole=is_whole),
        after_turn=after_turn,
        finished_id=max((turn.user.id for turn in finished), default=NO_MESSAGE),
        is_resting=not mirror.is_live,
    )


def outcome_of(action: RequiredAction, form: Form) -> str:
    """What became of a question, in a sentence; empty while it is open."""
    match action.state:
        case ActionState.OPEN:
            return ""
        case ActionState.ANSWERED:
            who = name_of_answerer(action)
            return f"{who} answered: {_answer_text(form, action.answer)[:OUTCOME_MAX]}"
        case ActionState.EXPIRED:
            return "Nobody answered in time."
        case ActionState.CANCELLED:
            return "No answer is needed any more."


def name_of_answerer(action: RequiredAction) -> str:
    """The name of whoever answered, as far as it is known."""
    return (action.answered_by.name if action.answered_by else "") or "Somebody"


def _turns_of(messages: Iterable[Message]) -> list[_Turn]:
    turns: list[_Turn] = []
    for message in sorted(messages, key=lambda message: message.id):
        if message.role is Role.USER:
            turns.append(_Turn(user=message))
        elif turns and not is_summary_note(message):
            turns[-1].replies.append(message)
    return turns


def _actions_by_message(mirror: ChatMirror) -> dict[MessageId, list[RequiredAction]]:
    """Each question under the message that asked it.

    Call ids repeat between messages, so a question belongs to the last message before it, and only
    if that message made the call: the questions of turns that were taken back belong to none.
    """
    speakers = sorted(
        (m for m in mirror.messages.values() if m.role is Role.ASSISTANT), key=lambda m: m.id
    )
    found: dict[MessageId, list[RequiredAction]] = {}
    for action in sorted(mirror.actions.values(), key=lambda action: action.id):
        asker = None
        for message in speakers:
            if message.created_at <= action.created_at:
                asker = message
        if asker is not None and action.form is not None and action.tool_call_id in _calls(asker):
            found.setdefault(asker.id, []).append(action)
    return found


def _withdrawn(
    mirror: ChatMirror, asked: dict[MessageId, list[RequiredAction]], *, is_whole: bool
) -> frozenset[ActionId]:
    """The questions that belong to no message that stands, of the time that the mirror knows."""
    standing = {action.id for actions in asked.values() for action in actions}
    first = min((message.created_at for message in mirror.messages.values()), default=None)
    return frozenset(
        action.id
        for action in mirror.actions.values()
        if action.id not in standing
        and (is_whole or (first is not None and action.created_at >= first))
    )


def _items_of(
    mirror: ChatMirror,
    turn: _Turn,
    asked: dict[MessageId, list[RequiredAction]],
    *,
    is_last: bool,
) -> list[Item]:
    draft = _Draft()
    is_live = is_last and mirror.is_live
    cards = _cards_of(turn, asked, runs=is_live)
    for message in turn.replies:
        if message.role is not Role.ASSISTANT:
            continue
        draft.tasks += cards[message.id]
        draft.say(text_of(message.content))
        if message.finish in ENDINGS:
            draft.say(ENDINGS[message.finish])
        if actions := asked.get(message.id):
            draft.close_segment(turn)
            draft.items += [_question(action) for action in actions]
            draft.segment += 1
            draft.has_said_anything = True
    if is_live:
        draft.tasks = [
            *with_live_results(draft.tasks, mirror.live_results),
            *live_cards(mirror, turn.replies),
        ]
        draft.say(mirror.live_text)
        can_stop = mirror.status is not ShownStatus.INTERRUPTING
        draft.leave_growing(turn, activity=_activity(mirror, turn), can_stop=can_stop)
        return draft.items
    ending = _ending(mirror, turn, draft) if is_last else _past_ending(mirror, turn)
    draft.say(ending)
    is_whole = not ending and any(m.finish is Finish.STOP for m in turn.replies[-1:])
    draft.close_segment(turn, is_whole=is_whole)
    return draft.items


def _cards_of(
    turn: _Turn, asked: dict[MessageId, list[RequiredAction]], *, runs: bool
) -> dict[MessageId, tuple[TaskCard, ...]]:
    questions = {
        message_id: {action.tool_call_id for action in actions}
        for message_id, actions in asked.items()
    }
    return cards_by_step(turn.replies, asked=questions, runs=runs)


def _past_ending(mirror: ChatMirror, turn: _Turn) -> str:
    if error := mirror.failures.get(turn.user.id):
        return _error_text(error)
    failed = any(message.finish is Finish.ERROR for message in turn.replies)
    return FAILED_BEFORE if failed else ""


def _ending(mirror: ChatMirror, turn: _Turn, draft: _Draft) -> str:
    """How the last turn ended, if there is anything to say of it."""
    if mirror.status is ShownStatus.ERROR and turn.user.id in mirror.failures:
        return _error_text(mirror.failures[turn.user.id])
    if mirror.status is not ShownStatus.WAITING or draft.has_said_anything:
        return ""
    answered = any(message.role is Role.ASSISTANT for message in turn.replies)
    return NO_ANSWER if answered else STOPPED


def _activity(mirror: ChatMirror, turn: _Turn) -> str:
    """A line for what takes time: a retry that is being waited for, or tools that run."""
    if mirror.retry is not None and mirror.retry.attempt >= RETRY_SHOWN_FROM_ATTEMPT:
        return f"*{mirror.retry.error.message} Trying again…*"
    if mirror.status is ShownStatus.INTERRUPTING:
        return ""
    names = dict.fromkeys(_running_tools(mirror, turn))
    return f"*Using {', '.join(f'`{name}`' for name in names)}…*" if names else ""


def _running_tools(mirror: ChatMirror, turn: _Turn) -> Iterator[str]:
    speakers = [message for message in turn.replies if message.role is Role.ASSISTANT]
    if not speakers:
        return
    answered = {
        part.tool_call_id
        for message in turn.replies
        if message.id > speakers[-1].id
        for part in message.content
        if isinstance(part, ToolResultPart)
    }
    for call_id, name in _calls(speakers[-1]).items():
        if call_id not in answered and call_id not in mirror.live_results:
            yield name


def _calls(message: Message) -> dict[ToolCallId, str]:
    return {p.tool_call_id: p.tool_name for p in message.content if isinstance(p, ToolCallPart)}


def _question(action: RequiredAction) -> QuestionItem:
    form = msgspec.convert(action.form, Form)
    return QuestionItem(
        key=ItemKey(action_id=action.id),
        form=form,
        state=action.state,
        outcome=outcome_of(action, form),
        answerers=action.answerers,
        asker=action.asker,
        named=_users_in(form, action.answer),
    )


def _error_text(error: ChatError) -> str:
    if error.kind is ErrorKind.ACTION_TIMEOUT:
        return "⚠️ Nobody answered in time, so I stopped here. Write again to go on."
    return f"⚠️ {error.message}"


def _answer_text(form: Form, answer: Any) -> str:
    for option in form.options:
        if option.value == answer:
            return option.label
    if form.kind is FormKind.MODAL and isinstance(answer, dict):
        given = [
            f"{field.label}: {_value_text(answer[field.name])}"
            for field in form.fields
            if field.name in answer
        ]
        return ", ".join(given) or "nothing"
    return _value_text(answer)


def _users_in(form: Form, answer: Any) -> tuple[str, ...]:
    """The users that were chosen in an answer."""
    given = answer if isinstance(answer, dict) else {}
    found: list[Any] = []
    for field in form.fields:
        value = given.get(field.name)
        if field.kind in (FieldKind.USER, FieldKind.USERS):
            found += value if isinstance(value, list) else [value]
    return tuple(dict.fromkeys(user for user in found if isinstance(user, str) and user))


def _value_text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(_value_text(item) for item in value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
