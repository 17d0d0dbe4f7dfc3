"""What people do with many chats: name, label, pin and read them; and what is left to administrators."""

from adapters.http import views
from adapters.http.auth import TokenRole
from adapters.http.call import Answer, Call
from adapters.http.details import details_change, read_mark
from adapters.http.errors import Problem, ProblemCode, not_found
from adapters.http.model_check import check_model
from adapters.http.queries import recordings_query
from adapters.http.refusals import problem_of
from adapters.http.translate import number_of
from engine.chat.decision import Refusal

RECORDINGS_PATH_NAME = "recording_id"


async def change(call: Call) -> Answer:
    """Change a chat's title, labels, pin, model or recording: all that is named, or nothing."""
    now = await call.look_at(call.chat_id)
    wanted = details_change(call.body, pin_order_now=now.chat.pin_order)
    if "records_calls" in call.body and call.caller.role is not TokenRole.ADMIN:
        sentence = "Recording the calls of models takes an administrator's token."
        raise Problem(ProblemCode.FORBIDDEN, sentence)
    await check_model(call, wanted.model)
    outcome = await call.engine.change_details(call.chat_id, wanted)
    if isinstance(outcome, Refusal):
        raise problem_of(outcome)
    return Answer(body=views.chat(await call.look_at(call.chat_id)))


async def remove(call: Call) -> Answer:
    """Remove the chat for good, whatever it is doing."""
    if not await call.engine.delete_chat(call.chat_id):
        raise not_found("chat")
    return Answer(status=204)


async def mark_read(call: Call) -> Answer:
    """Note how far the caller has read."""
    message_id = read_mark(call.body)
    identity = call.caller.author.identity
    if not await call.engine.mark_read(call.chat_id, identity, message_id):
        raise not_found("chat")
    return Answer(status=204)


async def list_recordings(call: Call) -> Answer:
    """A page of recorded calls, newest first."""
    before, limit = recordings_query(call.query)
    await call.require_chat()
    page = await call.engine.recordings.list_recordings(
        call.chat_id, before=before, limit=limit + 1
    )
    return Answer(body=views.recordings(page, limit))


async def get_recording(call: Call) -> Answer:
    """One recorded call."""
    recording_id = number_of(call.path, RECORDINGS_PATH_NAME, "recording")
    found = await call.engine.recordings.read_recording(call.chat_id, recording_id)
    if found is None:
        raise not_found("recording")
    return Answer(body=views.recording(found))
