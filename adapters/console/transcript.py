"""A chat's messages as a page shows them (pure): who said what, and calls with their results.

Results are messages of their own; here they belong to the message that made the call. So adding a
message may change an earlier entry, and `add` says which.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from msgspec.structs import replace

from adapters.console.markdown import Markdown
from adapters.console.pieces import LAID_OUT_MAX
from engine.chat.actions import RequiredAction
from engine.chat.content import (
    Author,
    Content,
    FilePart,
    Finish,
    Message,
    ReasoningPart,
    Role,
    ToolCallPart,
    ToolResultPart,
    text_of,
)
from engine.chat.ids import MessageId
from engine.chat.summaries import is_summary_note
from engine.chat.writes import ActionState

RESULT_MAX: Final = 20_000
"""Characters of arguments and results on the page."""
PAGE_LAID_OUT_MAX: Final = 300_000
"""Characters of answers that one page lays out: under 2 s of work for the worst of texts."""
SUMMARISED: Final = "Earlier conversation summarised."
_NOTES: Final = {
    Finish.INTERRUPTED: "Stopped here.",
    Finish.LENGTH: "The model's limit of length was reached.",
    Finish.CONTENT_FILTER: "The provider withheld the rest.",
    Finish.INCOMPLETE: "The answer broke off here.",
    Finish.ERROR: "The answer broke off here.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionView:
    """A question to people that is closed. `answer` is empty when nobody gave one."""

    question: str
    answer: str
    who: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolView:
    """One call. `state`: calling, done, failed, or asking while its question is open elsewhere."""

    name: str
    args: str
    state: str
    result: str = ""
    question: QuestionView | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileView:
    """A file that came with a message. `about`: its type, and its size if that is known.

    `href`: where its bytes are, empty if they are not ours.
    """

    name: str
    about: str
    href: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryView:
    """One message. `kind`: user, bot or note. `blocks` is safe HTML, `text` is plain."""

    id: MessageId
    kind: str
    name: str
    at: datetime
    text: str = ""
    blocks: tuple[str, ...] = ()
    reasoning: str = ""
    files: tuple[FileView, ...] = ()
    tools: tuple[ToolView, ...] = ()
    note: str = ""

    @property
    def anchor(self) -> str:
        """The entry's id in the page."""
        return f"m-{self.id}"


