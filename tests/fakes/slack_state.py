"""Owns what a fake workspace holds (accounts, channels, messages, views); promises unique, rising timestamps."""

from __future__ import annotations

import asyncio
import copy
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from tests.fakes.slack_clock import SlackClock
from tests.fakes.slack_stream_state import LiveStream, StreamState

Json = dict[str, Any]

ALL_SCOPES = frozenset(
    [
        "app_mentions:read",
        "assistant:write",
        "channels:history",
        "channels:join",
        "channels:read",
        "chat:write",
        "commands",
        "files:read",
        "files:write",
        "groups:history",
        "groups:read",
        "im:history",
        "im:read",
        "im:write",
        "mpim:history",
        "mpim:read",
        "usergroups:read",
        "mpim:write",
        "reactions:read",
        "reactions:write",
        "team:read",
        "users:read",
        "users:read.email",
    ]
)


class ChannelKind(StrEnum):
    """The `channel_type` of message events, and the word scopes and listings derive from."""

    CHANNEL = "channel"
    GROUP = "group"
    IM = "im"
    MPIM = "mpim"


@dataclass(slots=True, kw_only=True, eq=False)
class Account:
    """A person or a bot user of one workspace."""

    id: str
    name: str
    team_id: str
    bot_id: str | None = None
    app_id: str | None = None
    deleted: bool = False

    @property
    def username(self) -> str:
        return self.name.lower().replace(" ", ".")

    @property
    def email(self) -> str:
        return f"{self.username}@example.com"


@dataclass(slots=True, kw_only=True, eq=False)
class BotInstall:
    """One app installed in one workspace: its bot user, its token and what the token may do."""

    app_id: str
    bot_id: str
    user_id: str
    name: str
    team_id: str
    token: str
    scopes: set[str]

    @property
    def mention(self) -> str:
        return f"<@{self.user_id}>"


@dataclass(slots=True, kw_only=True, eq=False)
class FileRecord:
    """A file. `shown` overrides what Slack tells of it; `in_events` is all that events tell.

    `redirect`: where its address sends those who may have it.
    """

    id: str
    name: str
    mimetype: str
    content: bytes
    user: str
    created: int
    url_private: str
    shown: Json = field(default_factory=dict)
    in_events: Json | None = None
    redirect: str = ""


@dataclass(slots=True, kw_only=True, eq=False)
class Message:
    """A message as the platform stores it. `visible_to` marks an ephemeral one."""

    ts: str
    channel_id: str
    team_id: str
    user: str | None
    text: str
    blocks: list[Json] = field(default_factory=list)
    attachments: list[Json] = field(default_factory=list)
    thread_ts: str | None = None
    bot: BotInstall | None = None
    subtype: str | None = None
    username: str | None = None
    client_msg_id: str | None = None
    edited_by: str | None = None
    edited_ts: str | None = None
    edits: int = 0
    reactions: dict[str, list[str]] = field(default_factory=dict)
    files: list[FileRecord] = field(default_factory=list)
    metadata: Json | None = None
    visible_to: str | None = None
    selections: dict[tuple[str, str], Json] = field(default_factory=dict)
    stream: LiveStream | None = None

    def snapshot(self) -> Message:
        """A copy that later edits of the original do not touch."""
        twin = copy.copy(self)
        twin.blocks = copy.deepcopy(self.blocks)
        twin.attachments = copy.deepcopy(self.attachments)
        twin.reactions = {name: list(users) for name, users in self.reactions.items()}
        twin.stream = copy.deepcopy(self.stream)
        return twin

    def is_streaming_at(self, now: float) -> bool:
        return self.stream is not None and self.stream.look(now) is StreamState.LIVE

    def end_stream(self, state: StreamState) -> None:
        if self.stream is not None:
            self.stream.state = state

    @property
    def is_reply(self) -> bool:
        return self.thread_ts is not None and self.thread_ts != self.ts


