"""What one person alone is told, wherever they asked: by the command's own address, else beside the channel.

Nothing here is ever seen by others. Best effort: by then it is decided what becomes of the order.
"""

import logging
from typing import Any, Final

from adapters.delivery.call_gates import POST
from adapters.errors import Denied, SurfaceError, Unavailable
from adapters.slack.desk import TELL_SECONDS_MAX, Desk
from adapters.slack.identity import is_app
from adapters.slack.limits import OPEN, TELL
from adapters.slack.orders import Whence

logger = logging.getLogger(__name__)

Block = dict[str, Any]
BLOCKS_MAX: Final = 50
NOT_THERE: Final = frozenset(
    {
        "channel_not_found",
        "is_archived",
        "not_in_channel",
        "user_not_in_channel",
        "restricted_action",
    }
)
"""Slack's words for a channel in which we can tell this person nothing; a direct message can."""


async def answer_alone(
    desk: Desk, at: Whence, text: str, blocks: list[Block] | None = None, *, replaces: bool = False
) -> None:
    """Tell the person. `replaces`: in place of the message whose button they pressed."""
    try:
        if at.response_url:
            body = private_body(text, blocks, replaces=replaces)
            try:
                await desk.client.respond(at.response_url, body)
            except Unavailable as error:
                if error.outcome_unknown:
                    raise
            except SurfaceError:
                pass
            else:
                return
        await _tell_beside(desk, at, text, blocks)
    except SurfaceError as error:
        logger.info("not told", extra={"action": "slack_not_told", "code": error.code})


def private_body(
    text: str, blocks: list[Block] | None = None, *, replaces: bool = False
) -> dict[str, Any]:
    """An answer that only its reader sees, as commands and their addresses take it."""
    body: dict[str, Any] = {
        "response_type": "ephemeral",
        "text": text,
        "replace_original": replaces,
    }
    if blocks or replaces:
        # Blocks are named where a message is replaced: those left out may stay.
        body["blocks"] = (blocks or [])[:BLOCKS_MAX]
    return body


async def _tell_beside(desk: Desk, at: Whence, text: str, blocks: list[Block] | None) -> None:
    if not at.channel or is_app(at.user_id):
        return
    shown = blocks[:BLOCKS_MAX] if blocks else None
    try:
        async with desk.pace.call(TELL, at.channel, seconds_max=TELL_SECONDS_MAX):
            await desk.client.post_ephemeral(
                channel=at.channel, thread="", user=at.user_id, text=text, blocks=shown
            )
    except Denied as error:
        if error.code not in NOT_THERE:
            raise
        async with desk.pace.call(OPEN, at.user_id):
            channel = await desk.client.open_direct_message(at.user_id)
        said: dict[str, Any] = {"channel": channel, "text": text}
        async with desk.pace.call(POST, channel):
            await desk.client.post_message(said | ({"blocks": shown} if shown else {}))
