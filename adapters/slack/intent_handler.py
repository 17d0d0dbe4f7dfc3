"""Carries out what a delivery asks for, in the workspace that it came from."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import assert_never

from adapters.contract import ChatDefaults
from adapters.slack.agent_events import ViewEvent
from adapters.slack.answering import Answering
from adapters.slack.buttons import place_of_press
from adapters.slack.conversation import Conversation
from adapters.slack.desk import Desk, House
from adapters.slack.feedback import Rated
from adapters.slack.gathering import Gathering
from adapters.slack.ordering import Ordering
from adapters.slack.orders import order_of
from adapters.slack.permalinks import Permalinks
from adapters.slack.private_answer import answer_alone
from adapters.slack.rating import RatingDesk
from adapters.slack.retrying import Retrying
from adapters.slack.revising import Revising
from adapters.slack.stopping import Stopping
from adapters.slack.translate import (
    Click,
    Delete,
    Edit,
    Ignore,
    Ordered,
    Retry,
    StartOrSend,
    Stop,
    ThreadIntent,
    homes_of,
    translate,
    users_named,
)
from adapters.slack.viewing import Viewing
from adapters.slack.wire import object_at, text_at
from adapters.slack.workspaces import AllWorkspaces
from engine.api import ClaimedEvent

logger = logging.getLogger(__name__)

APOLOGY = (
    "Something went wrong with what you just sent, and I could not deal with it. Please try again."
)


class IntentHandler:
    """Carries out intents of any installation. Raises only what is worth trying again."""

    def __init__(
        self,
        house: House,
        workspaces: AllWorkspaces,
        *,
        defaults: Mapping[str, ChatDefaults] = MappingProxyType({}),
    ) -> None:
        """`defaults`: of apps whose chats begin otherwise than those of the house."""
        self._house = house
        self._workspaces = workspaces
        self._permalinks = Permalinks()
        self._houses = {app: replace(house, defaults=each) for app, each in defaults.items()}

    async def handle(self, event: ClaimedEvent) -> None:
        """Do what the event asks for. Doing it again changes nothing."""
        desk = await self._desk_of(event)
        body = event.event.payload
        names = await desk.workspace.people.names_of(users_named(body), teams=homes_of(body))
        intent = translate(
            event.event.kind,
            body,
            identity=desk.identity,
            stop_words=self._house.settings.stop_words,
            twin=event.twin.payload if event.twin else None,
            names=names,
        )
        if isinstance(intent, Ordered):
            author = desk.author(intent.order.at.user_id, names)
            key, attempt = event.event.event_key, event.attempts
            ordering = Ordering(desk, self._permalinks, event_key=key, attempt=attempt)
            await ordering.carry_out(intent.order, author)
            return
        await _carry_out(desk, intent, names, attempt=event.attempts)

    async def apologise(self, event: ClaimedEvent) -> None:
        """Tell whoever sent it that the event could not be dealt with. Raises SurfaceError."""
        body = event.event.payload
        if (order := order_of(body)) is not None:
            await answer_alone(await self._desk_of(event), order.at, APOLOGY)
            return
        said = object_at(body, "event")
        if said:
            message = object_at(said, "message") or said
            channel, user = text_at(said, "channel"), text_at(message, "user")
            thread = text_at(message, "thread_ts") or text_at(message, "ts")
        else:
            place = place_of_press(body)
            channel, user, thread = place.channel, place.user_id, place.thread
        desk = await self._desk_of(event)
        await desk.tell(channel, thread, user, APOLOGY)

    async def _desk_of(self, event: ClaimedEvent) -> Desk:
        workspace = await self._workspaces.find(event.event.installation)
        house = self._houses.get(workspace.identity.app, self._house)
        return Desk(house=house, workspace=workspace)


async def _carry_out(
    desk: Desk, intent: ThreadIntent, names: dict[str, str], *, attempt: int
) -> None:
    match intent:
        case StartOrSend() | Edit():
            await _hear(desk, intent, names, attempt=attempt)
        case Delete():
            await Revising(desk, Gathering(desk, attempt=attempt)).delete(intent)
        case Stop():
            await Stopping(desk).stop(intent, desk.author(intent.user_id, names))
        case Retry():
            await Retrying(desk).retry(intent)
        case Click():
            await Answering(desk).answer(intent, desk.author(intent.user_id, names))
        case Rated():
            await RatingDesk(desk).rate(intent, desk.author(intent.user_id, names))
        case ViewEvent():
            await Viewing(desk).handle(intent)
        case Ignore(reason=reason):
            logger.info("ignored", extra={"action": "slack_event_ignored", "reason": reason})
        case _:
            assert_never(intent)


async def _hear(
    desk: Desk, said: StartOrSend | Edit, names: dict[str, str], *, attempt: int
) -> None:
    conversation = Conversation(desk, attempt=attempt)
    if isinstance(said, Edit):
        await conversation.edit(said, desk.author(said.user_id, names))
        return
    if said.user_name:
        names = {**names, said.user_id: said.user_name}
    await conversation.start_or_send(said, desk.author(said.user_id, names))
