"""Owns what people and other bots do in the fake: write, edit, react, press, choose, submit, give commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.fakes.slack_backend import Backend
from tests.fakes.slack_content import Content
from tests.fakes.slack_deliveries import Delivery, DeliveryKind
from tests.fakes.slack_forms import entered, fill_form
from tests.fakes.slack_forwards import forwarded
from tests.fakes.slack_responses import apply_submission, respond
from tests.fakes.slack_searching import find_options
from tests.fakes.slack_shapes import interaction, message_json, view_json
from tests.fakes.slack_shown import Control, NotShownError, ShownMessage, shown_message
from tests.fakes.slack_state import (
    Account,
    BotInstall,
    Channel,
    ChannelKind,
    FileRecord,
    Message,
    View,
    Workspace,
)
from tests.fakes.slack_stream_state import StreamState
from tests.fakes.slack_text import controls_in, rich_text_of

Json = dict[str, Any]

BOT_PLACEHOLDER = "<@BOT>"
Pressable = Message | ShownMessage


class Person:
    """One person at their screen.

    Where an app must answer (a click, a choice, a submission, a command) the method returns the
    Delivery once it is answered or, after three seconds of the fake's clock, lost; with
    `wait=False` it returns at once.
    """

    def __init__(self, backend: Backend, workspace: Workspace, account: Account) -> None:
        self._backend = backend
        self._workspace = workspace
        self._account = account

    @property
    def id(self) -> str:
        return self._account.id

    @property
    def user_id(self) -> str:
        return self._account.id

    @property
    def name(self) -> str:
        return self._account.name

    @property
    def mention(self) -> str:
        return f"<@{self._account.id}>"

    async def say(
        self,
        channel: Channel,
        text: str,
        *,
        thread_ts: str | None = None,
        files: Sequence[FileRecord] = (),
        broadcast: bool = False,
        forwards: Message | None = None,
    ) -> Message:
        """Write a message; `<@BOT>` stands for the mention of the app's bot. The person joins if need be."""
        self._enter(channel)
        written = self._written(text)
        return self._backend.post_as_person(
            self._workspace,
            channel,
            user_id=self.id,
            text=written,
            blocks=rich_text_of(written, self._backend.world.new_id("b")[-5:]),
            thread_ts=thread_ts,
            broadcast=broadcast,
            files=list(files),
            attachments=[forwarded(self._workspace, forwards)] if forwards else None,
        )

    async def edit(self, message: Message, text: str) -> None:
        written = self._written(text)
        content = Content(
            text=written,
            blocks=rich_text_of(written, self._backend.world.new_id("b")[-5:]),
            attachments=None,
            metadata=None,
        )
        self._backend.revise(self._workspace, message, content, edited_by=self.id)

    async def delete(self, message: Message) -> None:
        self._backend.erase(self._workspace, message)

    async def react(self, message: Pressable, name: str) -> None:
        stored = self._stored(message)
        self._backend.react(self._workspace, stored, user_id=self.id, name=name)

    async def unreact(self, message: Pressable, name: str) -> None:
        stored = self._stored(message)
        self._backend.unreact(self._workspace, stored, user_id=self.id, name=name)

    async def click(self, message: Pressable, wanted: str, *, wait: bool = True) -> Delivery:
        """Press the button with this action id or label, as the given snapshot shows it.

        A ShownMessage taken before an edit may be pressed after it: the late click of a race.
        """
        shown = self._look(message)
        control = shown.control(wanted)
        return await self._act(shown, control, _pressed(control.element), wait=wait)

    async def rate(self, message: Pressable, *, good: bool, wait: bool = True) -> Delivery:
        """Press one of the two buttons that ask what people think."""
        shown = self._look(message)
        control = shown.control("tw:feedback")
        button = control.element["positive_button" if good else "negative_button"]
        return await self._act(shown, control, {"value": button["value"]}, wait=wait)

    async def choose(
        self, message: Pressable, wanted: str | Json, menu: str | None = None, *, wait: bool = True
    ) -> Delivery:
        """Choose an option by value or label, or a found one, from the only menu or the named one."""
        shown = self._look(message)
        if menu is None and len(shown.menus) != 1:
            raise NotShownError(f"{len(shown.menus)} menus on {shown.plain!r}: name one")
        control = shown.menus[0] if menu is None else shown.control(menu)
        return await self._act(shown, control, entered(control.element, wanted), wait=wait)

    async def click_in_view(self, view: View, wanted: str, *, wait: bool = True) -> Delivery:
        """Press a button inside an open modal."""
        for block_id, element in controls_in(view.blocks):
            label = (element.get("text") or {}).get("text")
            if wanted in (element["action_id"], label):
                payload = self._payload("block_actions") | {
                    "container": {"type": "view", "view_id": view.id},
                    "view": view_json(view),
                    "actions": [self._action(block_id, element, _pressed(element))],
                }
                return await self._interact(payload, wait=wait)
        raise NotShownError(f"no button {wanted!r} in the modal {view.title!r}")

    async def search(
        self, where: ShownMessage | View, typed: str, label: str | None = None
    ) -> list[Json]:
        """Type into a menu whose options the app finds; the options that it then shows."""
        payload = self._payload("block_suggestion")

        async def ask(asked: Json) -> Delivery:
            return await self._interact(asked, wait=True)

        return await find_options(where, typed, payload, ask, label=label)

    def open_view(self) -> View | None:
        """The modal on top of this person's screen."""
        stack = self._workspace.stacks.get(self.id) or []
        return stack[-1] if stack else None

    async def submit_view(
        self, view: View, values: Mapping[str, object] | None = None, *, wait: bool = True
    ) -> Delivery:
        """Fill in and submit a modal; fields are named by label, block id or action id.

        Afterwards the answer has been applied: closed, `view.errors` set, updated, pushed or
        cleared. Without an answer in time the modal stays, as Slack shows an error then.
        """
        if not view.is_open:
            raise NotShownError(f"the modal {view.title!r} is closed")
        state = fill_form(view.blocks, values or {})
        payload = self._payload("view_submission") | {
            "view": view_json(view, values=state),
            "response_urls": [],
        }
        delivery = await self._interact(payload, wait=wait)
        if wait and delivery.is_acked:
            apply_submission(self._backend, self._workspace, view, delivery.response)
        return delivery

    async def close_view(self, view: View, *, wait: bool = True) -> Delivery | None:
        """Cancel the modal; the app hears of it only if it asked to."""
        stack = self._workspace.stacks.get(self.id, [])
        if view in stack:
            stack.remove(view)
        view.is_open = False
        self._backend.world.touch()
        if not view.content.get("notify_on_close"):
            return None
        payload = self._payload("view_closed") | {
            "view": view_json(view),
            "is_cleared": False,
        }
        del payload["trigger_id"]
        return await self._interact(payload, wait=wait)

    async def command(
        self, command: str, text: str, channel: Channel, *, wait: bool = True
    ) -> Delivery:
        """Give a slash command; the app's immediate answer is shown as Slack shows it."""
        self._enter(channel)
        path = self._backend.triggers.issue_url(
            team_id=self._workspace.id, user_id=self.id, channel_id=channel.id
        )
        name = "directmessage" if channel.kind is ChannelKind.IM else channel.name
        payload: Json = {
            "token": "verification-token",
            "team_id": self._workspace.id,
            "team_domain": self._workspace.domain,
            "channel_id": channel.id,
            "channel_name": name,
            "user_id": self.id,
            "user_name": self._account.username,
            "command": command,
            "text": text,
            "api_app_id": self._workspace.bot.app_id,
            "is_enterprise_install": "false",
            "response_url": f"{self._backend.origin}{path}",
            "trigger_id": self._trigger(),
        }
        delivery = await self._interact(payload, kind=DeliveryKind.COMMAND, wait=wait)
        answer = delivery.response
        if isinstance(answer, dict) and (answer.get("text") or answer.get("blocks")):
            respond(self._backend, self._backend.triggers.spend_url(path), answer)
        return delivery

    async def press_stop(self, channel: Channel, thread_ts: str) -> None:
        """The native Stop of an agent thread; Slack ends its streams and changes no status by itself."""
        streaming = [
            message
            for message in channel.replies(thread_ts)
            if message.is_streaming_at(self._backend.clock.now())
        ]
        for message in streaming:
            message.end_stream(StreamState.STOPPED_BY_USER)
        self._backend.announcer.event(
            self._workspace,
            {
                "type": "agent_session_stopped",
                "channel": channel.id,
                "thread_ts": thread_ts,
                "user": self.id,
                "streaming_message_ts": [message.ts for message in streaming],
                "event_ts": self._backend.world.new_ts(),
            },
        )

    async def open_home(self, channel: Channel, *, tab: str = "messages") -> None:
        self._backend.announcer.event(
            self._workspace,
            {
                "type": "app_home_opened",
                "user": self.id,
                "channel": channel.id,
                "tab": tab,
                "event_ts": self._backend.world.new_ts(),
            },
        )

    def _enter(self, channel: Channel) -> None:
        if self.id in channel.members:
            return
        channel.members.append(self.id)

    def _written(self, text: str) -> str:
        return text.replace(BOT_PLACEHOLDER, self._workspace.bot.mention)

    def _stored(self, message: Pressable) -> Message:
        if isinstance(message, Message):
            return message
        stored = self._workspace.channels[message.channel_id].messages.get(message.ts)
        if stored is None:
            raise NotShownError(f"message {message.ts} is gone")
        return stored

    def _look(self, message: Pressable) -> ShownMessage:
        if isinstance(message, ShownMessage):
            return message
        return shown_message(self._workspace, message)

    def _trigger(self) -> str:
        return self._backend.triggers.issue(team_id=self._workspace.id, user_id=self.id)

    def _payload(self, kind: str) -> Json:
        return interaction(self._workspace, self._account, kind, self._trigger())

    def _action(self, block_id: str, element: Json, entry: Json) -> Json:
        action = {k: v for k, v in entry.items() if v is not None}
        for name in ("text", "placeholder", "style", "confirm"):
            if name in element and element["type"] != "feedback_buttons":
                action[name] = element[name]
        return action | {
            "action_id": element["action_id"],
            "block_id": block_id,
            "type": element["type"],
            "action_ts": self._backend.world.new_ts(),
        }

    async def _act(
        self, shown: ShownMessage, control: Control, entry: Json, *, wait: bool
    ) -> Delivery:
        channel = self._workspace.channels[shown.channel_id]
        container: Json = {
            "type": "message",
            "message_ts": shown.ts,
            "channel_id": channel.id,
            "is_ephemeral": shown.is_ephemeral,
        }
        if shown.thread_ts is not None:
            container["thread_ts"] = shown.thread_ts
        path = self._backend.triggers.issue_url(
            team_id=self._workspace.id,
            user_id=self.id,
            channel_id=channel.id,
            message_ts=shown.ts,
            thread_ts=shown.thread_ts,
        )
        name = "directmessage" if channel.kind is ChannelKind.IM else channel.name
        payload = self._payload("block_actions") | {
            "container": container,
            "channel": {"id": channel.id, "name": name},
            "state": {"values": {}},
            "response_url": f"{self._backend.origin}{path}",
            "actions": [self._action(control.block_id, control.element, entry)],
        }
        if not shown.is_ephemeral:
            stored = self._stored(shown)
            if control.element["type"] != "button":
                stored.selections[control.block_id, control.action_id] = entry
            for (block_id, action_id), chosen in stored.selections.items():
                payload["state"]["values"].setdefault(block_id, {})[action_id] = chosen
            payload["message"] = message_json(self._workspace, stored)
        return await self._interact(payload, wait=wait)

    async def _interact(
        self, payload: Json, *, kind: DeliveryKind = DeliveryKind.INTERACTION, wait: bool
    ) -> Delivery:
        delivery = Delivery(id=payload.get("trigger_id") or "view_closed", kind=kind, body=payload)
        self._backend.announcer.send(delivery)
        if wait:
            await delivery.done.wait()
        return delivery


