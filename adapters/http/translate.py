"""From requests of the API to commands of the engine (pure). All mistakes are collected, then raised.

Text is kept as it is, NUL included. A lone surrogate, which JSON can spell but no text can hold, is a
mistake in the field that has it.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from uuid import UUID, uuid5

from adapters.http.details import labels_of
from adapters.http.errors import Problem, ProblemCode, not_found
from adapters.http.fields import Mistakes, ObjectReader, misleads
from engine.chat.commands import (
    AnswerAction,
    BusyBehavior,
    CreateChat,
    EditMessage,
    EditQueuedMessage,
    SendMessage,
    SubmitToolResults,
)
from engine.chat.content import Author, Content, FilePart, TextPart, ToolResultPart, plain
from engine.chat.decide_messages import refuse_content
from engine.chat.form import Form
from engine.chat.form_answers import answer_of_fields, answer_of_option
from engine.chat.ids import ActionId, ChatId, FileId, MessageId, QueuedId, ToolCallId

TEXT_MAX: Final = 1_000_000
"""Characters of one text part. The cap on bodies is met first, unless an operator raised it."""
PARTS_MAX: Final = 100
NAME_MAX: Final = 200
SYSTEM_PROMPT_MAX: Final = 100_000
RESULTS_MAX: Final = 250
IDEMPOTENCY_KEY_MAX: Final = 255
ID_MAX: Final = 2**63 - 1
_CHATS: Final = UUID("5e0c3a52-6a0f-5d1c-9a52-6c6f0b1d7e21")

CheckTools = Callable[[list[Any]], list[tuple[str, str]]]
"""Says what is wrong with a chat's own tools: (field, how to mend it)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """Who sends a request, and the key by which a repeated one is known. `scope`: whose keys."""

    author: Author
    scope: str
    idempotency_key: str | None = None

    def source_key(self, kind: str) -> str | None:
        """The key as messages carry it; those of another kind of request are others."""
        key = self.idempotency_key
        return None if key is None else f"{self.scope}:{kind}:{key}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewToken:
    """An API token to be made."""

    name: str
    role: str


def create_chat(
    body: Any, sender: Sender, new_id: UUID, *, bots: tuple[str, ...], check_tools: CheckTools
) -> CreateChat:
    """A new chat. With an idempotency key its id follows from the key, so a repeated one is found.

    The source key of its message tells whether the body was the same.
    """
    mistakes = Mistakes()
    known = ("content", "bot", "title", "model", "system_prompt", "labels", "dynamic_tools")
    reader = ObjectReader(body, mistakes, known=known)
    content = _content(reader, mistakes)
    bot = reader.choice("bot", bots, default=bots[0])
    title = reader.name("title", length_max=NAME_MAX)
    model = reader.name("model", length_max=NAME_MAX)
    system_prompt = reader.text("system_prompt", length_max=SYSTEM_PROMPT_MAX, blank=True)
    labels = labels_of(reader)
    tools = _dynamic_tools(reader, check_tools)
    mistakes.raise_if_any()
    key = sender.source_key("chat")
    return CreateChat(
        chat_id=ChatId(new_id if key is None else uuid5(_CHATS, key)),
        content=content,
        author=sender.author,
        source_key=None if key is None else f"{key}:{_hash_of(body)}",
        bot=bot,
        title=title,
        model=model,
        system_prompt=system_prompt,
        labels=labels,
        dynamic_tools=tools,
    )


def send_message(body: Any, sender: Sender) -> SendMessage:
    """A message to a chat that exists."""
    mistakes = Mistakes()
    reader = ObjectReader(body, mistakes, known=("content", "busy_behavior"))
    content = _content(reader, mistakes)
    busy = reader.choice("busy_behavior", BusyBehavior, default=BusyBehavior.QUEUE)
    mistakes.raise_if_any()
    key = sender.source_key("message")
    return SendMessage(content=content, author=sender.author, source_key=key, busy=busy)


