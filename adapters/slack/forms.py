"""Forms while somebody has them open: opened at once, since Slack allows three seconds, and checked when sent.

Theory of operation. What is filled in travels in Slack's payloads; only the pages before the last one of
a long form are kept, under the question and the person, so that any replica can go on. The last page goes
the way of every answer: into the inbox, and from there to the chat.
"""

import asyncio
import logging
from dataclasses import replace
from typing import Any, Final

from adapters.errors import Denied, RateLimited, SurfaceError
from adapters.slack.answer_rights import identity_in
from adapters.slack.buttons import (
    FormOrigin,
    OpenPressed,
    Pressed,
    answer_value,
    options_wanted,
    origin_of_form,
    values_of_form,
)
from adapters.slack.desk import Desk, House
from adapters.slack.form_inputs import option_value
from adapters.slack.form_pages import FormPage, errors_of, page_of, pages_of
from adapters.slack.form_views import begun, blank, form_view, notice_view
from adapters.slack.option_menus import found_options
from adapters.slack.questions import UNKNOWN, form_of, why_closed
from adapters.slack.trigger import TriggerOver
from adapters.slack.wire import Json, text_at
from adapters.slack.workspaces import Workspace
from engine.api import StoreUnavailable
from engine.chat.actions import RequiredAction
from engine.chat.form import Form
from engine.chat.form_answers import answer_of_fields
from engine.chat.writes import ActionState

logger = logging.getLogger(__name__)

OPEN_SECONDS_MAX: Final = 10.0
"""After which whoever pressed is told, whatever has become of the call: the trigger is over long before."""
TOO_LATE: Final = "That took too long, and Slack opens no form any more. Nothing is lost: please press the button again."
TOO_MANY: Final = (
    "Slack lets me open no more forms at the moment. Please press the button again in a minute."
)
NOT_OPENED: Final = "I could not open the form just now. Please press the button again."
NOT_ALLOWED: Final = (
    "Slack does not let me open this form ({code}). Please tell whoever looks after me here."
)
Answer = dict[str, Any]


class FormDesk:
    """Opens and checks forms of any installation."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._engine = house.engine

    async def open(self, workspace: Workspace, pressed: OpenPressed, place: Pressed) -> None:
        """Show the form, or say why not to the person alone. Never raises: they can press again."""
        try:
            async with asyncio.timeout(OPEN_SECONDS_MAX):
                await self._open(workspace, pressed, place)
        except (SurfaceError, StoreUnavailable, TimeoutError) as error:
            reason = error.code if isinstance(error, SurfaceError) else type(error).__name__
            extra = {"action": "slack_form_not_opened", "reason": reason}
            logger.warning("form not opened", extra=extra)
            desk = Desk(house=self._house, workspace=workspace)
            await desk.tell(place.channel, place.thread, place.user_id, _why_not_opened(error))

    async def check(self, workspace: Workspace, payload: Json) -> Answer:
        """What to answer a submission with: nothing takes it, errors, a notice or the next page do not."""
        origin = origin_of_form(payload)
        if origin is None:
            return _notice(UNKNOWN)
        action = await self._engine.read_action(origin.action_id)
        user_id = text_at(payload, "user", "id")
        if refusal := await self._refusal(workspace, action, user_id):
            return _notice(refusal)
        form = None if action is None else form_of(action)
        page = None if form is None else page_of(form, origin.page)
        if form is None or page is None:
            return _notice(UNKNOWN)
        values = values_of_form(payload, page.form, offset=page.offset)
        result, problems = answer_of_fields(page.form, values)
        if problems:
            return {"response_action": "errors", "errors": errors_of(page, problems)}
        if page.is_last:
            return {}
        empty = {field.name: None for field in page.form.fields}
        identity = await identity_in(workspace, user_id)
        return await self._turn(origin, form, identity, empty | result)

    async def suggest(self, payload: Json) -> Answer:
        """The options that somebody looks for, for a menu that does not hold them all."""
        wanted = options_wanted(payload)
        action = None if wanted is None else await self._engine.read_action(wanted.action_id)
        if wanted is None or action is None or action.state is not ActionState.OPEN:
            return {"options": []}
        form = form_of(action)
        if form is None:
            return {"options": []}
        if wanted.field is None:
            options = found_options(
                form.options, lambda index: answer_value(wanted.action_id, index), wanted.typed
            )
        elif wanted.field < len(form.fields):
            options = found_options(form.fields[wanted.field].options, option_value, wanted.typed)
        else:
            options = []
        return {"options": options}

    async def _open(self, workspace: Workspace, pressed: OpenPressed, place: Pressed) -> None:
        action = await self._engine.read_action(pressed.action_id)
        refusal = await self._refusal(workspace, action, place.user_id)
        form = None if action is None else form_of(action)
        if refusal or form is None:
            await workspace.client.open_view(place.trigger_id, notice_view(refusal or UNKNOWN))
            return
        page, *others = pages_of(form)
        if others:
            identity = await identity_in(workspace, place.user_id)
            draft = await self._engine.form_drafts.read(pressed.action_id, identity)
            page = _begun(page, draft)
        origin = FormOrigin(
            action_id=pressed.action_id,
            channel=place.channel,
            thread=place.thread,
            message_ts=place.message_ts,
        )
        try:
            await workspace.client.open_view(place.trigger_id, form_view(page, origin))
        except TriggerOver:
            raise
        except Denied as error:
            # Something of what was proposed is not to Slack's liking, such as a user who is gone.
            extra = {"action": "slack_form_refused", "code": error.code}
            logger.warning("form refused, opened blank", extra=extra)
            await workspace.client.open_view(place.trigger_id, form_view(blank(page), origin))

    async def _turn(
        self, origin: FormOrigin, form: Form, identity: str, answers: dict[str, Any]
    ) -> Answer:
        """Keep what was filled in, and show the next page."""
        drafts = self._engine.form_drafts
        await drafts.save(origin.action_id, identity, answers)
        following = pages_of(form)[origin.page + 1]
        shown = _begun(following, await drafts.read(origin.action_id, identity))
        view = form_view(shown, replace(origin, page=following.number))
        return {"response_action": "update", "view": view}

    async def _refusal(
        self, workspace: Workspace, action: RequiredAction | None, user_id: str
    ) -> str:
        if action is None or action.form is None:
            return UNKNOWN
        right = await self._house.rights.of_user(workspace, action, user_id)
        return right.refusal or why_closed(action)


def _begun(page: FormPage, draft: dict[str, Any]) -> FormPage:
    return replace(page, form=begun(page.form, draft))


def _notice(text: str) -> Answer:
    return {"response_action": "update", "view": notice_view(text)}


def _why_not_opened(error: Exception) -> str:
    match error:
        case TriggerOver():
            return TOO_LATE
        case RateLimited():
            return TOO_MANY
        case Denied():
            return NOT_ALLOWED.format(code=error.code)
        case _:
            return NOT_OPENED
