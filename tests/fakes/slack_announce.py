"""Owns which events a change in the workspace causes and sends them to the app under test."""

from __future__ import annotations

import random
from enum import StrEnum
from typing import Any

from tests.fakes.slack_clock import SlackClock
from tests.fakes.slack_deliveries import Delivery, DeliveryKind
from tests.fakes.slack_http_events import HttpEvents
from tests.fakes.slack_shapes import event_envelope, message_json
from tests.fakes.slack_sockets import Sockets
from tests.fakes.slack_state import Channel, ChannelKind, Message, Workspace, World

Json = dict[str, Any]

_COUNTERS = ("reply_count", "reply_users_count", "latest_reply", "reply_users", "is_locked")


class EventMode(StrEnum):
    SOCKET = "socket"
    HTTP = "http"


class MentionOrder(StrEnum):
    """Slack promises no order between a mention's two events."""

    MENTION_FIRST = "mention_first"
    MESSAGE_FIRST = "message_first"
    RANDOM = "random"


class Announcer:
    """Turns changes into deliveries. Channels the bot is not in are silent, as on the platform."""

    def __init__(
        self,
        *,
        clock: SlackClock,
        world: World,
        sockets: Sockets,
        http: HttpEvents,
        mode: EventMode,
        rng: random.Random,
    ) -> None:
        self.mode = mode
        self.mention_order = MentionOrder.RANDOM
        self.mention_on_edit = False
        self.unsubscribed: set[str] = set()
        self.deliveries: list[Delivery] = []
        # Those of other apps, which hear of the same changes as far as their bots may.
        self.others: list[Announcer] = []
        self._clock = clock
        self._world = world
        self._sockets = sockets
        self._http = http
        self._rng = rng

    def posted(self, workspace: Workspace, message: Message) -> None:
        """A new message: `message`, and `app_mention` when it names the bot in a channel."""
        for other in self.others:
            other.posted(workspace, message)
        channel = workspace.channels[message.channel_id]
        if not _hears(workspace, channel):
            return
        events = [self._message_event(workspace, channel, message)]
        if _mentions_bot(workspace, channel, message):
            events.append(_mention_event(events[0]))
            if self._mention_goes_first():
                events.reverse()
        for event in events:
            self.event(workspace, event)

    def changed(self, workspace: Workspace, message: Message, previous: Message) -> None:
        """An edit by anyone, the app included, or by the platform."""
        for other in self.others:
            other.changed(workspace, message, previous)
        channel = workspace.channels[message.channel_id]
        if not _hears(workspace, channel):
            return
        stamp = self._world.new_ts()
        self.event(
            workspace,
            {
                "type": "message",
                "subtype": "message_changed",
                "message": message_json(workspace, message),
                "previous_message": message_json(workspace, previous),
                "channel": channel.id,
                "hidden": True,
                "ts": stamp,
                "event_ts": stamp,
                "channel_type": channel.kind.value,
            },
        )
        gained = _mentions_bot(workspace, channel, message)
        if self.mention_on_edit and gained and workspace.bot.mention not in previous.text:
            event = self._message_event(workspace, channel, message)
            event["event_ts"] = stamp
            self.event(workspace, _mention_event(event) | {"edited": _edited(message)})

    def deleted(self, workspace: Workspace, message: Message) -> None:
        for other in self.others:
            other.deleted(workspace, message)
        channel = workspace.channels[message.channel_id]
        if not _hears(workspace, channel):
            return
        stamp = self._world.new_ts()
        self.event(
            workspace,
            {
                "type": "message",
                "subtype": "message_deleted",
                "previous_message": message_json(workspace, message),
                "channel": channel.id,
                "hidden": True,
                "deleted_ts": message.ts,
                "event_ts": stamp,
                "ts": stamp,
                "channel_type": channel.kind.value,
            },
        )

    def reaction(
        self, workspace: Workspace, kind: str, message: Message, *, user_id: str, name: str
    ) -> None:
        """`kind` is reaction_added or reaction_removed."""
        for other in self.others:
            other.reaction(workspace, kind, message, user_id=user_id, name=name)
        channel = workspace.channels[message.channel_id]
        if not _hears(workspace, channel):
            return
        event: Json = {
            "type": kind,
            "user": user_id,
            "reaction": name,
            "item": {"type": "message", "channel": channel.id, "ts": message.ts},
            "event_ts": self._world.new_ts(),
        }
        if message.user is not None:
            event["item_user"] = message.user
        self.event(workspace, event)

    def joined(self, workspace: Workspace, channel: Channel, *, user_id: str, inviter: str) -> None:
        if not _hears(workspace, channel):
            return
        letter = "C" if channel.kind is ChannelKind.CHANNEL else "G"
        self.event(
            workspace,
            {
                "type": "member_joined_channel",
                "user": user_id,
                "channel": channel.id,
                "channel_type": letter,
                "team": workspace.id,
                "inviter": inviter,
                "event_ts": self._world.new_ts(),
            },
        )

    def event(self, workspace: Workspace, event: Json) -> Delivery | None:
        """Send any event in its envelope; None when the app is not subscribed to its type."""
        if event["type"] in self.unsubscribed:
            return None
        event_id = self._world.new_id("Ev")
        body = event_envelope(
            workspace, event, event_id=event_id, event_time=int(self._clock.now())
        )
        return self.send(Delivery(id=event_id, kind=DeliveryKind.EVENT, body=body))

    def replay(self, delivery: Delivery, *, event_id: str | None = None) -> Delivery:
        """The same body once more, as an unasked duplicate; under another event id if given."""
        body = delivery.body if event_id is None else {**delivery.body, "event_id": event_id}
        twin_id = event_id or delivery.id
        return self.send(Delivery(id=twin_id, kind=delivery.kind, body=body))

    def send(self, delivery: Delivery) -> Delivery:
        self.deliveries.append(delivery)
        match self.mode:
            case EventMode.SOCKET:
                self._sockets.send(delivery)
            case EventMode.HTTP:
                self._http.send(delivery)
        self._world.touch()
        return delivery

    def _mention_goes_first(self) -> bool:
        if self.mention_order is MentionOrder.RANDOM:
            return self._rng.random() < 0.5
        return self.mention_order is MentionOrder.MENTION_FIRST

    def _message_event(self, workspace: Workspace, channel: Channel, message: Message) -> Json:
        shown = message_json(workspace, message)
        for name in (*_COUNTERS, "reactions", "edited"):
            shown.pop(name, None)
        author = workspace.accounts.get(message.user or "")
        if author is not None and author.team_id != workspace.id:
            # Somebody of another organization, in a channel that both share.
            shown |= {"user_team": author.team_id, "source_team": author.team_id}
        return shown | {
            "channel": channel.id,
            "event_ts": message.ts,
            "channel_type": channel.kind.value,
        }


def _hears(workspace: Workspace, channel: Channel) -> bool:
    return workspace.bot.user_id in channel.members


def _mentions_bot(workspace: Workspace, channel: Channel, message: Message) -> bool:
    if channel.kind is ChannelKind.IM or message.bot is workspace.bot:
        return False
    return f"<@{workspace.bot.user_id}>" in message.text


def _mention_event(event: Json) -> Json:
    """The app_mention twin of a message event: the same content without the message's own fields."""
    dropped = ("channel_type", "subtype", "root")
    return {k: v for k, v in event.items() if k not in dropped} | {"type": "app_mention"}


def _edited(message: Message) -> Json:
    return {"user": message.edited_by, "ts": message.edited_ts}