def edit_message(body: Any, sender: Sender, message_id: MessageId) -> EditMessage:
    """A changed message; unless told otherwise, it is answered anew."""
    mistakes = Mistakes()
    reader = ObjectReader(body, mistakes, known=("content", "rerun"))
    content = _content(reader, mistakes)
    rerun = reader.flag("rerun", default=True)
    mistakes.raise_if_any()
    return EditMessage(message_id=message_id, content=content, author=sender.author, rerun=rerun)


def edit_queued(body: Any, queued_id: QueuedId) -> EditQueuedMessage:
    """A changed message that still waits."""
    mistakes = Mistakes()
    content = _content(ObjectReader(body, mistakes, known=("content",)), mistakes)
    mistakes.raise_if_any()
    return EditQueuedMessage(queued_id=queued_id, content=content)


def submit_results(body: Any, by: Author) -> SubmitToolResults:
    """Results of all pending calls."""
    mistakes = Mistakes()
    reader = ObjectReader(body, mistakes, known=("results", "message_id"))
    message_id = reader.whole("message_id")
    read = partial(_result, mistakes)
    results = reader.items("results", read, count_max=RESULTS_MAX)
    ids = [result.tool_call_id for result in results]
    if "results" not in reader:
        reader.wrong("results", "is required")
    if len(set(ids)) < len(ids):
        reader.wrong("results", "has two results of one call")
    mistakes.raise_if_any()
    return SubmitToolResults(
        results=results,
        by=by,
        message_id=None if message_id is None else MessageId(message_id),
    )


def answer_action(body: Any, action_id: ActionId, form: Form | None, by: Author) -> AnswerAction:
    """One answer: the index of an option, the values of a form's fields, or any result."""
    mistakes = Mistakes()
    ways = ("option", "values", "result")
    reader = ObjectReader(body, mistakes, known=(*ways, "is_error"))
    given = [way for way in ways if way in reader]
    if len(given) != 1:
        reader.wrong("option", "exactly one of option, values and result is required")
    is_error = reader.flag("is_error", default=False)
    if is_error and given != ["result"]:
        reader.wrong("is_error", "goes with result only")
    mistakes.raise_if_any()
    result = _ANSWERS[given[0]](reader, form)
    mistakes.raise_if_any()
    return AnswerAction(action_id=action_id, result=result, is_error=is_error, by=by)


def new_token(body: Any, roles: tuple[str, ...]) -> NewToken:
    """A token to be made."""
    mistakes = Mistakes()
    reader = ObjectReader(body, mistakes, known=("name", "role"))
    name = reader.text("name", length_max=NAME_MAX, required=True)
    if name is not None and misleads(name):
        reader.wrong("name", "must not hold control characters, line breaks or turns of direction")
    role = reader.choice("role", roles, default=roles[0])
    mistakes.raise_if_any()
    return NewToken(name=name or "", role=role)


def idempotency_key(raw: str | None) -> str | None:
    """The Idempotency-Key header, checked."""
    if raw is None:
        return None
    if not raw or len(raw) > IDEMPOTENCY_KEY_MAX or not raw.isascii() or not raw.isprintable():
        mistakes = Mistakes()
        allowed = f"must be 1 to {IDEMPOTENCY_KEY_MAX} printable ASCII characters"
        mistakes.add("Idempotency-Key", allowed)
        mistakes.raise_if_any()
    return raw


def chat_id_of(path: Mapping[str, str]) -> ChatId:
    """The chat that a path names."""
    try:
        return ChatId(UUID(path["chat_id"]))
    except ValueError:
        raise not_found("chat") from None


def number_of(path: Mapping[str, str], name: str, what: str) -> int:
    """The number that a path names."""
    text = path[name]
    if not (text.isascii() and text.isdigit()) or len(text) > 19 or int(text) > ID_MAX:
        raise not_found(what)
    return int(text)


def _hash_of(body: Any) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def _content(reader: ObjectReader, mistakes: Mistakes) -> Content:
    """Text, or an array of parts. People's content is what the engine takes from people."""
    raw = reader.value("content")
    if raw is None:
        reader.wrong("content", "is required")
        return ()
    if isinstance(raw, str):
        content = plain(raw)
    elif isinstance(raw, list):
        before = mistakes.count
        parts = reader.items("content", partial(_part, mistakes), count_max=PARTS_MAX)
        if mistakes.count > before:
            return parts
        content = parts
    else:
        reader.wrong("content", "must be text or an array of parts")
        return ()
    if refusal := refuse_content(content):
        reader.wrong("content", refusal.detail or "is empty")
    return content