@dataclass(slots=True, kw_only=True, eq=False)
class Channel:
    """A channel, private channel or direct message; `members` holds user ids."""

    id: str
    name: str
    kind: ChannelKind
    team_id: str
    created: int
    members: list[str] = field(default_factory=list)
    is_archived: bool = False
    is_ext_shared: bool = False
    messages: dict[str, Message] = field(default_factory=dict)

    @property
    def link(self) -> str:
        return f"<#{self.id}|{self.name}>"

    def replies(self, root_ts: str) -> list[Message]:
        """The replies of one thread, oldest first, without the root."""
        return [m for m in self.messages.values() if m.is_reply and m.thread_ts == root_ts]

    def top_level(self) -> list[Message]:
        """What the channel itself shows, oldest first: roots and broadcast replies."""
        return [
            m for m in self.messages.values() if not m.is_reply or m.subtype == "thread_broadcast"
        ]


@dataclass(slots=True, kw_only=True, eq=False)
class View:
    """A modal one person has open; `errors` is what the last submission was refused with."""

    id: str
    user_id: str
    content: Json
    hash: str
    root_view_id: str
    previous_view_id: str | None
    bot: BotInstall
    errors: dict[str, str] = field(default_factory=dict)
    is_open: bool = True

    @property
    def title(self) -> str:
        return str(self.content.get("title", {}).get("text", ""))

    @property
    def private_metadata(self) -> str:
        return str(self.content.get("private_metadata", ""))

    @property
    def blocks(self) -> list[Json]:
        return list(self.content.get("blocks", []))


@dataclass(slots=True, kw_only=True)
class ThreadExtras:
    """What an agent sets about a thread beside messages."""

    status: str = ""
    status_at: float = 0.0
    loading_messages: list[str] = field(default_factory=list)
    title: str = ""
    prompts: list[Json] = field(default_factory=list)
    session_status: str = ""


@dataclass(slots=True, kw_only=True, eq=False)
class Workspace:
    """One team with everything in it; `bot` is the install of the app under test."""

    id: str
    domain: str
    name: str
    bot: BotInstall
    # The organization it belongs to, and whether that has installed the app as a whole.
    enterprise_id: str | None = None
    is_org_install: bool = False
    accounts: dict[str, Account] = field(default_factory=dict)
    bots: dict[str, BotInstall] = field(default_factory=dict)
    channels: dict[str, Channel] = field(default_factory=dict)
    files: dict[str, FileRecord] = field(default_factory=dict)
    ephemerals: list[Message] = field(default_factory=list)
    views: dict[str, View] = field(default_factory=dict)
    stacks: dict[str, list[View]] = field(default_factory=dict)
    homes: dict[str, Json] = field(default_factory=dict)
    # Handle and members by id.
    usergroups: dict[str, tuple[str, list[str]]] = field(default_factory=dict)
    threads: dict[tuple[str, str], ThreadExtras] = field(default_factory=dict)

    def account_named(self, name: str) -> Account | None:
        return next((a for a in self.accounts.values() if a.name == name), None)

    def channel_named(self, name: str) -> Channel | None:
        wanted = name.removeprefix("#")
        return next((c for c in self.channels.values() if c.name == wanted), None)

    def direct_message(self, user_id: str, bot: BotInstall) -> Channel | None:
        pair = {user_id, bot.user_id}
        ims = (c for c in self.channels.values() if c.kind is ChannelKind.IM)
        return next((c for c in ims if set(c.members) == pair), None)

    def extras(self, channel_id: str, thread_ts: str) -> ThreadExtras:
        return self.threads.setdefault((channel_id, thread_ts), ThreadExtras())

    def bot_by_bot_id(self, bot_id: str) -> BotInstall | None:
        return next((b for b in self.bots.values() if b.bot_id == bot_id), None)


