"""A thread's status where Slack shows one: the agent view's session, or the status of the older assistant view.

Which of both an app has is not told by Slack, so the newer one is tried first. A workspace whose app has
none is left alone for a while. Nothing waits for any of it.
"""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Final

from adapters.contract import Place
from adapters.delivery.call_times import CallTimes
from adapters.delivery.thread_status import Condition, ThreadStatus
from adapters.errors import Denied
from adapters.slack.agent_events import session_title
from adapters.slack.limits import SESSION, STATUS, TITLE
from adapters.slack.pace import Pace
from adapters.slack.workspaces import Workspace
from config.slack_agent_settings import AgentView
from engine.api import Engine

logger = logging.getLogger(__name__)

HAS_NONE: Final = frozenset(
    {
        "access_denied",
        "feature_not_enabled",
        "missing_scope",
        "not_agent_app",
        "not_allowed_token_type",
        "unknown_method",
    }
)
"""Slack's words for an app, or a workspace, without the view that was asked for."""
LEFT_ALONE_SECONDS: Final = 3600.0
SESSION_AGAIN_SECONDS: Final = 1800.0
"""A session that is processing times out after an hour."""
WORKING_SECONDS_MAX: Final = 5.0
"""How long a turn's beginning waits to be shown: its end may come first."""
RESTING_SECONDS_MAX: Final = 300.0
"""How long its end waits, lest the thread look as if it were still going on."""
THREADS_MAX: Final = 10_000
THINKING: Final = "is thinking..."
_SESSION: Final[Mapping[Condition, str]] = {
    Condition.WORKING: "processing",
    Condition.ASKING: "suspended",
}
_ORDER: Final[Mapping[AgentView, tuple[AgentView, ...]]] = {
    AgentView.AUTO: (AgentView.AGENT, AgentView.ASSISTANT),
    AgentView.AGENT: (AgentView.AGENT,),
    AgentView.ASSISTANT: (AgentView.ASSISTANT,),
    AgentView.OFF: (),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    view: AgentView
    condition: Condition
    title: str
    again_at: float


class AgentStatus:
    """The sign of the agent view. See adapters.slack.status_board."""

    def __init__(
        self,
        engine: Engine,
        mode: AgentView,
        times: CallTimes,
        *,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._engine = engine
        self._times = times
        self._order = _ORDER[mode]
        self._clock = clock or time.monotonic
        self._left_alone: dict[tuple[str, AgentView], float] = {}
        # Invariant: what was shown last of each thread, so that nothing is said twice.
        self._shown: OrderedDict[Place, _Shown] = OrderedDict()

    async def show(self, workspace: Workspace, place: Place, status: ThreadStatus) -> None:
        """Show it in the first view that the app has."""
        installation = workspace.identity.installation
        for view in self._order:
            if self._left_alone.get((installation, view), 0.0) > self._clock():
                continue
            try:
                await self._show_in(view, workspace, place, status)
            except Denied as error:
                if error.code not in HAS_NONE:
                    raise
                self._left_alone[installation, view] = self._clock() + LEFT_ALONE_SECONDS
                extra = {"action": "slack_view_not_there", "code": error.code, "view": view.value}
                logger.info("no such view", extra=extra)
            else:
                return

    async def _show_in(
        self, view: AgentView, workspace: Workspace, place: Place, status: ThreadStatus
    ) -> None:
        chat = await self._engine.read_chat(status.chat_id)
        title = "" if chat is None else session_title(chat.title)
        before = self._shown.get(place)
        is_same = before is not None and (before.view, before.condition, before.title) == (
            view,
            status.condition,
            title,
        )
        if is_same and before is not None and self._clock() < before.again_at:
            return
        client = workspace.client
        is_working = status.condition is Condition.WORKING

        def turn(method: str) -> AbstractAsyncContextManager[None]:
            pace = Pace(self._times, workspace.identity.installation)
            seconds = WORKING_SECONDS_MAX if is_working else RESTING_SECONDS_MAX
            return pace.call(method, place.channel, seconds_max=seconds, is_urgent=not is_working)

        if view is AgentView.AGENT:
            async with turn(SESSION):
                await client.set_session_status(
                    place.channel,
                    place.thread,
                    status=_SESSION.get(status.condition, "active"),
                    title=title,
                )
            again = SESSION_AGAIN_SECONDS
        else:
            text = THINKING if is_working else ""
            async with turn(STATUS):
                await client.set_assistant_status(place.channel, place.thread, status=text)
            if title and (before is None or before.title != title):
                async with turn(TITLE):
                    await client.set_assistant_title(place.channel, place.thread, title=title)
            # It times out after two minutes, so whenever the board comes by.
            again = 0.0 if is_working else SESSION_AGAIN_SECONDS
        self._shown[place] = _Shown(
            view=view, condition=status.condition, title=title, again_at=self._clock() + again
        )
        self._shown.move_to_end(place)
        while len(self._shown) > THREADS_MAX:
            self._shown.popitem(last=False)
