"""Owns one workspace as tests see it: its people, channels and bots by name, and what its screens show."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from tests.fakes.slack_backend import Backend
from tests.fakes.slack_content import Content
from tests.fakes.slack_people import OtherBot, Person
from tests.fakes.slack_shown import ShownMessage, shown_message
from tests.fakes.slack_state import (
    BotInstall,
    Channel,
    ChannelKind,
    FileRecord,
    Message,
    ThreadExtras,
    View,
    Workspace,
)

Json = dict[str, Any]

STATUS_LIFE_SECONDS = 120.0


class HasUserId(Protocol):
    """A person, the app's bot or another bot."""

    @property
    def user_id(self) -> str: ...


class Team:
    """One workspace. Asking twice for the same name gives the same person, channel or bot."""

    def __init__(self, backend: Backend, workspace: Workspace) -> None:
        self._backend = backend
        self.workspace = workspace

    @property
    def id(self) -> str:
        return self.workspace.id

    @property
    def bot(self) -> BotInstall:
        """The app under test, as installed here; `bot.token` is its token."""
        return self.workspace.bot

    def user(self, name: str, *, home: str | None = None) -> Person:
        """The person of that name; a new one may be at home in another workspace."""
        account = self.workspace.account_named(name)
        if account is None:
            account = self._backend.world.add_person(self.workspace, name, home)
        return Person(self._backend, self.workspace, account)

    def channel(
        self,
        name: str,
        *,
        members: Iterable[HasUserId] | None = None,
        kind: ChannelKind = ChannelKind.CHANNEL,
    ) -> Channel:
        """The channel of that name; a new one has the app's bot in it unless members are named."""
        known = self.workspace.channel_named(name)
        if known is not None:
            if members is not None:
                known.members = list(dict.fromkeys(m.user_id for m in members))
            return known
        people: Iterable[HasUserId] = (self.bot,) if members is None else members
        ids = [person.user_id for person in people]
        return self._backend.world.add_channel(self.workspace, name, kind, ids)

    def dm(self, person: Person) -> Channel:
        return self._backend.world.open_direct_message(self.workspace, person.id, self.bot)

    def other_bot(self, name: str) -> OtherBot:
        known = next((b for b in self.workspace.bots.values() if b.name == name), None)
        install = known or self._backend.world.add_bot(self.workspace, name)
        return OtherBot(self._backend, self.workspace, install)

    def file(
        self,
        name: str,
        content: bytes,
        *,
        mimetype: str = "text/plain",
        owner: HasUserId | None = None,
    ) -> FileRecord:
        user = (owner or self.bot).user_id
        return self._backend.world.add_file(
            self.workspace,
            name=name,
            mimetype=mimetype,
            content=content,
            user=user,
            origin=self._backend.origin,
        )

    def usergroup(self, handle: str, *members: HasUserId) -> str:
        """A user group of these people; its id. Naming it again changes who is in it."""
        known = (i for i, (name, _) in self.workspace.usergroups.items() if name == handle)
        group_id = next(known, None) or self._backend.world.new_id("S")
        self.workspace.usergroups[group_id] = (handle, [member.user_id for member in members])
        return group_id

    async def join(self, channel: Channel, member: HasUserId, *, inviter: HasUserId) -> None:
        """Add a member and tell the app, as an invitation does."""
        if member.user_id not in channel.members:
            channel.members.append(member.user_id)
        self._backend.announcer.joined(
            self.workspace, channel, user_id=member.user_id, inviter=inviter.user_id
        )
        self._backend.world.touch()

    async def unfurl(self, message: Message, *, title: str = "A page") -> None:
        """The platform adds a link preview: an edit nobody made."""
        attachment: Json = {
            "id": 1,
            "fallback": title,
            "title": title,
            "from_url": "https://example.com",
        }
        content = Content(text=None, blocks=None, attachments=[attachment], metadata=None)
        self._backend.revise(self.workspace, message, content, edited_by=None)

    def thread(self, channel: Channel, root: str | Message | ShownMessage) -> list[ShownMessage]:
        """What the thread pane shows: the root, then the replies, oldest first."""
        ts = root if isinstance(root, str) else root.ts
        first = channel.messages.get(ts)
        messages = ([first] if first is not None else []) + channel.replies(ts)
        return [shown_message(self.workspace, m) for m in messages]

    def replies(self, channel: Channel, root: str | Message | ShownMessage) -> list[ShownMessage]:
        """The thread without its root."""
        ts = root if isinstance(root, str) else root.ts
        return [m for m in self.thread(channel, root) if m.ts != ts]

    def timeline(self, channel: Channel) -> list[ShownMessage]:
        """What the channel itself shows, oldest first."""
        return [shown_message(self.workspace, m) for m in channel.top_level()]

    def ephemerals(self, person: Person) -> list[ShownMessage]:
        """What only this person sees, oldest first."""
        seen = [m for m in self.workspace.ephemerals if m.visible_to == person.id]
        return [shown_message(self.workspace, m) for m in seen]

    def modal(self, person: Person) -> View | None:
        return person.open_view()

    def extras(self, channel: Channel, root: str | Message) -> ThreadExtras:
        """What the app has set about the thread beside messages."""
        return self.workspace.extras(channel.id, root if isinstance(root, str) else root.ts)

    def status(self, channel: Channel, root: str | Message) -> str:
        """The thread's "is thinking" line; Slack takes it down after two minutes or a reply."""
        ts = root if isinstance(root, str) else root.ts
        extras = self.workspace.extras(channel.id, ts)
        is_fresh = self._backend.clock.now() - extras.status_at < STATUS_LIFE_SECONDS
        return extras.status if is_fresh else ""
