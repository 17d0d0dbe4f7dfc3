"""The endpoints for what people do with many chats, as part of the table of all."""

from typing import Any, Final

from adapters.http import many_chats
from adapters.http.auth import TokenRole
from adapters.http.call import Endpoint, Parameter
from adapters.http.queries import LIMIT_DEFAULT, LIMIT_MAX

_CHAT: Final = "/chats/{chat_id}"
_LIMIT: Final[dict[str, Any]] = {
    "type": "integer",
    "minimum": 1,
    "maximum": LIMIT_MAX,
    "default": LIMIT_DEFAULT,
}
FILTER: Final = Parameter(
    name="q",
    meaning="Terms that must all hold, such as status:error label:env:prod search:boat "
    'search:"lost at sea". Known are title:, archived: (true, false, any), has_unread:, status:, '
    "label:key:value, bot:, channel: and search:, which looks for words in what was said. Values "
    "with spaces stand in quotes.",
)
MANY_CHATS: Final = (
    Endpoint(
        method="PATCH",
        path=_CHAT,
        name="changeChat",
        summary="Change a chat's title, labels, pin or model: all that is named, or nothing.",
        run=many_chats.change,
        takes="ChatChange",
        gives="Chat",
        problems=(403, 409, 422),
        detail="labels replaces all labels. pin_order is the place among the pinned chats from 1 on, "
        "0 unpins. A title or model of null is taken away. records_calls takes an administrator.",
    ),
    Endpoint(
        method="DELETE",
        path=_CHAT,
        name="deleteChat",
        summary="Remove a chat for good, with all that was said in it.",
        run=many_chats.remove,
        successes=(204,),
        problems=(403,),
        role=TokenRole.ADMIN,
        detail="Whatever works on it stops. What was paid for stays in the reports of usage.",
    ),
    Endpoint(
        method="POST",
        path=f"{_CHAT}/read",
        name="markRead",
        summary="Say how far the caller has read; without message_id, all there is.",
        run=many_chats.mark_read,
        takes="ReadMark",
        successes=(204,),
        problems=(422,),
    ),
    Endpoint(
        method="GET",
        path=f"{_CHAT}/recordings",
        name="listRecordings",
        summary="List the recorded calls of models, newest first.",
        run=many_chats.list_recordings,
        gives="Recordings",
        problems=(403, 422),
        parameters=(
            Parameter(
                name="before",
                meaning="The last recordings before this id.",
                schema={"type": "integer", "minimum": 0},
            ),
            Parameter(name="limit", meaning="Most items of the page.", schema=_LIMIT),
        ),
        role=TokenRole.ADMIN,
    ),
    Endpoint(
        method="GET",
        path=f"{_CHAT}/recordings/{{{many_chats.RECORDINGS_PATH_NAME}}}",
        name="getRecording",
        summary="Look at one recorded call: what a model was sent, and what it answered.",
        run=many_chats.get_recording,
        gives="Recording",
        problems=(403,),
        role=TokenRole.ADMIN,
    ),
)