class World:
    """All workspaces, the source of ids and timestamps, and the bell that rings on every change."""

    def __init__(self, clock: SlackClock) -> None:
        self.clock = clock
        self.workspaces: dict[str, Workspace] = {}
        self._serial = 0
        self._last_ts_micros = 0
        self._bell = asyncio.Event()

    def new_id(self, prefix: str) -> str:
        self._serial += 1
        return f"{prefix}0{self._serial:08X}"

    def new_ts(self) -> str:
        micros = max(int(self.clock.now() * 1_000_000), self._last_ts_micros + 1)
        self._last_ts_micros = micros
        return f"{micros // 1_000_000}.{micros % 1_000_000:06d}"

    def touch(self) -> None:
        """Wake everyone who waits for the world to look different."""
        bell, self._bell = self._bell, asyncio.Event()
        bell.set()

    async def changed(self) -> None:
        await self._bell.wait()

    def install_for(self, token: str) -> tuple[Workspace, BotInstall] | None:
        for workspace in self.workspaces.values():
            for bot in workspace.bots.values():
                if bot.token == token:
                    return workspace, bot
        return None

    def add_workspace(self, team_id: str, *, bot_name: str, app_id: str, token: str) -> Workspace:
        placeholder = BotInstall(
            app_id=app_id,
            bot_id=self.new_id("B"),
            user_id=self.new_id("U"),
            name=bot_name,
            team_id=team_id,
            token=token,
            scopes=set(ALL_SCOPES),
        )
        domain = f"harbour-{team_id.lower()}"
        workspace = Workspace(id=team_id, domain=domain, name=f"Harbour {team_id}", bot=placeholder)
        self.workspaces[team_id] = workspace
        self._admit_bot(workspace, placeholder)
        return workspace

    def add_bot(self, workspace: Workspace, name: str, *, app_id: str | None = None) -> BotInstall:
        """Another app's bot in this workspace, with a token of its own."""
        bot = BotInstall(
            app_id=app_id or self.new_id("A"),
            bot_id=self.new_id("B"),
            user_id=self.new_id("U"),
            name=name,
            team_id=workspace.id,
            token=f"xoxb-{workspace.id}-{name.lower()}",
            scopes=set(ALL_SCOPES),
        )
        self._admit_bot(workspace, bot)
        return bot

    def _admit_bot(self, workspace: Workspace, bot: BotInstall) -> None:
        workspace.bots[bot.user_id] = bot
        workspace.accounts[bot.user_id] = Account(
            id=bot.user_id,
            name=bot.name,
            team_id=workspace.id,
            bot_id=bot.bot_id,
            app_id=bot.app_id,
        )

    def add_person(self, workspace: Workspace, name: str, home: str | None = None) -> Account:
        account = Account(id=self.new_id("U"), name=name, team_id=home or workspace.id)
        workspace.accounts[account.id] = account
        self.touch()
        return account

    def add_channel(
        self, workspace: Workspace, name: str, kind: ChannelKind, members: list[str]
    ) -> Channel:
        channel = Channel(
            id=self.new_id("D" if kind is ChannelKind.IM else "C"),
            name=name,
            kind=kind,
            team_id=workspace.id,
            created=int(self.clock.now()),
            members=list(dict.fromkeys(members)),
        )
        workspace.channels[channel.id] = channel
        self.touch()
        return channel

    def open_direct_message(self, workspace: Workspace, user_id: str, bot: BotInstall) -> Channel:
        known = workspace.direct_message(user_id, bot)
        if known is not None:
            return known
        return self.add_channel(workspace, "", ChannelKind.IM, [user_id, bot.user_id])

    def add_file(
        self,
        workspace: Workspace,
        *,
        name: str,
        mimetype: str,
        content: bytes,
        user: str,
        origin: str,
    ) -> FileRecord:
        file_id = self.new_id("F")
        record = FileRecord(
            id=file_id,
            name=name,
            mimetype=mimetype,
            content=content,
            user=user,
            created=int(self.clock.now()),
            url_private=f"{origin}/files-pri/{workspace.id}-{file_id}/{name}",
        )
        workspace.files[file_id] = record
        return record
