"""Slack's native streams: messages that grow by chat.appendStream, where Slack lets us.

Theory of operation. Streams are tried where nothing speaks against them. What Slack refuses is not tried
again for a while: in the whole workspace where the app may not stream at all, in the channel otherwise.
Channels that are shared with other organizations are left to edits, since it is not settled whose team is
the reader's there. A stream has no metadata before it is closed, so one whose start was not answered is
found as a message of ours that carries none.
"""

import time
from collections.abc import Collection
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from adapters.contract import Growth, MessageRef, Place, StreamLimits
from adapters.errors import (
    RateLimited,
    StreamRefused,
    SurfaceError,
    Unavailable,
)
from adapters.slack import limits
from adapters.slack.client import TOO_LONG, SlackClient
from adapters.slack.feedback import feedback_row
from adapters.slack.identity import PLATFORM, team_of
from adapters.slack.render import page_metadata
from adapters.slack.workspaces import AllWorkspaces, Workspace
from config.slack_stream_settings import SlackStreaming, SlackStreamSettings

REFUSED_SECONDS = 600.0
"""How long a refusal is remembered."""
SHARED_SECONDS = 3600.0
"""How long it is remembered whether a channel is shared."""
REMEMBERED_MAX = 10_000
"""Channels that are remembered; beyond that all are forgotten."""
CLOCKS_APART_SECONDS = 300.0
"""How far our clock and Slack's may differ when a stream is looked for."""
PAGES_LOOKED_AT_MAX = 50
# What no other channel of the workspace would be answered otherwise.
_NOT_IN_WORKSPACE: Final = frozenset(
    {
        "unknown_method",
        "not_allowed",
        "not_allowed_token_type",
        "missing_scope",
        "no_permission",
        "access_denied",
        "feature_not_enabled",
        "method_deprecated",
        "deprecated_endpoint",
        "messages_tab_disabled",
        "ekm_access_denied",
        "restricted_action",
        "not_subscribed_to_message_stream_stopped",
    }
)
# What is due to this one text.
_NOT_THIS_TEXT: Final = frozenset(
    {
        "invalid_chunks",
        "invalid_blocks",
        "no_text",
        "invalid_arguments",
        "markdown_text_conflict",
        "messaging_processing_failed",
        "thread_not_found",
    }
)
_ANYWHERE = ""


