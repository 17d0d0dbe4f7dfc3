"""Required actions: what people and programs are asked, and their answers."""

from adapters.http import views
from adapters.http.call import Answer, Call
from adapters.http.errors import not_found
from adapters.http.queries import actions_query
from adapters.http.translate import answer_action, number_of, submit_results
from engine.chat.ids import ActionId


async def list_(call: Call) -> Answer:
    """The open actions of a chat, or all there ever were."""
    only_open = actions_query(call.query)
    await call.require_chat()
    asked = await call.engine.read_actions(call.chat_id, only_open=only_open)
    return Answer(body=views.actions(asked))


async def answer(call: Call) -> Answer:
    """Answer one action; the chat goes on with the last answer."""
    action_id = ActionId(number_of(call.path, "action_id", "action"))
    asked = await call.engine.read_action(action_id)
    if asked is None or asked.chat_id != call.chat_id:
        raise not_found("action")
    command = answer_action(call.body, action_id, asked.form, call.caller.author)
    return Answer(body=views.applied(await call.submit(command)))


async def submit(call: Call) -> Answer:
    """Answer all pending calls at once; the first submission wins."""
    applied = await call.submit(submit_results(call.body, call.caller.author))
    return Answer(body=views.applied(applied))
