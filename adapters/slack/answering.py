"""Answers to questions: what was clicked or filled in, given once, and what late ones are told."""

from adapters.slack.buttons import values_of_form
from adapters.slack.desk import Desk
from adapters.slack.questions import UNKNOWN, form_of, is_own_repetition, why_closed
from adapters.slack.translate import Click
from engine.api import Applied
from engine.chat.actions import RequiredAction
from engine.chat.commands import AnswerAction
from engine.chat.content import Author
from engine.chat.form import answer_of_fields, answer_of_option
from engine.chat.writes import ActionState

NO_SUCH_OPTION = "I do not know this option any more."


class Answering:
    """Answers given in one workspace."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def answer(self, click: Click, author: Author) -> None:
        """Give the answer, or tell the person alone why it cannot be taken."""
        action = await self._desk.engine.read_action(click.action_id)
        refusal = UNKNOWN if action is None else self._desk.house.may_answer(action, author)
        if action is None or refusal:
            await self._desk.tell(click.channel, click.thread, click.user_id, refusal or UNKNOWN)
            return
        result, problem = _result_of(action, click)
        if problem:
            await self._desk.tell(click.channel, click.thread, click.user_id, problem)
            return
        if action.state is ActionState.OPEN:
            command = AnswerAction(action_id=action.id, result=result, by=author)
            outcome = await self._desk.engine.submit(action.chat_id, command)
            if isinstance(outcome, Applied):
                return
            action = await self._desk.engine.read_action(click.action_id) or action
        if not is_own_repetition(action, author, result):
            late = why_closed(action) or UNKNOWN
            await self._desk.tell(click.channel, click.thread, click.user_id, late)


def _result_of(action: RequiredAction, click: Click) -> tuple[object, str]:
    """What the click answers, and why it cannot be taken, if so."""
    form = form_of(action)
    if form is None:
        return None, UNKNOWN
    if click.form is not None:
        result, problems = answer_of_fields(form, values_of_form(click.form, form))
        return result, next(iter(problems.values()), "")
    try:
        return answer_of_option(form, click.option if click.option is not None else -1), ""
    except IndexError:
        return None, NO_SUCH_OPTION