class SlackStreams:
    """The streams of all workspaces. Refusals are remembered by this process alone."""

    def __init__(
        self,
        workspaces: AllWorkspaces,
        settings: SlackStreamSettings,
        *,
        asks_feedback: bool = True,
    ) -> None:
        """Where they are switched off none is started; those of before are still put right."""
        self._workspaces = workspaces
        self._asks_feedback = asks_feedback
        self._is_enabled = settings.streaming is SlackStreaming.AUTO
        self._display = settings.stream_display
        self._refused_until: dict[tuple[str, str], float] = {}
        self._shared: dict[tuple[str, str], tuple[bool, float]] = {}
        self.limits = StreamLimits(
            interval_seconds=settings.stream_interval_ms / 1000,
            seconds_max=limits.STREAM_SECONDS_USED,
            life_seconds=limits.STREAM_SECONDS_MAX,
            bytes_max=limits.STREAM_BYTES_USED,
            call_chars_max=limits.MARKDOWN_TEXT_MAX,
        )

    async def is_possible(self, place: Place, reader: str) -> bool:
        """Whether to try. Slack is asked once an hour whether a channel is shared."""
        if not self._is_enabled or _user_of(reader) is None or self._is_refused(place):
            return False
        return not await self._is_shared(place)

    async def start(self, place: Place, growth: Growth, reader: str) -> str:
        """Begin a message. Whatever Slack has against it, it is remembered."""
        workspace = await self._workspaces.find(place.installation)
        try:
            return await workspace.client.start_stream(
                {
                    "channel": place.channel,
                    "thread_ts": place.thread,
                    "recipient_user_id": _user_of(reader),
                    "recipient_team_id": team_of(place.installation),
                    "task_display_mode": self._display.value,
                    "chunks": chunks_of(growth),
                }
            )
        except (RateLimited, Unavailable) as error:
            if isinstance(error, Unavailable) and not error.outcome_unknown:
                raise StreamRefused(error.code) from error
            raise
        except SurfaceError as error:
            self._remember(place, error.code)
            raise StreamRefused(error.code) from error

    async def append(self, ref: MessageRef, growth: Growth) -> None:
        """Add chunks to a message."""
        client = await self._client(ref.place)
        await client.append_stream(
            {"channel": ref.place.channel, "ts": ref.message_id, "chunks": chunks_of(growth)}
        )

    async def close(self, ref: MessageRef, growth: Growth, nonce: UUID) -> None:
        """Add the last chunks, and the metadata that every page has."""
        client = await self._client(ref.place)
        arguments: dict[str, Any] = {
            "channel": ref.place.channel,
            "ts": ref.message_id,
            "metadata": page_metadata(nonce),
        }
        if chunks := chunks_of(growth):
            arguments["chunks"] = chunks
        if growth.rates is not None and self._asks_feedback:
            arguments["blocks"] = [feedback_row(growth.rates)]
        await client.stop_stream(arguments)

    async def find(self, place: Place, *, since: datetime, known: Collection[str]) -> str | None:
        """The newest message of ours in the thread that carries no metadata, from about then on."""
        workspace = await self._workspaces.find(place.installation)
        oldest = f"{max(0.0, since.timestamp() - CLOCKS_APART_SECONDS):.6f}"
        cursor, found = "", None
        for _ in range(PAGES_LOOKED_AT_MAX):
            messages, cursor = await workspace.client.replies(
                place.channel, place.thread, oldest=oldest, cursor=cursor
            )
            for message in messages:
                ts = str(message.get("ts"))
                if ts not in known and ts > oldest and _may_be_stream(message, workspace):
                    found = ts
            if not cursor:
                break
        return found

    # -- where -----------------------------------------------------------------------------------

    def _is_refused(self, place: Place) -> bool:
        now = time.monotonic()
        return any(
            self._refused_until.get((place.installation, channel), now) > now
            for channel in (_ANYWHERE, place.channel)
        )

    def _remember(self, place: Place, code: str) -> None:
        if code in _NOT_THIS_TEXT or code in TOO_LONG:
            return
        channel = _ANYWHERE if code in _NOT_IN_WORKSPACE else place.channel
        if len(self._refused_until) >= REMEMBERED_MAX:
            self._refused_until.clear()
        self._refused_until[place.installation, channel] = time.monotonic() + REFUSED_SECONDS

    async def _is_shared(self, place: Place) -> bool:
        key, now = (place.installation, place.channel), time.monotonic()
        is_shared, until = self._shared.get(key, (False, now))
        if until > now:
            return is_shared
        client = await self._client(place)
        try:
            channel = await client.conversation(place.channel)
        except SurfaceError:
            # Slack will say of the stream itself what it has against it.
            is_shared = False
        else:
            is_shared = bool(channel.get("is_ext_shared") or channel.get("is_pending_ext_shared"))
        if len(self._shared) >= REMEMBERED_MAX:
            self._shared.clear()
        self._shared[key] = (is_shared, now + SHARED_SECONDS)
        return is_shared

    async def _client(self, place: Place) -> SlackClient:
        return (await self._workspaces.find(place.installation)).client


def chunks_of(growth: Growth) -> list[dict[str, Any]]:
    """What a message gains, as chunks: cards first, since they are of what led to the text."""
    chunks: list[dict[str, Any]] = [
        {
            "type": "task_update",
            "id": card.id,
            "title": card.title[: limits.TASK_TITLE_MAX] or "…",
            "status": card.state.value,
        }
        for card in growth.tasks
    ]
    if growth.text:
        chunks.append({"type": "markdown_text", "text": growth.text})
    return chunks


def _user_of(reader: str) -> str | None:
    """The Slack user of an author's identity; None for authors from elsewhere."""
    platform, _, rest = reader.partition(":")
    user = rest.rpartition(":")[2]
    return user if platform == PLATFORM and user else None


def _may_be_stream(message: dict[str, Any], workspace: Workspace) -> bool:
    is_ours = message.get("user") == workspace.identity.bot_user_id
    return is_ours and not message.get("metadata") and not message.get("subtype")
