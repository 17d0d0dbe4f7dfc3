"""Slack as a surface to deliver to: the contract's calls in Slack's terms."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from adapters.contract import (
    Document,
    MessageRef,
    Outgoing,
    Page,
    Place,
    Question,
    Sayable,
    Streaming,
    SurfaceLimits,
)
from adapters.errors import SurfaceError
from adapters.slack.answer_rights import AnswerRights
from adapters.slack.client import SlackClient
from adapters.slack.identity import PLATFORM
from adapters.slack.limits import PAGE_TEXT_MAX
from adapters.slack.question_blocks import named_users
from adapters.slack.render import (
    edit_arguments,
    nonce_of_message,
    post_arguments,
    without_markdown,
)
from adapters.slack.uploads import shows_file_of, upload
from adapters.slack.workspaces import AllWorkspaces, Workspace
from engine.chat.writes import ActionState

logger = logging.getLogger(__name__)

CLOCKS_APART_SECONDS = 300.0
"""How far our clock and Slack's may differ when a lost message is looked for."""
BLOCKS_REFUSED = frozenset(
    {
        "invalid_blocks",
        "invalid_blocks_format",
        "block_mismatch",
        "msg_blocks_too_long",
        "msg_blocks_too_many",
    }
)
"""Answers that mean that the message was not taken, for what its blocks are."""
PAGES_LOOKED_AT_MAX = 50
"""Pages of a thread that are read for one message: 10,000 messages."""


class SlackSurface:
    """Posts, edits and finds messages, in whichever installation a place is."""

    platform = PLATFORM

    def __init__(
        self,
        workspaces: AllWorkspaces,
        *,
        edit_interval_ms_min: int,
        pages_max: int | None = None,
        file_bytes_max: int = 0,
        streaming: Streaming | None = None,
        asks_feedback: bool = True,
        rights: AnswerRights | None = None,
    ) -> None:
        """`rights` knows what people are called who may answer a question."""
        self._workspaces = workspaces
        self._asks_feedback = asks_feedback
        self._rights = rights
        self.streaming = streaming
        self.limits = SurfaceLimits(
            page_size=PAGE_TEXT_MAX,
            edit_interval_ms_min=edit_interval_ms_min,
            pages_max=pages_max,
            file_bytes_max=file_bytes_max,
        )

    async def post(self, place: Place, outgoing: Outgoing, nonce: UUID) -> str:
        """Post into the thread; Slack keeps the nonce in the message's metadata.

        What Slack does not take as a block is said as text: nothing is lost to its form.
        """
        workspace = await self._workspaces.find(place.installation)
        client, outgoing = workspace.client, self._asking(outgoing)
        if isinstance(outgoing, Document):
            return await upload(client, place, outgoing, str(nonce))
        names = await self._names(workspace, outgoing)
        try:
            return await client.post_message(post_arguments(place, outgoing, nonce, names=names))
        except SurfaceError as error:
            plain = _plainer(outgoing, error)
            return await client.post_message(post_arguments(place, plain, nonce))

    async def edit(self, ref: MessageRef, outgoing: Outgoing) -> None:
        """Replace what the message shows, as text where Slack does not take the block. Its metadata stays."""
        workspace = await self._workspaces.find(ref.place.installation)
        client, outgoing = workspace.client, self._asking(outgoing)
        if isinstance(outgoing, Document):
            # A file that is there shows what it should.
            return
        names = await self._names(workspace, outgoing)
        try:
            await client.update_message(edit_arguments(ref, outgoing, names=names))
        except SurfaceError as error:
            await client.update_message(edit_arguments(ref, _plainer(outgoing, error)))

    async def delete(self, ref: MessageRef) -> None:
        """Take the message back."""
        client = await self._client(ref.place)
        await client.delete_message(ref.place.channel, ref.message_id)

    async def find(self, place: Place, nonce: UUID, *, since: datetime | None) -> str | None:
        """Look through the thread from shortly before `since` on; all of it where that is None."""
        oldest = "0"
        if since is not None:
            oldest = f"{max(0.0, since.timestamp() - CLOCKS_APART_SECONDS):.6f}"
        client = await self._client(place)
        cursor, wanted = "", str(nonce)
        for _ in range(PAGES_LOOKED_AT_MAX):
            messages, cursor = await client.replies(
                place.channel, place.thread, oldest=oldest, cursor=cursor
            )
            for message in messages:
                if nonce_of_message(message) == wanted or shows_file_of(message, wanted):
                    return str(message["ts"])
            if not cursor:
                break
        return None

    def _asking(self, outgoing: Outgoing) -> Outgoing:
        """The same, without asking what people think of it where that is switched off."""
        if self._asks_feedback or not isinstance(outgoing, Page):
            return outgoing
        return replace(outgoing, rates=None)

    async def _names(self, workspace: Workspace, outgoing: Outgoing) -> Mapping[str, str]:
        """What those are called who may answer an open question, or were named in the answer."""
        if not isinstance(outgoing, Question):
            return {}
        if outgoing.state is not ActionState.OPEN:
            return await workspace.people.names_of(named_users(outgoing))
        if self._rights is None or outgoing.answerers is None:
            return {}
        return await self._rights.names_in(workspace, outgoing.answerers)

    async def _client(self, place: Place) -> SlackClient:
        return (await self._workspaces.find(place.installation)).client


def _plainer(outgoing: Sayable, error: SurfaceError) -> Page:
    """What to say instead where Slack refused a block of Markdown; raises the error for all else."""
    plain = without_markdown(outgoing) if error.code in BLOCKS_REFUSED else None
    if plain is None:
        raise error
    logger.warning("block refused", extra={"action": "slack_block_refused", "code": error.code})
    return plain