class OtherBot:
    """A bot of another app: it writes, and its messages reach the app under test."""

    def __init__(self, backend: Backend, workspace: Workspace, install: BotInstall) -> None:
        self._backend = backend
        self._workspace = workspace
        self.install = install

    @property
    def user_id(self) -> str:
        return self.install.user_id

    @property
    def token(self) -> str:
        return self.install.token

    async def say(
        self,
        channel: Channel,
        text: str,
        *,
        thread_ts: str | None = None,
        classic: bool = False,
        blocks: Sequence[Json] = (),
        attachments: Sequence[Json] = (),
    ) -> Message:
        """Write as a bot user, or as a classic integration: subtype bot_message, no user."""
        written = text.replace(BOT_PLACEHOLDER, self._workspace.bot.mention)
        return self._backend.publish(
            self._workspace,
            Message(
                ts=self._backend.world.new_ts(),
                channel_id=channel.id,
                team_id=self._workspace.id,
                user=None if classic else self.install.user_id,
                username=self.install.name if classic else None,
                subtype="bot_message" if classic else None,
                text=written,
                thread_ts=thread_ts,
                bot=self.install,
                blocks=list(blocks),
                attachments=list(attachments),
            ),
        )


def _pressed(element: Json) -> Json:
    pressed: Json = {"type": element["type"]}
    if "value" in element:
        pressed["value"] = element["value"]
    return pressed
