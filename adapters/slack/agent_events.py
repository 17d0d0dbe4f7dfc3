"""What Slack's agent view tells beside messages: opened, looking elsewhere, named otherwise (pure).

The older assistant view tells the same in other words. What a person looks at comes in several shapes,
so the first channel that is named counts.
"""

from dataclasses import dataclass
from typing import Any, Final

from adapters.slack.limits import SESSION_TITLE_MAX
from adapters.slack.wire import Json, object_at, objects_at, text_at

VIEW_EVENTS: Final = frozenset(
    {
        "app_home_opened",
        "app_context_changed",
        "agent_session_title_changed",
        "assistant_thread_started",
        "assistant_thread_context_changed",
    }
)
_OPENED: Final = frozenset({"app_home_opened", "assistant_thread_started"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewEvent:
    """Something about the conversation of one person with the agent.

    `is_opened`: they have it before them. `looks_at`: the channel that they have open elsewhere, if it
    is told. `title`: what they named the thread.
    """

    channel: str
    thread: str
    user_id: str
    is_opened: bool = False
    looks_at: str = ""
    title: str = ""


def view_event(event: Json) -> ViewEvent | None:
    """What an event of the agent view tells; None where it is none, or lacks what matters."""
    kind = text_at(event, "type")
    if kind not in VIEW_EVENTS or (kind == "app_home_opened" and text_at(event, "tab") == "home"):
        return None
    older = object_at(event, "assistant_thread")
    found = ViewEvent(
        channel=text_at(event, "channel")
        or text_at(event, "channel_id")
        or text_at(older, "channel_id"),
        thread=text_at(event, "thread_ts") or text_at(older, "thread_ts"),
        user_id=text_at(event, "user") or text_at(event, "user_id") or text_at(older, "user_id"),
        is_opened=kind in _OPENED,
        looks_at=_channel_in(object_at(event, "context") or object_at(older, "context")),
        title=text_at(event, "title") if kind == "agent_session_title_changed" else "",
    )
    return found if found.channel and (found.is_opened or found.looks_at or found.title) else None


def _channel_in(context: Json) -> str:
    if named := text_at(context, "channel_id") or text_at(context, "channel"):
        return named
    for entity in objects_at(context, "entities"):
        if "channel" in text_at(entity, "type"):
            return text_at(entity, "value") or text_at(entity, "id")
    return ""


def prompts_of(messages: tuple[str, ...]) -> list[dict[str, Any]]:
    """The bot's suggested first messages as Slack takes them: at most four, each with a title."""
    return [{"title": _title_of(message), "message": message} for message in messages[:PROMPTS_MAX]]


PROMPTS_MAX: Final = 4
"""[ref] assistant.threads.setSuggestedPrompts"""
_TITLE_MAX: Final = 75


def session_title(title: str | None) -> str:
    """A chat's title as a session can have it: on one line and not too long; empty for none."""
    line = " ".join((title or "").split())
    return line if len(line) <= SESSION_TITLE_MAX else f"{line[: SESSION_TITLE_MAX - 1]}…"


def _title_of(message: str) -> str:
    line = " ".join(message.split())
    return line if len(line) <= _TITLE_MAX else f"{line[: _TITLE_MAX - 1].rstrip()}…"
