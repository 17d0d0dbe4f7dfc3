"""The calls that we make to Slack, each at most once, with its failures in the contract's terms.

Nothing is retried here: whoever calls knows whether a second time would show something twice. Bodies
hold what people wrote and tokens, so nothing of them is logged.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient

from adapters.errors import (
    Denied,
    Gone,
    MessageTooLong,
    RateLimited,
    StillStreaming,
    StreamOver,
    SurfaceError,
    Unavailable,
)
from adapters.slack.file_download import Downloaded, download
from adapters.slack.file_upload import send_bytes
from adapters.slack.response_url import respond
from adapters.slack.retry_after import retry_after_seconds
from adapters.slack.shared_files import Missing
from adapters.slack.trigger import TriggerOver, is_trigger_over

CALL_SECONDS_MAX = 15.0
"""A call without an answer for this long has failed. Below the lease of a delivery."""

RATE_LIMITED = frozenset({"ratelimited", "rate_limited", "message_limit_exceeded"})
TOO_LONG = frozenset({"msg_too_long", "msg_blocks_too_long", "msg_blocks_too_many"})
# For a message that cannot be changed any more it is all the same why.
GONE = frozenset(
    {
        "message_not_found",
        "cant_update_message",
        "cant_delete_message",
        "edit_window_closed",
        "compliance_exports_prevent_deletion",
    }
)
# Slack's words for these: some aspect of the operation may have succeeded.
UNCERTAIN = frozenset({"fatal_error", "internal_error", "request_timeout", "service_unavailable"})
UNAVAILABLE = frozenset(
    {"messaging_processing_failed", "team_added_to_org", "accesslimited", "org_login_required"}
)
DEAD_TOKEN = frozenset(
    {
        "account_inactive",
        "app_uninstalled",
        "invalid_auth",
        "not_authed",
        "token_expired",
        "token_revoked",
    }
)
"""What Slack says of a token that is none, or not any more."""
_KINDS: Mapping[str, Callable[[str], SurfaceError]] = {
    **dict.fromkeys(TOO_LONG, MessageTooLong),
    **dict.fromkeys(GONE, Gone),
    "streaming_state_conflict": StillStreaming,
    "message_not_in_streaming_state": StreamOver,
    "stopped_by_user": partial(StreamOver, by_person=True),
}
# AttributeError: the SDK's own on an answer that is neither JSON nor an error.
_BROKEN_ANSWERS = (
    aiohttp.ClientError,
    SlackClientError,
    OSError,
    TimeoutError,
    ValueError,
    AttributeError,
)
# The SDK logs bodies at debug level, so its logger never goes below this one.
_SDK_LEVEL = logging.INFO


def sdk_logger() -> logging.Logger:
    """The logger for the SDK and bolt; they are kept from writing bodies whatever the root says."""
    logger = logging.getLogger("threadwright.slack.sdk")
    logger.setLevel(_SDK_LEVEL)
    return logger


def web_client(token: str, *, api_url: str, session: aiohttp.ClientSession) -> AsyncWebClient:
    """An SDK client that shares our connections and never sends anything twice by itself."""
    return AsyncWebClient(
        token=token,
        base_url=api_url if api_url.endswith("/") else f"{api_url}/",
        session=session,
        retry_handlers=[],
        timeout=int(CALL_SECONDS_MAX),
        logger=sdk_logger(),
    )


def error_of(error: SlackApiError) -> SurfaceError:
    """What an answer that is not ok means for us. Every code has a meaning: what is unknown is Denied."""
    response = error.response
    status = int(getattr(response, "status_code", 0) or getattr(response, "status", 0) or 200)
    data = getattr(response, "data", response)
    code = str(data.get("error") or "") if isinstance(data, dict) else ""
    code = code or f"http_{status}"
    if code in RATE_LIMITED or status == 429:
        headers = dict(getattr(response, "headers", None) or {})
        return RateLimited(code, retry_after_seconds=retry_after_seconds(headers))
    if code in _KINDS:
        return _KINDS[code](code)
    if code in UNAVAILABLE:
        return Unavailable(code, outcome_unknown=False)
    if code in UNCERTAIN or status >= 500:
        return Unavailable(code, outcome_unknown=True)
    return Denied(code)


class SlackClient:
    """Calls of one installation."""

    def __init__(
        self, sdk: AsyncWebClient, *, on_refused: Callable[[str], None] | None = None
    ) -> None:
        """`on_refused` is told Slack's word where it does not know the token any more."""
        self._sdk = sdk
        self._on_refused = on_refused

    async def identify(self) -> dict[str, Any]:
        """Who we are, as auth.test says."""
        return await self._call(self._sdk.auth_test())

    async def post_message(self, arguments: dict[str, Any]) -> str:
        """Post and return the message's timestamp."""
        answer = await self._call(self._sdk.chat_postMessage(**arguments))
        return str(answer["ts"])

    async def update_message(self, arguments: dict[str, Any]) -> None:
        """Replace what a message shows."""
        await self._call(self._sdk.chat_update(**arguments))

    async def start_stream(self, arguments: dict[str, Any]) -> str:
        """Post a message that grows and return its timestamp."""
        answer = await self._call(self._sdk.chat_startStream(**arguments))
        return str(answer["ts"])

    async def append_stream(self, arguments: dict[str, Any]) -> None:
        """Let a message grow."""
        await self._call(self._sdk.chat_appendStream(**arguments))

    async def stop_stream(self, arguments: dict[str, Any]) -> None:
        """Let a message grow for the last time."""
        await self._call(self._sdk.chat_stopStream(**arguments))

    async def upload_address(self, name: str, size: int) -> tuple[str, str]:
        """Where to send the bytes of a file, and the file's id. Nothing is shown yet."""
        answer = await self._call(self._sdk.files_getUploadURLExternal(filename=name, length=size))
        return str(answer["upload_url"]), str(answer["file_id"])

    async def send_bytes(self, address: str, data: bytes) -> None:
        """Send a file's bytes to the address that Slack gave for them, which needs no token."""
        if self._sdk.session is None:
            raise ValueError("a client that uploads needs a session")
        await send_bytes(self._sdk.session, address, data)

    async def complete_upload(
        self, file_id: str, *, title: str, channel: str, thread: str
    ) -> dict[str, Any]:
        """Show a file whose bytes were sent; what Slack says of it, which may not be where it is shown."""
        answer = await self._call(
            self._sdk.files_completeUploadExternal(
                files=[{"id": file_id, "title": title}], channel_id=channel, thread_ts=thread
            )
        )
        return next((dict(file) for file in answer.get("files") or ()), {})

    async def delete_message(self, channel: str, ts: str) -> None:
        """Take a message back."""
        await self._call(self._sdk.chat_delete(channel=channel, ts=ts))

    async def post_ephemeral(
        self,
        *,
        channel: str,
        thread: str,
        user: str,
        text: str,
        blocks: list[dict[str, Any]] | None = None,
    ) -> None:
        """Tell one person alone. Slack does not promise that it arrives."""
        await self._call(
            self._sdk.chat_postEphemeral(
                channel=channel, user=user, text=text, blocks=blocks, thread_ts=thread or None
            )
        )

    async def respond(self, response_url: str, body: dict[str, Any]) -> None:
        """Answer where a command was given. See adapters.slack.response_url."""
        if self._sdk.session is None:
            raise ValueError("a client that responds needs a session")
        await respond(self._sdk.session, response_url, body, api_url=self._sdk.base_url)

    async def replies(
        self,
        channel: str,
        thread: str,
        *,
        oldest: str = "0",
        latest: str | None = None,
        cursor: str = "",
        limit: int = 200,
    ) -> tuple[list[dict[str, Any]], str]:
        """A page of a thread, oldest first, and the cursor of the next page.

        The root comes first whatever `oldest` says; both ends are left out of what follows it.
        """
        answer = await self._call(
            self._sdk.conversations_replies(
                channel=channel,
                ts=thread,
                oldest=oldest,
                latest=latest,
                cursor=cursor or None,
                include_all_metadata=True,
                limit=limit,
            )
        )
        metadata = answer.get("response_metadata") or {}
        return list(answer.get("messages") or ()), str(metadata.get("next_cursor") or "")

    async def history(
        self, channel: str, *, oldest: str = "0", cursor: str = ""
    ) -> tuple[list[dict[str, Any]], str]:
        """A page of a conversation, the newest first, and the cursor of the next page."""
        answer = await self._call(
            self._sdk.conversations_history(
                channel=channel,
                oldest=oldest,
                cursor=cursor or None,
                include_all_metadata=True,
                limit=200,
            )
        )
        metadata = answer.get("response_metadata") or {}
        return list(answer.get("messages") or ()), str(metadata.get("next_cursor") or "")

    async def conversation(self, channel: str) -> dict[str, Any]:
        """A channel as conversations.info tells of it."""
        answer = await self._call(self._sdk.conversations_info(channel=channel))
        return dict(answer.get("channel") or {})

    async def open_direct_message(self, user_id: str) -> str:
        """The conversation between us and one person. Opening one that is open is fine."""
        answer = await self._call(self._sdk.conversations_open(users=user_id))
        return str((answer.get("channel") or {}).get("id") or user_id)

    async def permalink(self, channel: str, ts: str) -> str:
        """The address of a message, for people."""
        answer = await self._call(self._sdk.chat_getPermalink(channel=channel, message_ts=ts))
        return str(answer["permalink"])

    async def open_view(self, trigger_id: str, view: dict[str, Any]) -> None:
        """Open a modal; a trigger works once, for three seconds. Raises TriggerOver afterwards."""
        try:
            await self._call(self._sdk.views_open(trigger_id=trigger_id, view=view))
        except Denied as error:
            if is_trigger_over(error):
                raise TriggerOver(error.code) from error
            raise

    async def publish_home(self, user_id: str, view: dict[str, Any]) -> None:
        """Show a person the app's home."""
        await self._call(self._sdk.views_publish(user_id=user_id, view=view))

    async def usergroup_members(self, group_id: str) -> list[str]:
        """The ids of the users of a user group, as far as it is not disabled."""
        answer = await self._call(self._sdk.usergroups_users_list(usergroup=group_id))
        return [str(user_id) for user_id in answer.get("users") or ()]

    async def usergroup_handles(self) -> dict[str, str]:
        """What the user groups of the workspace are called, by id."""
        answer = await self._call(self._sdk.usergroups_list())
        groups = answer.get("usergroups") or ()
        return {str(group["id"]): str(group.get("handle") or "") for group in groups}

    async def set_session_status(
        self, channel: str, thread: str, *, status: str, title: str
    ) -> None:
        """Show how an agent's session is getting on: active, processing, suspended or closed."""
        await self._call(
            self._sdk.agents_sessions_setStatus(
                channel_id=channel, thread_ts=thread, status=status, title=title or None
            )
        )

    async def set_assistant_status(self, channel: str, thread: str, *, status: str) -> None:
        """Show a line of status in a thread for two minutes; empty shows none."""
        await self._call(
            self._sdk.assistant_threads_setStatus(
                channel_id=channel, thread_ts=thread, status=status
            )
        )

    async def set_assistant_title(self, channel: str, thread: str, *, title: str) -> None:
        """Name a thread of the older assistant view."""
        await self._call(
            self._sdk.assistant_threads_setTitle(channel_id=channel, thread_ts=thread, title=title)
        )

    async def suggest_prompts(
        self, channel: str, thread: str | None, *, title: str, prompts: list[dict[str, str]]
    ) -> None:
        """Offer up to four first messages, each with a title and a message."""
        await self._call(
            self._sdk.assistant_threads_setSuggestedPrompts(
                channel_id=channel, thread_ts=thread, title=title or None, prompts=prompts
            )
        )

    async def add_reaction(self, channel: str, ts: str, name: str) -> None:
        """React to a message; having done so before is fine."""
        try:
            await self._call(self._sdk.reactions_add(channel=channel, timestamp=ts, name=name))
        except Denied as error:
            if error.code != "already_reacted":
                raise

    async def reactions(self, channel: str, ts: str, user_id: str) -> set[str]:
        """The reactions that a user has put on a message."""
        answer = await self._call(self._sdk.reactions_get(channel=channel, timestamp=ts, full=True))
        found = (answer.get("message") or {}).get("reactions") or ()
        return {str(each["name"]) for each in found if user_id in each.get("users", ())}

    async def remove_reaction(self, channel: str, ts: str, name: str) -> None:
        """Take our reaction back; having none is fine."""
        try:
            await self._call(self._sdk.reactions_remove(channel=channel, timestamp=ts, name=name))
        except Denied as error:
            if error.code != "no_reaction":
                raise

    async def user(self, user_id: str) -> dict[str, Any]:
        """A user as users.info tells of them."""
        answer = await self._call(self._sdk.users_info(user=user_id))
        return dict(answer.get("user") or {})

    async def file(self, file_id: str) -> dict[str, Any]:
        """A file as files.info tells of it."""
        answer = await self._call(self._sdk.files_info(file=file_id))
        return dict(answer.get("file") or {})

    async def download(self, url: str, *, bytes_max: int) -> Downloaded | Missing:
        """The bytes at a URL of Slack's file hosts. See adapters.slack.file_download."""
        if self._sdk.session is None:
            raise ValueError("a client that downloads needs a session")
        return await download(
            self._sdk.session,
            url,
            token=self._sdk.token or "",
            api_url=self._sdk.base_url,
            bytes_max=bytes_max,
        )

    async def _call(self, call: Awaitable[Any]) -> dict[str, Any]:
        try:
            return await answer_of(call)
        except Denied as error:
            if error.code in DEAD_TOKEN and self._on_refused is not None:
                self._on_refused(error.code)
            raise


async def answer_of(call: Awaitable[Any]) -> dict[str, Any]:
    """What Slack answers to a call of the SDK. Raises SurfaceError."""
    try:
        async with asyncio.timeout(CALL_SECONDS_MAX):
            answer = await call
    except SlackApiError as error:
        raise error_of(error) from error
    except aiohttp.ClientConnectorError as error:
        raise Unavailable("not_connected", outcome_unknown=False) from error
    except _BROKEN_ANSWERS as error:
        raise Unavailable(type(error).__name__, outcome_unknown=True) from error
    return answer.data if isinstance(answer.data, dict) else {}
