"""Every endpoint of the API, in one table: what is routed is what the OpenAPI document describes."""

from typing import Final

from adapters.http import actions, chat_stream, chats, messages, queue, titles, tokens
from adapters.http.auth import TokenRole
from adapters.http.call import Endpoint, Parameter
from adapters.http.endpoints_many_chats import FILTER, MANY_CHATS
from adapters.http.feedback import FEEDBACK_ENDPOINTS
from adapters.http.file_endpoints import FILE_ENDPOINTS
from adapters.http.provider_endpoints import PROVIDER_ENDPOINTS
from adapters.http.queries import LIMIT_DEFAULT, LIMIT_MAX
from adapters.http.usage_endpoints import SPENDING_ENDPOINTS

_CHATS: Final = "/chats"
_CHAT: Final = "/chats/{chat_id}"
_LIMIT: Final = Parameter(
    name="limit",
    meaning="Most items of the page.",
    schema={"type": "integer", "minimum": 1, "maximum": LIMIT_MAX, "default": LIMIT_DEFAULT},
)
_ID: Final = {"type": "integer", "minimum": 0}
_KEY: Final = Parameter(
    name="Idempotency-Key",
    meaning="The same key again, from the same token, is the same request: nothing is done twice. "
    "With another body it is refused.",
    place="header",
)