def _part(mistakes: Mistakes, raw: Any, where: str) -> TextPart | FilePart:
    kind = raw.get("type") if isinstance(raw, dict) else None
    match kind:
        case "text":
            reader = ObjectReader(raw, mistakes, known=("type", "text"), where=where)
            text = reader.text("text", length_max=TEXT_MAX, required=True, blank=True)
            return TextPart(text=text or "")
        case "file":
            known = ("type", "name", "media_type", "size", "file_id")
            reader = ObjectReader(raw, mistakes, known=known, where=where)
            if reader.value("file_id") is not None:
                return FilePart(name="", media_type="", file_id=_file_id(reader))
            return FilePart(
                name=reader.text("name", length_max=NAME_MAX, required=True) or "",
                media_type=reader.text("media_type", length_max=NAME_MAX, required=True) or "",
                size=reader.whole("size"),
            )
        case _:
            mistakes.add(f"{where}.type", 'must be "text" or "file"')
            return TextPart(text="")


def _file_id(reader: ObjectReader) -> FileId | None:
    """The id of a stored file. What else is said of it does not count: the store knows better."""
    raw = reader.value("file_id")
    try:
        return FileId(UUID(raw))
    except (ValueError, TypeError, AttributeError):
        reader.wrong("file_id", "must be the id of a file")
        return None


def _dynamic_tools(reader: ObjectReader, check_tools: CheckTools) -> tuple[dict[str, Any], ...]:
    raw = reader.value("dynamic_tools")
    if raw is None:
        return ()
    if not isinstance(raw, list):
        reader.wrong("dynamic_tools", "must be an array of tools")
        return ()
    problems = check_tools(raw)
    for field, detail in problems:
        reader.wrong(field, detail)
    return () if problems else tuple(raw)


def _result(mistakes: Mistakes, raw: Any, where: str) -> ToolResultPart:
    known = ("tool_call_id", "result", "is_error")
    reader = ObjectReader(raw, mistakes, known=known, where=where)
    call_id = reader.text("tool_call_id", length_max=NAME_MAX, required=True)
    if "result" not in reader:
        reader.wrong("result", "is required; it may be null")
    return ToolResultPart(
        tool_call_id=ToolCallId(call_id or ""),
        tool_name="",
        result=reader.value("result"),
        is_error=reader.flag("is_error", default=False),
    )


def _answer_of_option(reader: ObjectReader, form: Form | None) -> Any:
    form = _form_of(form)
    index = reader.whole("option")
    if index is None and reader.value("option") is not None:
        return None
    count = len(form.options)
    if index is not None and index < count:
        return answer_of_option(form, index)
    expected = f"must be a whole number from 0 to {count - 1}"
    reader.wrong("option", expected if count else "the question has none; send values")
    return None


def _answer_of_values(reader: ObjectReader, form: Form | None) -> Any:
    raw = reader.value("values")
    if not isinstance(raw, dict):
        reader.wrong("values", "must be an object")
        return None
    form = _form_of(form)
    if not form.fields:
        reader.wrong("values", "the question has no fields; answer it with the index of an option")
        return None
    known = [field.name for field in form.fields]
    for name in raw:
        if name not in known:
            reader.wrong(f"values.{name}", "the form has no such field")
    result, problems = answer_of_fields(form, raw)
    for name, detail in problems.items():
        reader.wrong(f"values.{name}", detail)
    return result


def _answer_of_result(reader: ObjectReader, _form: Form | None) -> Any:
    return reader.value("result")


_ANSWERS: Final[Mapping[str, Callable[[ObjectReader, Form | None], Any]]] = {
    "option": _answer_of_option,
    "values": _answer_of_values,
    "result": _answer_of_result,
}


def _form_of(form: Form | None) -> Form:
    if form is None:
        sentence = "This question has no form; answer it with a result."
        raise Problem(ProblemCode.INVALID_FIELDS, sentence)
    return form
