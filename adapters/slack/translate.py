"""What a stored Slack delivery asks of us (pure). Whether there is a chat for it is not known here."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from adapters.slack.agent_events import ViewEvent, view_event
from adapters.slack.buttons import (
    AnswerPressed,
    StopPressed,
    origin_of_form,
    place_of_press,
    press_of,
)
from adapters.slack.feedback import Rated, rated_of
from adapters.slack.identity import SlackIdentity
from adapters.slack.inbound_text import (
    ONLY_MENTIONED,
    Names,
    mentions_us,
    message_text,
    users_in,
)
from adapters.slack.intake import EventKind, thread_of
from adapters.slack.orders import Order, order_of
from adapters.slack.shared_files import SharedFile, files_of
from adapters.slack.wire import Json, object_at, objects_at, text_at
from engine.chat.ids import ActionId


@dataclass(frozen=True, slots=True, kw_only=True)
class StartOrSend:
    """A message. `starts`: it may begin a chat where its thread has none.

    `user_id` is the bot id where another app wrote it, which then has a `user_name`. The text may be
    empty where there are files.
    """

    channel: str
    thread: str
    user_id: str
    message_ts: str
    source_key: str
    text: str
    starts: bool
    is_mention: bool = False
    files: tuple[SharedFile, ...] = ()
    user_name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A message was changed. `starts`: if it was not known, it now addresses the bot."""

    channel: str
    thread: str
    user_id: str
    message_ts: str
    source_key: str
    text: str
    starts: bool
    is_mention: bool = False
    files: tuple[SharedFile, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    """A message was deleted."""

    channel: str
    thread: str
    source_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """Somebody wants the agent to stop. `thread` is None where only a message in it is known."""

    channel: str
    thread: str | None
    message_ts: str
    user_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Click:
    """An option was chosen, or a form submitted: then `form` is the payload that holds the values."""

    action_id: ActionId
    user_id: str
    channel: str
    thread: str
    option: int | None = None
    form: Json | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """Somebody wants the last question of a thread answered anew; of the thread a message is known."""

    channel: str
    message_ts: str
    user_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordered:
    """Something is ordered beside the threads."""

    order: Order


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignore:
    """Nothing to do, and why."""

    reason: str


ThreadIntent = StartOrSend | Edit | Delete | Stop | Click | ViewEvent | Rated | Retry | Ignore
Intent = ThreadIntent | Ordered


def translate(
    kind: str,
    body: Json,
    *,
    identity: SlackIdentity,
    stop_words: Iterable[str],
    twin: Json | None = None,
    names: Names | None = None,
) -> Intent:
    """Turn a delivery that intake kept into what it asks for. Never raises.

    `twin`: the other event of the same message; whichever came first, its files count. `names`:
    of the users that `users_named` lists.
    """
    reading = _Reading(
        body=body,
        event=object_at(body, "event"),
        twin=object_at(twin, "event"),
        identity=identity,
        stop_words=tuple(stop_words),
        names=names or {},
    )
    translator = _TRANSLATORS.get(kind)
    return translator(reading) if translator else Ignore(reason=f"unknown kind {kind}")


def users_named(body: Json) -> frozenset[str]:
    """The users whose names a translation would like to know: authors and the mentioned."""
    event = object_at(body, "event")
    message = object_at(event, "message")
    named = users_in(event) | users_in(message)
    authors = (
        text_at(event, "user"),
        text_at(message, "user"),
        text_at(body, "user", "id"),
        text_at(body, "user_id"),
    )
    return named | {author for author in authors if author}


def homes_of(body: Json) -> dict[str, str]:
    """Where people of other organizations are at home, as a message in a shared channel says."""
    if body.get("is_ext_shared_channel") is not True:
        return {}
    event = object_at(body, "event")
    homes = {}
    for message in (event, object_at(event, "message")):
        user, team = text_at(message, "user"), text_at(message, "user_team")
        if user and team.startswith("T"):
            homes[user] = team
    return homes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    body: Json
    event: Json
    twin: Json
    identity: SlackIdentity
    stop_words: tuple[str, ...]
    names: Names


def _said(reading: _Reading) -> Intent:
    event, identity = _with_files(reading.event, reading.twin), reading.identity
    channel, ts, app = text_at(event, "channel"), text_at(event, "ts"), text_at(event, "bot_id")
    user = app or text_at(event, "user")
    if is_stop(event, identity, reading.stop_words):
        return Stop(channel=channel, thread=thread_of(event), message_ts=ts, user_id=user)
    text, files = _words(event, reading), files_of(event)
    if not text and not files:
        return Ignore(reason="an empty message")
    app_name = text_at(event, "username") or text_at(event, "bot_profile", "name")
    return StartOrSend(
        channel=channel,
        thread=thread_of(event),
        user_id=user,
        message_ts=ts,
        source_key=identity.message_key(channel, ts),
        text=text,
        starts=_addresses_us(event, event, identity),
        is_mention=_is_mention(event, event, identity),
        files=files,
        user_name=app_name if app else "",
    )


def _edited(reading: _Reading) -> Intent:
    # An app_mention of an edited message carries the message itself, message_changed has it inside.
    event, identity = reading.event, reading.identity
    message = object_at(event, "message") or event
    channel, ts = text_at(event, "channel"), text_at(message, "ts")
    text, files = _words(message, reading), files_of(message)
    if not text and not files:
        return Ignore(reason="edited to nothing")
    return Edit(
        channel=channel,
        thread=thread_of(message),
        user_id=text_at(message, "user"),
        message_ts=ts,
        source_key=identity.message_key(channel, ts),
        text=text,
        starts=_addresses_us(event, message, identity),
        is_mention=_is_mention(event, message, identity),
        files=files,
    )


def _deleted(reading: _Reading) -> Intent:
    previous = object_at(reading.event, "previous_message")
    channel = text_at(reading.event, "channel")
    ts = text_at(reading.event, "deleted_ts") or text_at(previous, "ts")
    return Delete(
        channel=channel,
        thread=thread_of(previous) or ts,
        source_key=reading.identity.message_key(channel, ts),
    )


def _reacted(reading: _Reading) -> Intent:
    return Stop(
        channel=text_at(reading.event, "item", "channel"),
        thread=None,
        message_ts=text_at(reading.event, "item", "ts"),
        user_id=text_at(reading.event, "user"),
    )


def _retried(reading: _Reading) -> Intent:
    return Retry(
        channel=text_at(reading.event, "item", "channel"),
        message_ts=text_at(reading.event, "item", "ts"),
        user_id=text_at(reading.event, "user"),
    )


def _ordered(reading: _Reading) -> Intent:
    order = order_of(reading.body)
    return Ignore(reason="not an order of ours") if order is None else Ordered(order=order)


def _stopped(reading: _Reading) -> Intent:
    return Stop(
        channel=text_at(reading.event, "channel"),
        thread=text_at(reading.event, "thread_ts"),
        message_ts="",
        user_id=text_at(reading.event, "user"),
    )


def _clicked(reading: _Reading) -> Intent:
    place = place_of_press(reading.body)
    match press_of(reading.body):
        case StopPressed():
            return Stop(
                channel=place.channel,
                thread=place.thread,
                message_ts=place.message_ts,
                user_id=place.user_id,
            )
        case AnswerPressed(action_id=action_id, option=option):
            return Click(
                action_id=action_id,
                user_id=place.user_id,
                channel=place.channel,
                thread=place.thread,
                option=option,
            )
        case _:
            return Ignore(reason="not a control of ours")


def _submitted(reading: _Reading) -> Intent:
    origin = origin_of_form(reading.body)
    if origin is None:
        return Ignore(reason="not a form of ours")
    return Click(
        action_id=origin.action_id,
        user_id=text_at(reading.body, "user", "id"),
        channel=origin.channel,
        thread=origin.thread,
        form=reading.body,
    )


def _rated(reading: _Reading) -> Intent:
    return rated_of(reading.body) or Ignore(reason="not a rating of ours")


def _viewed(reading: _Reading) -> Intent:
    return view_event(reading.event) or Ignore(reason="not of the agent view")


_TRANSLATORS: Mapping[str, Callable[[_Reading], Intent]] = {
    EventKind.MESSAGE: _said,
    EventKind.EDIT: _edited,
    EventKind.DELETION: _deleted,
    EventKind.REACTION: _reacted,
    EventKind.STOPPED: _stopped,
    EventKind.CLICK: _clicked,
    EventKind.FORM: _submitted,
    EventKind.VIEW: _viewed,
    EventKind.COMMAND: _ordered,
    EventKind.RETRY: _retried,
    EventKind.RATING: _rated,
}


def is_stop(message: Json, identity: SlackIdentity, stop_words: Iterable[str]) -> bool:
    """A message that is only a stop word, with or without our mention, in any case."""
    if objects_at(message, "files"):
        return False
    said = message_text(message, identity, {}).strip(" .!\n").casefold()
    wanted = {word.strip(" .!").casefold() for word in stop_words}
    return bool(said) and said in wanted


def _words(message: Json, reading: _Reading) -> str:
    """The text; a mention that says nothing and shows nothing says at least that."""
    text = message_text(message, reading.identity, reading.names)
    if not text and not files_of(message) and mentions_us(message, reading.identity):
        return ONLY_MENTIONED
    return text


def _addresses_us(event: Json, message: Json, identity: SlackIdentity) -> bool:
    return (
        text_at(event, "channel_type") == "im"
        or text_at(event, "channel").startswith("D")
        or _is_mention(event, message, identity)
    )


def _is_mention(event: Json, message: Json, identity: SlackIdentity) -> bool:
    return text_at(event, "type") == "app_mention" or mentions_us(message, identity)


def _with_files(event: Json, twin: Json) -> Json:
    """The event with the files of both; only one of a mention's two events may have them."""
    files = objects_at(event, "files")
    known = {text_at(file, "id") for file in files}
    more = [file for file in objects_at(twin, "files") if text_at(file, "id") not in known]
    if not more:
        return event
    merged: dict[str, Any] = {**event, "files": [*files, *more]}
    if not text_at(event, "text") and isinstance(twin, Mapping):
        merged["text"] = text_at(twin, "text")
    return merged
