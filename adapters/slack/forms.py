"""Forms while somebody has them open: opened at once, since Slack allows three seconds, and checked when sent."""

import logging
from typing import Any

from adapters.errors import SurfaceError
from adapters.slack.buttons import FormOrigin, OpenPressed, Pressed, origin_of_form, values_of_form
from adapters.slack.form_inputs import errors_of
from adapters.slack.questions import UNKNOWN, MayAnswer, form_of, why_closed
from adapters.slack.render import form_view, notice_view
from adapters.slack.wire import Json, text_at
from adapters.slack.workspaces import Workspace
from engine.api import Engine, StoreUnavailable
from engine.chat.actions import RequiredAction
from engine.chat.content import Author
from engine.chat.form import answer_of_fields

logger = logging.getLogger(__name__)


class FormDesk:
    """Opens and checks forms of any installation."""

    def __init__(self, engine: Engine, may_answer: MayAnswer) -> None:
        self._engine = engine
        self._may_answer = may_answer

    async def open(self, workspace: Workspace, pressed: OpenPressed, place: Pressed) -> None:
        """Show the form, or say why not to the person alone. Never raises: they can press again."""
        try:
            action = await self._engine.read_action(pressed.action_id)
            refusal = await self._refusal(workspace, action, place.user_id)
            form = None if action is None else form_of(action)
            view = notice_view(refusal)
            if not refusal and form is not None:
                view = form_view(
                    form,
                    FormOrigin(
                        action_id=pressed.action_id,
                        channel=place.channel,
                        thread=place.thread,
                        message_ts=place.message_ts,
                    ),
                )
            await workspace.client.open_view(place.trigger_id, view)
        except (SurfaceError, StoreUnavailable) as error:
            logger.warning(
                "form not opened",
                extra={"action": "slack_form_not_opened", "reason": type(error).__name__},
            )

    async def check(self, workspace: Workspace, payload: Json) -> dict[str, Any]:
        """What to answer a submission with: nothing takes it, errors or a notice refuse it."""
        origin = origin_of_form(payload)
        action = None if origin is None else await self._engine.read_action(origin.action_id)
        user_id = text_at(payload, "user", "id")
        if refusal := await self._refusal(workspace, action, user_id):
            return {"response_action": "update", "view": notice_view(refusal)}
        form = None if action is None else form_of(action)
        if form is None:
            return {"response_action": "update", "view": notice_view(UNKNOWN)}
        _, problems = answer_of_fields(form, values_of_form(payload, form))
        if problems:
            return {"response_action": "errors", "errors": errors_of(form, problems)}
        return {}

    async def _refusal(
        self, workspace: Workspace, action: RequiredAction | None, user_id: str
    ) -> str:
        if action is None or action.form is None:
            return UNKNOWN
        await workspace.people.names_of([user_id])
        by = Author(identity=workspace.identity_of(user_id))
        return self._may_answer(action, by) or why_closed(action)
