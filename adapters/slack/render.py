"""Pages and questions as Slack's payloads (pure). Nothing that a model wrote can ping in them.

A page that still grows is plain mrkdwn text, since text can be edited up to 4,000 characters and a section
cannot; as long as it is short enough for one section it can carry the stop button as well. One that has
grown is a block of Markdown, in which Slack shows tables, headings and nested lists, with the same as text
for notifications and search.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from adapters.contract import MessageRef, Page, Place, Question, Sayable
from adapters.slack import limits
from adapters.slack.buttons import STOP_ID
from adapters.slack.feedback import feedback_row
from adapters.slack.question_blocks import (
    NO_NAMES,
    Names,
    button,
    question_blocks,
    question_fallback,
    section,
)

METADATA_EVENT = "threadwright_page"
MARKDOWN_BLOCK = "markdown"
Payload = dict[str, Any]


def post_arguments(
    place: Place, outgoing: Sayable, nonce: UUID, *, names: Names = NO_NAMES
) -> Payload:
    """The arguments of chat.postMessage; `metadata` is what the message is found by again.

    `names`: of those who may answer a question, or were named in the answer.
    """
    blocks = _blocks(outgoing, names)
    arguments: Payload = {
        "channel": place.channel,
        "thread_ts": place.thread,
        "text": _text(outgoing, names),
        "metadata": page_metadata(nonce),
        "unfurl_links": False,
        "unfurl_media": False,
    }
    return arguments | ({"blocks": blocks} if blocks else {})


def edit_arguments(ref: MessageRef, outgoing: Sayable, *, names: Names = NO_NAMES) -> Payload:
    """The arguments of chat.update. Blocks are always named: those left out would stay."""
    return {
        "channel": ref.place.channel,
        "ts": ref.message_id,
        "text": _text(outgoing, names),
        "blocks": _blocks(outgoing, names),
    }


def without_markdown(outgoing: Sayable) -> Page | None:
    """The same as plain text, if it was to be shown as a block of Markdown."""
    if isinstance(outgoing, Page) and outgoing.markdown:
        return replace(outgoing, markdown="")
    return None


def page_metadata(nonce: UUID) -> Payload:
    """What a page is found by again."""
    return {"event_type": METADATA_EVENT, "event_payload": {"nonce": str(nonce)}}


def nonce_of_message(message: Mapping[str, Any]) -> str | None:
    """The nonce that a message of ours was posted with."""
    metadata = message.get("metadata")
    if not isinstance(metadata, Mapping) or metadata.get("event_type") != METADATA_EVENT:
        return None
    payload = metadata.get("event_payload")
    nonce = payload.get("nonce") if isinstance(payload, Mapping) else None
    return nonce if isinstance(nonce, str) else None


def _text(outgoing: Sayable, names: Names) -> str:
    """What notifications, search and screen readers get."""
    match outgoing:
        case Page(text=text):
            return text
        case Question():
            return question_fallback(outgoing, names)


def _blocks(outgoing: Sayable, names: Names) -> list[Payload]:
    match outgoing:
        case Page(markdown=markdown, rates=rates) if markdown:
            rating = [] if rates is None else [feedback_row(rates)]
            return [{"type": MARKDOWN_BLOCK, "text": markdown}, *rating]
        case Page(text=text, can_stop=can_stop):
            if not can_stop or len(text) > limits.SECTION_TEXT_MAX:
                return []
            return [section(text) | {"expand": True}, _stop_row()]
        case Question():
            return question_blocks(outgoing, names)


def _stop_row() -> Payload:
    return {
        "type": "actions",
        "block_id": STOP_ID,
        "elements": [button(STOP_ID, "Stop", "stop")],
    }