ENDPOINTS: Final = (
    Endpoint(
        method="POST",
        path=_CHATS,
        name="createChat",
        summary="Make a chat with its first message; it is answered at once.",
        run=chats.create,
        takes="NewChat",
        gives="Chat",
        successes=(201, 200),
        problems=(422,),
        parameters=(_KEY,),
    ),
    Endpoint(
        method="GET",
        path=_CHATS,
        name="listChats",
        summary="List chats, pinned first, then newest first.",
        run=chats.list_,
        gives="ChatPage",
        problems=(422,),
        parameters=(
            Parameter(name="cursor", meaning="next_cursor of the page before."),
            _LIMIT,
            FILTER,
            Parameter(
                name="archived",
                meaning="Archived chats instead of the others.",
                schema={"type": "boolean", "default": False},
            ),
            Parameter(
                name="label", meaning="key:value; only chats with all of them.", repeated=True
            ),
        ),
    ),
    Endpoint(
        method="GET",
        path=_CHAT,
        name="getChat",
        summary="Look at one chat.",
        run=chats.get,
        gives="Chat",
    ),
    *MANY_CHATS,
    Endpoint(
        method="GET",
        path=f"{_CHAT}/messages",
        name="listMessages",
        summary="Read the history, in order: the newest page, or one before or after a message.",
        run=messages.list_,
        gives="MessagePage",
        problems=(422,),
        parameters=(
            Parameter(name="before", meaning="The last messages before this id.", schema=_ID),
            Parameter(name="after", meaning="The first messages after this id.", schema=_ID),
            _LIMIT,
        ),
    ),
    Endpoint(
        method="POST",
        path=f"{_CHAT}/messages",
        name="sendMessage",
        summary="Send a message. A busy chat queues it, or is interrupted.",
        run=messages.send,
        takes="NewMessage",
        gives="Applied",
        successes=(201, 202, 200),
        problems=(409, 422, 429),
        parameters=(_KEY,),
        detail="201: it is in the history. 202: it waits in the queue. 200: it was known already.",
    ),
    Endpoint(
        method="PATCH",
        path=f"{_CHAT}/messages/{{message_id}}",
        name="editMessage",
        summary="Change a message from a person; what followed is forgotten and answered anew.",
        run=messages.edit,
        takes="MessageEdit",
        gives="Applied",
        problems=(409, 422),
    ),
    Endpoint(
        method="GET",
        path=f"{_CHAT}/queue",
        name="listQueue",
        summary="See what waits.",
        run=queue.list_,
        gives="Queue",
    ),
    Endpoint(
        method="PATCH",
        path=f"{_CHAT}/queue/{{queued_id}}",
        name="editQueuedMessage",
        summary="Change a message that waits.",
        run=queue.edit,
        takes="QueuedEdit",
        gives="Applied",
        problems=(422,),
    ),
    Endpoint(
        method="DELETE",
        path=f"{_CHAT}/queue/{{queued_id}}",
        name="deleteQueuedMessage",
        summary="Take a message out of the queue.",
        run=queue.delete,
        successes=(204,),
    ),
    Endpoint(
        method="POST",
        path=f"{_CHAT}/queue/{{queued_id}}/promote",
        name="promoteQueuedMessage",
        summary="Have a message answered next, stopping what runs.",
        run=queue.promote,
        gives="Applied",
        problems=(409,),
    ),
    Endpoint(
        method="POST",
        path=f"{_CHAT}/interrupt",
        name="interruptChat",
        summary="Stop what runs. What was streamed is kept.",
        run=chats.interrupt,
        gives="Applied",
        problems=(409,),
    ),
    Endpoint(
        method="POST",
        path=f"{_CHAT}/archive",
        name="archiveChat",
        summary="Put the chat away; what runs is stopped, what is queued stays.",
        run=chats.archive,
        gives="Applied",
        problems=(409,),
    ),
    Endpoint(
        method="POST",
        path=f"{_CHAT}/unarchive",
        name="unarchiveChat",
        summary="Take the chat back out.",
        run=chats.unarchive,
        gives="Applied",
        problems=(409,),
    ),
    Endpoint(
        method="POST",
        path=f"{_CHAT}/compact",
        name="compactChat",
        summary="Have what was said summarised for the model; people still see it.",
        run=chats.compact,
        gives="Applied",
        problems=(409,),
        detail="It is done when the chat waits again; the history then holds a call `chat_summarized`.",
    ),
    Endpoint(
        method="POST",
        path=f"{_CHAT}/clear-context",
        name="clearContext",
        summary="Let the model forget what came before; people still see it.",
        run=chats.clear_context,
        gives="Applied",
        problems=(409,),
    ),
    Endpoint(
        method="POST",
        path=f"{_CHAT}/title/regenerate",
        name="regenerateTitle",
        summary="Have a model name the chat anew, in place of any title that it has.",
        run=titles.regenerate,
        successes=(202,),
        problems=(409,),
        detail="The title comes soon, as a change of the chat. One that is given by hand meanwhile stays.",
    ),
    Endpoint(
        method="POST",
        path=f"{_CHAT}/tool-results",
        name="submitToolResults",
        summary="Answer exactly the pending calls, all at once. The first submission wins.",
        run=actions.submit,
        takes="ToolResults",
        gives="Applied",
        problems=(409, 422),
        detail="message_id, which may be left out, is the assistant's message that made the calls: ids "
        "of calls may come back, and a late request is then no answer to another question.",
    ),
    Endpoint(
        method="GET",
        path=f"{_CHAT}/actions",
        name="listActions",
        summary="See what people and programs are asked.",
        run=actions.list_,
        gives="Actions",
        problems=(422,),
        parameters=(
            Parameter(
                name="state",
                meaning="Open actions, or all there ever were.",
                schema={"enum": ["open", "all"], "default": "open"},
            ),
        ),
    ),
    Endpoint(
        method="POST",
        path=f"{_CHAT}/actions/{{action_id}}",
        name="answerAction",
        summary="Answer one action. The chat goes on with the last answer.",
        run=actions.answer,
        takes="ActionAnswer",
        gives="Applied",
        problems=(409, 422),
    ),
    Endpoint(
        method="GET",
        path=f"{_CHAT}/stream",
        name="streamChat",
        summary="Follow a chat as server-sent events, or over a WebSocket.",
        run=chat_stream.stream,
        gives="StreamEvent",
        problems=(422,),
        parameters=(
            Parameter(name="after_id", meaning="Messages after this id only.", schema=_ID),
            Parameter(
                name="Last-Event-ID",
                meaning="Where a reconnecting client goes on; goes before after_id.",
                place="header",
            ),
        ),
        is_stream=True,
        detail="The full state comes first, then what changes. Every server-sent event has the id "
        "with which Last-Event-ID goes on; over a WebSocket every frame is an array of events. A "
        "message that was amended while a client was away is not told again.",
    ),
    *FILE_ENDPOINTS,
    Endpoint(
        method="POST",
        path="/tokens",
        name="createToken",
        summary="Make an API token. Its secret is shown this once.",
        run=tokens.create,
        takes="NewToken",
        gives="MadeToken",
        successes=(201,),
        problems=(422,),
        role=TokenRole.ADMIN,
    ),
    Endpoint(
        method="GET",
        path="/tokens",
        name="listTokens",
        summary="List API tokens, without their secrets.",
        run=tokens.list_,
        gives="Tokens",
        role=TokenRole.ADMIN,
    ),
    Endpoint(
        method="DELETE",
        path="/tokens/{token_id}",
        name="revokeToken",
        summary="Refuse an API token from now on.",
        run=tokens.revoke,
        successes=(204,),
        role=TokenRole.ADMIN,
    ),
    *SPENDING_ENDPOINTS,
    *FEEDBACK_ENDPOINTS,
    *PROVIDER_ENDPOINTS,
)
