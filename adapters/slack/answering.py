"""Answers to questions: what was clicked or filled in, given once, and what late ones are told."""

from adapters.slack.buttons import origin_of_form, values_of_form
from adapters.slack.desk import Desk
from adapters.slack.form_pages import completed, page_of
from adapters.slack.markup_inline import escape
from adapters.slack.questions import UNKNOWN, form_of, is_own_repetition, why_closed
from adapters.slack.translate import Click
from adapters.slack.wire import Json
from engine.api import Applied
from engine.chat.actions import RequiredAction
from engine.chat.commands import AnswerAction
from engine.chat.content import Author
from engine.chat.decision import RefusalReason
from engine.chat.form import Form
from engine.chat.form_answers import answer_of_fields, answer_of_option
from engine.chat.writes import ActionState

NO_SUCH_OPTION = "I do not know this option any more."


class Answering:
    """Answers given in one workspace."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def answer(self, click: Click, author: Author) -> None:
        """Give the answer, or tell the person alone why it cannot be taken."""
        action = await self._desk.engine.read_action(click.action_id)
        told = UNKNOWN if action is None else await self._answer(action, click, author)
        if told:
            await self._desk.tell(click.channel, click.thread, click.user_id, escape(told))

    async def _answer(self, action: RequiredAction, click: Click, author: Author) -> str:
        """Give the answer; what the person is told if it cannot be taken."""
        desk = self._desk
        right = await desk.house.rights.of(desk.workspace, action, author)
        if right.refusal:
            return right.refusal
        result, problem = await self._result_of(action, click, author)
        if problem:
            return problem
        if action.state is ActionState.OPEN:
            command = AnswerAction(
                action_id=action.id, result=result, by=author, groups=right.groups
            )
            outcome = await desk.engine.submit(action.chat_id, command)
            if isinstance(outcome, Applied):
                return ""
            if outcome is not None and outcome.reason is RefusalReason.MAY_NOT_ANSWER:
                return outcome.detail
            action = await desk.engine.read_action(action.id) or action
        if is_own_repetition(action, author, result):
            return ""
        return why_closed(action) or UNKNOWN

    async def _result_of(
        self, action: RequiredAction, click: Click, author: Author
    ) -> tuple[object, str]:
        """What the click answers, and why it cannot be taken, if so."""
        form = form_of(action)
        if form is None:
            return None, UNKNOWN
        if click.form is not None:
            return await self._result_of_form(action, form, click.form, author)
        try:
            return answer_of_option(form, click.option if click.option is not None else -1), ""
        except IndexError:
            return None, NO_SUCH_OPTION

    async def _result_of_form(
        self, action: RequiredAction, form: Form, sent: Json, author: Author
    ) -> tuple[object, str]:
        origin = origin_of_form(sent)
        page = None if origin is None else page_of(form, origin.page)
        if page is None:
            return None, UNKNOWN
        values = values_of_form(sent, page.form, offset=page.offset)
        result, problems = answer_of_fields(page.form, values)
        if page.count > 1:
            draft = await self._desk.engine.form_drafts.read(action.id, author.identity)
            result, missing = completed(form, page, draft, result)
            problems = missing | problems
        return result, next(iter(problems.values()), "")
