"""What to do next about a message that is streamed, so that it comes to show its page (pure).

Theory of operation. A stream only takes more at its end, so what is sent must never have to be taken back:
the end of growing Markdown is held back as long as it may still change. Parts end where words end, unless
the text pauses within one. Where the page is no continuation of what was sent all the
same, or nobody knows what arrived, the stream is closed and an edit puts the message right. It is closed in
time, too: the platform ends it at some age, and takes no more at some size. Times are seconds of one clock.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from adapters.contract import Growth, StreamLimits, TaskCard, TaskState
from adapters.delivery.plain_text import is_cjk

TASK_BYTES = 64
"""What a task card counts beside its title."""
_CLOSERS = re.compile(r"[\s*_~`>\\]*\Z")
"""What ends a draft and moves on when it grows: the marks that close what is open, and blanks."""
_NO_TASKS: Mapping[str, TaskCard] = MappingProxyType({})
_CONTINUED = "{title} (goes on below)"


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamedPage:
    """A page as a stream shows it. `reader`: whose question it answers, as authors are identified."""

    markdown: str
    tasks: tuple[TaskCard, ...] = ()
    reader: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenStream:
    """A message that is streamed, as far as we know.

    `sent` is the Markdown that it was sent. `is_doubtful`: it may show something else, so it takes
    no more. `closes_bare`: it was not closed with its rest, so that is sent before. `is_unclosable`:
    the platform refuses to close it at all, but will end it by itself.
    """

    message_id: str
    started_at: float
    sent_at: float
    sent: str = ""
    tasks: Mapping[str, TaskCard] = field(default_factory=lambda: _NO_TASKS)
    is_doubtful: bool = False
    closes_bare: bool = False
    is_unclosable: bool = False

    @property
    def size(self) -> int:
        """What it holds, as the platform counts it: UTF-8 of texts and cards."""
        return len(self.sent.encode("utf-8", "replace")) + _cards_size(self.tasks.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Append:
    """Send more, not before `due_at`."""

    growth: Growth
    due_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Close:
    """End the stream with its rest. `is_whole`: the message then shows its page."""

    growth: Growth
    is_whole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Forget:
    """The platform has ended it by now: what is to change is changed by edits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Idle:
    """There is nothing to send. Look again when the page has changed, at the latest at `until`."""

    until: float


Step = Append | Close | Forget | Idle
NOTHING = Growth()


def beginning(page: StreamedPage, limits: StreamLimits) -> Growth:
    """What a stream begins with; nothing while there is nothing to show."""
    markdown = whole_words(page.markdown) or sure_part(page.markdown)
    return _growth("", _NO_TASKS, page, markdown, limits)


def next_step(
    stream: OpenStream, page: StreamedPage, *, is_draft: bool, now: float, limits: StreamLimits
) -> Step:
    """The next thing to do about a stream so that its message shows the page."""
    if stream.is_unclosable:
        return _wait_for_end(stream, page, now=now, limits=limits)
    if stream.is_doubtful:
        return Close(growth=NOTHING, is_whole=False)
    if not page.markdown.startswith(stream.sent):
        return _fallen_behind(stream, page, is_draft=is_draft, now=now, limits=limits)
    if not is_draft:
        return _finish(stream, page, limits)
    return _go_on(stream, page, now=now, limits=limits)


def _fallen_behind(
    stream: OpenStream, page: StreamedPage, *, is_draft: bool, now: float, limits: StreamLimits
) -> Step:
    """A page that is less than what was sent may catch up; another one is left to an edit."""
    ends_at = stream.started_at + limits.seconds_max
    if is_draft and now < ends_at and stream.sent.startswith(page.markdown.rstrip()):
        return Idle(until=ends_at)
    if is_draft or stream.sent.rstrip() != page.markdown.rstrip():
        return Close(growth=NOTHING, is_whole=False)
    cards = _changed(stream.tasks, page) + _left_behind(stream, page)
    return Close(growth=Growth(tasks=cards), is_whole=True)


def _finish(stream: OpenStream, page: StreamedPage, limits: StreamLimits) -> Step:
    growth = _growth(stream.sent, stream.tasks, page, page.markdown, limits)
    if _size_with(stream, growth) > limits.bytes_max:
        return Close(growth=NOTHING, is_whole=False)
    is_rest = stream.sent + growth.text == page.markdown
    if not is_rest or (stream.closes_bare and growth != NOTHING):
        return Append(growth=growth, due_at=stream.sent_at)
    last = replace(growth, tasks=(*growth.tasks, *_left_behind(stream, page)))
    return Close(growth=last, is_whole=True)


