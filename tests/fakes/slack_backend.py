"""Owns the parts of one fake Slack put together, and every change of a message with the events it causes."""

from __future__ import annotations

import random
import uuid
from typing import Any

from tests.fakes.slack_announce import Announcer, EventMode
from tests.fakes.slack_clock import SlackClock
from tests.fakes.slack_content import Content
from tests.fakes.slack_deliveries import Background
from tests.fakes.slack_http_events import HttpEvents
from tests.fakes.slack_oauth import OAuth
from tests.fakes.slack_rates import Faults, RateLimits
from tests.fakes.slack_shapes import TOMBSTONE_TEXT
from tests.fakes.slack_sockets import Sockets
from tests.fakes.slack_state import BotInstall, Channel, Message, Workspace, World
from tests.fakes.slack_triggers import Triggers
from tests.fakes.slack_uploads import Uploads
from tests.fakes.slack_wire import METHODS, Call

Json = dict[str, Any]

SLACKBOT = "USLACKBOT"


class Backend:
    """Everything the methods and the people act on. `origin` is set once the server listens."""

    def __init__(
        self,
        *,
        clock: SlackClock,
        app_id: str,
        app_token: str,
        signing_secret: str,
        mode: EventMode,
        seed: int,
    ) -> None:
        rng = random.Random(seed)  # noqa: S311 - picks sockets, protects nothing
        self.clock = clock
        self.app_id = app_id
        self.app_token = app_token
        self.config_token = "xoxe.xoxp-harbour-1"
        self.manifest: dict[str, Any] = {}
        self.origin = ""
        # Slack's answer to a reply whose root is gone is not documented; a test may choose.
        self.accepts_orphan_replies = False
        self.revoked_tokens: set[str] = set()
        self.calls: list[Call] = []
        # Those of other apps, by their app-level tokens.
        self.other_sockets: dict[str, Sockets] = {}
        self.world = World(clock)
        self.oauth = OAuth(self.world, clock, self.revoked_tokens)
        self.uploads = Uploads()
        self.background = Background()
        self.faults = Faults()
        self.rates = RateLimits(
            clock, {name: rule.tier for name, rule in METHODS.items() if rule.tier is not None}
        )
        self.triggers = Triggers(clock)
        self.sockets = Sockets(
            clock=clock,
            background=self.background,
            touch=self.world.touch,
            app_id=app_id,
            rng=rng,
        )
        self.http = HttpEvents(
            clock=clock,
            background=self.background,
            touch=self.world.touch,
            signing_secret=signing_secret,
        )
        self.announcer = Announcer(
            clock=clock,
            world=self.world,
            sockets=self.sockets,
            http=self.http,
            mode=mode,
            rng=rng,
        )

    def publish(self, workspace: Workspace, message: Message) -> Message:
        """Put a message where people see it and tell the app, if it may hear."""
        channel = workspace.channels[message.channel_id]
        channel.messages[message.ts] = message
        if message.bot is workspace.bot and message.thread_ts is not None:
            workspace.extras(channel.id, message.thread_ts).status = ""
        self.announcer.posted(workspace, message)
        self.world.touch()
        return message

    def post_as_bot(
        self,
        workspace: Workspace,
        bot: BotInstall,
        channel: Channel,
        content: Content,
        *,
        thread_ts: str | None = None,
        broadcast: bool = False,
        username: str | None = None,
        visible_to: str | None = None,
    ) -> Message:
        message = Message(
            ts=self.world.new_ts(),
            channel_id=channel.id,
            team_id=workspace.id,
            user=bot.user_id,
            text=content.text or "",
            blocks=content.blocks or [],
            attachments=content.attachments or [],
            metadata=content.metadata or None,
            thread_ts=thread_ts,
            bot=bot,
            username=username,
            subtype="thread_broadcast" if broadcast and thread_ts else None,
            visible_to=visible_to,
        )
        if visible_to is None:
            return self.publish(workspace, message)
        workspace.ephemerals.append(message)
        self.world.touch()
        return message

    def post_as_person(
        self,
        workspace: Workspace,
        channel: Channel,
        *,
        user_id: str,
        text: str,
        blocks: list[Json],
        thread_ts: str | None,
        broadcast: bool,
        files: list[Any],
        attachments: list[Json] | None = None,
    ) -> Message:
        subtype = "file_share" if files else None
        return self.publish(
            workspace,
            Message(
                ts=self.world.new_ts(),
                channel_id=channel.id,
                team_id=workspace.id,
                user=user_id,
                text=text,
                blocks=blocks,
                thread_ts=thread_ts,
                subtype="thread_broadcast" if broadcast and thread_ts else subtype,
                client_msg_id=str(uuid.uuid4()),
                files=list(files),
                attachments=attachments or [],
            ),
        )

    def revise(
        self, workspace: Workspace, message: Message, content: Content, *, edited_by: str | None
    ) -> None:
        """Change a message. What `content` does not mention stays, stale blocks included."""
        previous = message.snapshot()
        if content.text is not None:
            message.text = content.text
        if content.blocks is not None:
            message.blocks = content.blocks
        if content.attachments is not None:
            message.attachments = content.attachments
        if content.metadata is not None:
            message.metadata = content.metadata or None
        if edited_by is not None:
            message.edits += 1
            message.edited_by = edited_by
            message.edited_ts = f"{int(self.clock.now())}.000000"
        if message.visible_to is None:
            self.announcer.changed(workspace, message, previous)
        self.world.touch()

    def erase(self, workspace: Workspace, message: Message) -> None:
        """Delete a message; a parent with replies stays as a tombstone."""
        channel = workspace.channels[message.channel_id]
        if message.visible_to is not None:
            workspace.ephemerals.remove(message)
        elif channel.replies(message.ts) and not message.is_reply:
            self._entomb(workspace, message)
        else:
            # The event shows the message as it was, so it is made before the message goes.
            self.announcer.deleted(workspace, message)
            del channel.messages[message.ts]
            self._drop_bare_tombstone(channel, message)
        self.world.touch()

    def react(self, workspace: Workspace, message: Message, *, user_id: str, name: str) -> bool:
        """Add a reaction; False when this user already has it there."""
        users = message.reactions.setdefault(name, [])
        if user_id in users:
            return False
        users.append(user_id)
        self.announcer.reaction(workspace, "reaction_added", message, user_id=user_id, name=name)
        self.world.touch()
        return True

    def unreact(self, workspace: Workspace, message: Message, *, user_id: str, name: str) -> bool:
        users = message.reactions.get(name, [])
        if user_id not in users:
            return False
        users.remove(user_id)
        if not users:
            del message.reactions[name]
        self.announcer.reaction(workspace, "reaction_removed", message, user_id=user_id, name=name)
        self.world.touch()
        return True

    def _entomb(self, workspace: Workspace, message: Message) -> None:
        previous = message.snapshot()
        message.subtype = "tombstone"
        message.text = TOMBSTONE_TEXT
        message.user = SLACKBOT
        message.bot = None
        message.client_msg_id = None
        message.metadata = None
        message.blocks, message.attachments, message.files = [], [], []
        message.reactions = {}
        self.announcer.changed(workspace, message, previous)

    @staticmethod
    def _drop_bare_tombstone(channel: Channel, reply: Message) -> None:
        root = channel.messages.get(reply.thread_ts or "")
        if root is not None and root.subtype == "tombstone" and not channel.replies(root.ts):
            del channel.messages[root.ts]