class Transcript:
    """The entries of one chat, in order, for one visitor."""

    def __init__(self, markdown: Markdown, *, visitor: str, bot: str) -> None:
        self._markdown = markdown
        self._visitor = visitor
        self._bot = bot
        self._messages: dict[MessageId, Message] = {}
        self._results: dict[tuple[MessageId, str], ToolResultPart] = {}
        self._actions: tuple[RequiredAction, ...] = ()

    @property
    def last_id(self) -> MessageId:
        """The newest message that is known, 0 for none."""
        return max(self._messages, default=MessageId(0))

    def entries(self) -> Iterator[EntryView]:
        """All entries, in order, each drawn when it is asked for; what is beyond a page's share plain."""
        first_laid_out = self._first_laid_out()
        for id_ in sorted(self._messages):
            entry = self._entry(self._messages[id_], is_laid_out=id_ >= first_laid_out)
            if entry is not None:
                yield entry

    def load(self, messages: Iterable[Message], actions: Sequence[RequiredAction]) -> None:
        """Take in what there is already, in order, without drawing any of it."""
        for message in messages:
            self._take(message)
        self._actions = tuple(actions)

    def add(self, message: Message) -> tuple[EntryView, ...]:
        """Take in a message, new or amended, and give the entries that look different now."""
        changed = (self._entry(different) for different in self._take(message))
        return tuple(entry for entry in changed if entry is not None)

    def set_actions(self, actions: Sequence[RequiredAction]) -> tuple[EntryView, ...]:
        """Take in what people were asked, and give the entries that look different now."""
        known = {action.id: action for action in self._actions}
        news = {a.tool_call_id for a in actions if known.get(a.id) != a}
        self._actions = tuple(actions)
        changed = (
            self._entry(message)
            for message in self._messages.values()
            if any(isinstance(p, ToolCallPart) and p.tool_call_id in news for p in message.content)
        )
        return tuple(entry for entry in changed if entry is not None)

    def reset(self, after_id: MessageId) -> None:
        """Forget all messages after this one."""
        for id_ in [id_ for id_ in self._messages if id_ > after_id]:
            del self._messages[id_]
        for key in [key for key in self._results if key[0] > after_id]:
            del self._results[key]

    def _first_laid_out(self) -> MessageId:
        """The oldest message that is within a page's share: newer ones are read first."""
        first, left = self.last_id, PAGE_LAID_OUT_MAX
        for id_ in sorted(self._messages, reverse=True):
            message = self._messages[id_]
            if message.role is Role.ASSISTANT:
                left -= min(len(text_of(message.content)), LAID_OUT_MAX)
            if left < 0:
                break
            first = id_
        return first

    def _take(self, message: Message) -> list[Message]:
        """Store a message; the messages whose entries it changes."""
        self._messages[message.id] = message
        if message.role is not Role.TOOL:
            return [message]
        callers = (self._settle(message.id, result) for result in _results_of(message.content))
        return [caller for caller in callers if caller is not None]

    def _settle(self, message_id: MessageId, result: ToolResultPart) -> Message | None:
        """Give the result to the newest earlier message that made the call."""
        for id_ in sorted(self._messages, reverse=True):
            caller = self._messages[id_]
            if id_ < message_id and any(
                isinstance(part, ToolCallPart) and part.tool_call_id == result.tool_call_id
                for part in caller.content
            ):
                self._results[id_, result.tool_call_id] = result
                return caller
        return None

    def _entry(self, message: Message, *, is_laid_out: bool = True) -> EntryView | None:
        match message.role:
            case Role.USER:
                return EntryView(
                    id=message.id,
                    kind="user",
                    name=self._name_of(message.author),
                    at=message.created_at,
                    text=text_of(message.content),
                    files=files_of(message.content),
                )
            case Role.ASSISTANT if is_summary_note(message):
                return EntryView(
                    id=message.id, kind="note", name="", at=message.created_at, text=SUMMARISED
                )
            case Role.ASSISTANT:
                return self._answer(message, is_laid_out=is_laid_out)
            case Role.SYSTEM:
                text = text_of(message.content)
                return EntryView(
                    id=message.id, kind="note", name="", at=message.created_at, text=text
                )
            case Role.TOOL:
                return None

    def _answer(self, message: Message, *, is_laid_out: bool) -> EntryView:
        lay_out = self._markdown.blocks if is_laid_out else self._markdown.plain_blocks
        calls = [part for part in message.content if isinstance(part, ToolCallPart)]
        results = (self._results.get((message.id, call.tool_call_id)) for call in calls)
        return EntryView(
            id=message.id,
            kind="bot",
            name=self._bot,
            at=message.created_at,
            blocks=tuple(lay_out(text_of(message.content))),
            reasoning="\n\n".join(p.text for p in message.content if isinstance(p, ReasoningPart)),
            files=tuple(_file(part) for result in results if result for part in result.files),
            tools=tuple(self._tool(message, call) for call in calls),
            note="" if message.finish is None else _NOTES.get(message.finish, ""),
        )

    def _tool(self, message: Message, call: ToolCallPart) -> ToolView:
        result = self._results.get((message.id, call.tool_call_id))
        action = self._action_of(message, call)
        state = "calling" if result is None else "failed" if result.is_error else "done"
        if action is not None and action.form is not None and action.state is ActionState.OPEN:
            state = "asking"
        return ToolView(
            name=call.tool_name,
            args=shown_json_text(call.args),
            state=state,
            result="" if result is None else shown_value(result.result),
            question=None if action is None else self._question(action),
        )

    def _action_of(self, message: Message, call: ToolCallPart) -> RequiredAction | None:
        """The action of a call: ids of calls may come back later, so the first one since then."""
        since = [
            action
            for action in self._actions
            if action.tool_call_id == call.tool_call_id and action.created_at >= message.created_at
        ]
        return min(since, key=lambda action: action.id, default=None)

    def _question(self, action: RequiredAction) -> QuestionView | None:
        if action.form is None or action.state is ActionState.OPEN:
            return None
        answered = action.state is ActionState.ANSWERED
        note = {ActionState.EXPIRED: "Nobody answered in time."}.get(action.state, "Taken back.")
        return QuestionView(
            question=action.form.question,
            answer=answer_label(action) if answered else "",
            who=self._name_of(action.answered_by) if answered else "",
            note="" if answered else note,
        )

    def _name_of(self, author: Author | None) -> str:
        if author is None:
            return "Somebody"
        return "You" if author.identity == self._visitor else author.name or author.identity


def answer_label(action: RequiredAction) -> str:
    """An answer in the words that people chose it by."""
    options = () if action.form is None else action.form.options
    for option in options:
        if option.value == action.answer:
            return option.label
    answer = action.answer
    if isinstance(answer, dict):
        if len(answer) == 1:
            return _plain(next(iter(answer.values())))
        return ", ".join(f"{name}: {_plain(value)}" for name, value in answer.items())
    return _plain(answer)


def _results_of(content: Content) -> Iterator[ToolResultPart]:
    """The results of a tool's message, each with the files that stand behind it."""
    result: ToolResultPart | None = None
    for part in content:
        if isinstance(part, ToolResultPart):
            if result is not None:
                yield result
            result = part
        elif isinstance(part, FilePart) and result is not None:
            result = replace(result, files=(*result.files, part))
    if result is not None:
        yield result


def files_of(content: Content) -> tuple[FileView, ...]:
    """The files of a message."""
    return tuple(_file(part) for part in content if isinstance(part, FilePart))


def _file(part: FilePart) -> FileView:
    kind = part.media_type or "file"
    about = kind if part.size is None else f"{kind}, {_size(part.size)}"
    href = "" if part.file_id is None else f"/files/{part.file_id}"
    return FileView(name=part.name, about=about, href=href)


def _size(size: int) -> str:
    if size < 1000:
        return f"{size} bytes"
    return f"{size / 1000:.0f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"


def shown_json_text(text: str) -> str:
    """JSON text laid out; as it is when it is none, and nothing for an empty object."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text[:RESULT_MAX]
    return "" if value in ({}, None) else shown_value(value)


def shown_value(value: Any) -> str:
    """A value for people: text as it is, anything else as JSON laid out."""
    if isinstance(value, str):
        return value[:RESULT_MAX]
    return json.dumps(value, ensure_ascii=False, indent=2)[:RESULT_MAX]


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