def _go_on(stream: OpenStream, page: StreamedPage, *, now: float, limits: StreamLimits) -> Step:
    ends_at = stream.started_at + limits.seconds_max
    if now >= ends_at:
        return Close(growth=NOTHING, is_whole=False)
    due_at = stream.sent_at + limits.interval_seconds
    markdown = whole_words(page.markdown, stream.sent)
    growth = _growth(stream.sent, stream.tasks, page, markdown, limits)
    if growth == NOTHING:
        # The text pauses within a word, or behind its last one.
        due_at += limits.interval_seconds
        markdown = max(sure_part(page.markdown), stream.sent, key=len)
        growth = _growth(stream.sent, stream.tasks, page, markdown, limits)
    if growth == NOTHING:
        return Idle(until=ends_at)
    if _size_with(stream, growth) > limits.bytes_max:
        return Close(growth=NOTHING, is_whole=False)
    return Append(growth=growth, due_at=min(due_at, ends_at))


def grown(stream: OpenStream, growth: Growth, *, now: float) -> OpenStream:
    """The stream after the platform took this."""
    tasks = {**stream.tasks, **{card.id: card for card in growth.tasks}}
    return replace(stream, sent=stream.sent + growth.text, tasks=tasks, sent_at=now)


def fullness(stream: OpenStream, *, now: float, limits: StreamLimits) -> float:
    """How near the stream is to its end, by age or size: 1 is there."""
    age = (now - stream.started_at) / limits.seconds_max
    return max(age, stream.size / limits.bytes_max)


def _left_behind(stream: OpenStream, page: StreamedPage) -> tuple[TaskCard, ...]:
    """The cards of what runs on below when the reply goes on in another message."""
    here = {card.id for card in page.tasks}
    running = (c for c in stream.tasks.values() if not c.is_over and c.id not in here)
    return tuple(
        replace(card, title=_CONTINUED.format(title=card.title), state=TaskState.COMPLETE)
        for card in running
    )


def sure_part(markdown: str) -> str:
    """As much of growing Markdown as can be sent for good: all but what closes it for now."""
    return _CLOSERS.sub("", markdown)


def whole_words(markdown: str, sent: str = "") -> str:
    """The sure part up to where a last word begins; no more than `sent` where that is within it."""
    end = len(sure_part(markdown))
    for at in range(end - 1, len(sent), -1):
        if markdown[at - 1].isspace() or (is_cjk(markdown[at - 1]) and is_cjk(markdown[at])):
            return markdown[:at]
    return sent


def _growth(
    sent: str, told: Mapping[str, TaskCard], page: StreamedPage, markdown: str, limits: StreamLimits
) -> Growth:
    text = markdown[len(sent) :]
    if len(text) > limits.call_chars_max:
        text = whole_words(text[: limits.call_chars_max]) or text[: limits.call_chars_max]
    return Growth(text=text, tasks=_changed(told, page))


def _changed(told: Mapping[str, TaskCard], page: StreamedPage) -> tuple[TaskCard, ...]:
    return tuple(card for card in page.tasks if told.get(card.id) != card)


def _wait_for_end(
    stream: OpenStream, page: StreamedPage, *, now: float, limits: StreamLimits
) -> Step:
    """Show what there is to show until the platform ends a stream that cannot be closed."""
    ended_at = stream.started_at + limits.life_seconds
    if now >= ended_at:
        return Forget()
    rest = page.markdown.removeprefix(stream.sent)
    is_sendable = page.markdown.startswith(stream.sent) and not stream.is_doubtful
    if not (rest and is_sendable):
        return Idle(until=ended_at)
    growth = Growth(text=rest[: limits.call_chars_max])
    if _size_with(stream, growth) > limits.bytes_max:
        return Idle(until=ended_at)
    return Append(growth=growth, due_at=stream.sent_at + limits.interval_seconds)


def _size_with(stream: OpenStream, growth: Growth) -> int:
    cards = {**stream.tasks, **{card.id: card for card in growth.tasks}}.values()
    return len((stream.sent + growth.text).encode("utf-8", "replace")) + _cards_size(cards)


def _cards_size(cards: Iterable[TaskCard]) -> int:
    return sum(len(card.title.encode("utf-8", "replace")) + TASK_BYTES for card in cards)
