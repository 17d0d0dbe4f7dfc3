"""Owns what people do beside messages in the fake: shortcuts, and the app's home with its buttons."""

from __future__ import annotations

from typing import Any

from tests.fakes.slack_deliveries import Delivery, DeliveryKind
from tests.fakes.slack_people import Person
from tests.fakes.slack_server import FakeSlack
from tests.fakes.slack_shapes import interaction, message_json
from tests.fakes.slack_shown import NotShownError
from tests.fakes.slack_state import Channel, Message
from tests.fakes.slack_text import controls_in

Json = dict[str, Any]


class Surfaces:
    """What one person does in one workspace's Slack beside writing."""

    def __init__(self, slack: FakeSlack, person: Person) -> None:
        self._slack = slack
        self._person = person

    async def message_shortcut(
        self, channel: Channel, message: Message, callback_id: str
    ) -> Delivery:
        """Choose a shortcut in the menu of a message."""
        workspace, backend = self._slack.team.workspace, self._slack.backend
        path = backend.triggers.issue_url(
            team_id=workspace.id, user_id=self._person.id, channel_id=channel.id
        )
        payload = self._payload("message_action") | {
            "callback_id": callback_id,
            "channel": {"id": channel.id, "name": channel.name},
            "message": message_json(workspace, message),
            "message_ts": message.ts,
            "action_ts": backend.world.new_ts(),
            "response_url": f"{backend.origin}{path}",
        }
        return await self._send(payload)

    async def global_shortcut(self, callback_id: str) -> Delivery:
        """Choose a shortcut of the app, wherever in Slack."""
        action_ts = self._slack.backend.world.new_ts()
        payload = self._payload("shortcut") | {"callback_id": callback_id, "action_ts": action_ts}
        return await self._send(payload)

    def home(self) -> list[Json]:
        """The blocks of the app's home; none before it was published."""
        view = self._slack.team.workspace.homes.get(self._person.id)
        return [] if view is None else list(view["blocks"])

    def home_text(self) -> str:
        """What the home says, block by block."""
        texts = (block.get("text", {}).get("text", "") for block in self.home())
        return "\n".join(text for text in texts if text)

    async def press_in_home(self, wanted: str, *, nth: int = 0) -> Delivery:
        """Press the nth button with this label or action id."""
        found = [
            (block_id, element)
            for block_id, element in controls_in(self.home())
            if wanted in (element["action_id"], (element.get("text") or {}).get("text"))
        ]
        if len(found) <= nth:
            raise NotShownError(f"no button {wanted!r} in the home")
        block_id, element = found[nth]
        pressed = {k: element[k] for k in ("action_id", "type", "text", "value") if k in element}
        action_ts = self._slack.backend.world.new_ts()
        payload = self._payload("block_actions") | {
            "container": {"type": "view", "view_id": "VHOME"},
            "view": {"type": "home", "id": "VHOME", "blocks": self.home(), "callback_id": ""},
            "actions": [pressed | {"block_id": block_id, "action_ts": action_ts}],
        }
        return await self._send(payload)

    def _payload(self, kind: str) -> Json:
        workspace, backend = self._slack.team.workspace, self._slack.backend
        trigger = backend.triggers.issue(team_id=workspace.id, user_id=self._person.id)
        account = workspace.accounts[self._person.id]
        return interaction(workspace, account, kind, trigger)

    async def _send(self, payload: Json) -> Delivery:
        delivery = Delivery(id=payload["trigger_id"], kind=DeliveryKind.INTERACTION, body=payload)
        self._slack.events.send(delivery)
        await delivery.done.wait()
        return delivery
