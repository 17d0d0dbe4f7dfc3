"""The front door: everything that adapters may ask of the engine, and the types they need for it.

Methods raise StoreUnavailable when the database is out of reach; nothing is half done then.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from engine.chat.actions import RequiredAction
from engine.chat.answerers import GROUP, may_answer
from engine.chat.changes import ChatChange
from engine.chat.chat_query import ChatFilter
from engine.chat.commands import CreateChat, UserCommand
from engine.chat.content import Author, Message, QueuedMessage
from engine.chat.decision import LimitReached, Refusal, RefusalReason
from engine.chat.details import DetailsChange
from engine.chat.files import FileInfo, FileRefusal, NewFile, StoredFile
from engine.chat.ids import ActionId, ChatId, FileId, MessageId
from engine.chat.notification import Notification
from engine.chat.spending import limit_sentence
from engine.chat.view import ChatView
from engine.models.catalog import OfferedProvider
from engine.models.live_catalog import LiveCatalog, ModelChoice
from engine.store.bindings import Binding, Bindings
from engine.store.catalog import Catalog
from engine.store.catalog_checks import MODEL_FIELDS, PROVIDER_FIELDS
from engine.store.catalog_entries import (
    ModelInfo,
    ProviderInfo,
    Rejection,
    RejectionReason,
)
from engine.store.chat_list import ChatCursor, ChatLists, ListedChat, ListTooSlow
from engine.store.chat_machine import ChatMachine
from engine.store.configuration import ConfigurationVersion
from engine.store.deliveries import Deliveries, Delivery
from engine.store.details import Details
from engine.store.errors import StoreError, StoreUnavailable
from engine.store.feedback import Feedback
from engine.store.files import FileLimits, Files
from engine.store.form_drafts import FormDrafts
from engine.store.inbox import (
    AfterFailure,
    Backlog,
    ClaimedEvent,
    Inbox,
    InboxEvent,
    Received,
    Twin,
)
from engine.store.install_states import InstallStates, Return
from engine.store.installations import (
    AppTokens,
    Installation,
    Installations,
    NewInstallation,
    OpenInstallation,
)
from engine.store.leases import Leases
from engine.store.looks import Looks
from engine.store.notifications import Notifications
from engine.store.outcomes import Applied, Created, Existing
from engine.store.pool import Pool
from engine.store.reads import Reads
from engine.store.receipts import Receipt, Receipts, ReceiptState
from engine.store.recordings import Recording, Recordings
from engine.store.retention import Retention
from engine.store.rows import ChatRows, MessageRef, QueuedRef
from engine.store.side_work import SideWorkRows
from engine.store.spend_limits import (
    LIMIT_MICROS_MAX,
    LimitSubject,
    PeopleGroup,
    SpendLimit,
    SpendLimits,
    Unchanged,
)
from engine.store.spending import Spending, SpendStatus
from engine.store.thread_chats import ChannelChats, ThreadChat, ThreadChatCursor, ThreadChats
from engine.store.tokens import TokenInfo, Tokens
from engine.store.usage import Usage
from engine.store.vault import Vault
from engine.stream.errors import ChatMissing
from engine.stream.follower import ChatFollower
from engine.stream.reasoning import without_reasoning
from engine.stream.relay import Relay
from engine.stream.stream_loop import StreamLoop
from engine.stream.sync import FROM_THE_START
from engine.tools.dynamic import DynamicToolInvalid, parse_dynamic_tools

__all__ = [
    "LIMIT_MICROS_MAX",
    "MODEL_FIELDS",
    "PROVIDER_FIELDS",
    "AfterFailure",
    "AppTokens",
    "Applied",
    "Backlog",
    "Binding",
    "ChannelChats",
    "ChatCursor",
    "ChatFollower",
    "ChatMissing",
    "ClaimedEvent",
    "Created",
    "Delivery",
    "Engine",
    "Existing",
    "InboxEvent",
    "InstallStates",
    "Installation",
    "Installations",
    "LimitSubject",
    "ListTooSlow",
    "ListedChat",
    "MessageRef",
    "ModelChoice",
    "ModelInfo",
    "NewInstallation",
    "OpenInstallation",
    "PeopleGroup",
    "ProviderInfo",
    "QueuedRef",
    "Receipt",
    "ReceiptState",
    "Received",
    "Recording",
    "Rejection",
    "RejectionReason",
    "Return",
    "SpendLimit",
    "SpendStatus",
    "StoreError",
    "StoreUnavailable",
    "ThreadChat",
    "ThreadChatCursor",
    "TokenInfo",
    "Twin",
    "Unchanged",
    "check_dynamic_tools",
]

OnChange = Callable[[ChatChange], None]
OnInbox = Callable[[], None]
ANY_CHAT = ChatFilter()
"""Chats that are not put away."""


class Engine:
    """One replica's engine without its worker. Shared by all adapters of the process."""

    def __init__(
        self,
        pool: Pool,
        relay: Relay,
        *,
        clock: Callable[[], datetime] | None = None,
        file_limits: FileLimits | None = None,
        vault: Vault | None = None,
        settled: Sequence[OfferedProvider] = (),
        shows_reasoning: bool = True,
    ) -> None:
        """`vault` seals secrets; `settled` are the providers that the settings make."""
        self._shows_reasoning = shows_reasoning
        self.relay = relay
        self.machine = ChatMachine(pool, self._publish, clock)
        self.rows = ChatRows(pool)
        self.lists = ChatLists(pool)
        self.details = Details(pool, self._publish)
        self.reads = Reads(pool)
        self.recordings = Recordings(pool)
        self.retention = Retention(pool, self._publish, clock)
        self.leases = Leases(pool)
        self.bindings = Bindings(pool)
        self.form_drafts = FormDrafts(pool)
        self.inbox = Inbox(pool)
        self.deliveries = Deliveries(pool)
        self.receipts = Receipts(pool)
        self.tokens = Tokens(pool)
        self.installations = Installations(pool, vault or Vault())
        self.install_states = InstallStates(pool)
        self.configuration = ConfigurationVersion(pool)
        self.catalog = Catalog(pool, vault, self.configuration)
        self.models = LiveCatalog(self.catalog, self.configuration, settled)
        self.spending = Spending(pool, self.configuration, clock)
        self.limits = SpendLimits(pool, self.configuration)
        self.usage = Usage(pool)
        self.looks = Looks(pool)
        self.thread_chats = ThreadChats(pool)
        self.feedback = Feedback(pool)
        self.files = Files(pool, file_limits)
        self.notifications = Notifications(pool)
        self.side_work = SideWorkRows(pool)
        self.stream = StreamLoop(reader=self.rows, relay=relay, with_reasoning=shows_reasoning)
        self._on_change: tuple[OnChange, ...] = ()
        self._on_inbox: tuple[OnInbox, ...] = ()

    # -- chats -----------------------------------------------------------------------------------

    async def create_chat(self, command: CreateChat) -> Created | Existing | Refusal:
        """Create a chat with its first message; it runs at once, unless a limit is used up."""
        if reached := await self.spending.check_create(command):
            return _over(reached)
        return await self.machine.create(command)

    async def submit(self, chat_id: ChatId, command: UserCommand) -> Applied | Refusal | None:
        """Carry out a person's command, wholly or not at all. None: no such chat.

        Where a limit is used up, what asks a model anew is refused. What is queued already is answered.
        """
        if reached := await self.spending.check_submit(chat_id, command):
            return _over(reached)
        return await self.machine.submit(chat_id, command)

    async def read_chat(self, chat_id: ChatId) -> ChatView | None:
        """One chat without its messages."""
        return await self.rows.read_chat(chat_id)

    async def list_chats(
        self,
        wanted: ChatFilter = ANY_CHAT,
        *,
        identity: str = "",
        after: ChatCursor | None = None,
        limit: int = 50,
    ) -> Sequence[ListedChat]:
        """Chats as this reader sees them, pinned first, then newest first. Raises ListTooSlow."""
        return await self.lists.list_chats(wanted, identity=identity, after=after, limit=limit)

    async def read_listed(self, chat_id: ChatId, identity: str) -> ListedChat | None:
        """One chat as this reader would see it in a list."""
        return await self.lists.read_listed(chat_id, identity)

    async def change_details(self, chat_id: ChatId, wanted: DetailsChange) -> bool | Refusal:
        """Change title, labels, pin or model: all of it, or nothing. False: no such chat."""
        return await self.details.change(chat_id, wanted)

    async def delete_chat(self, chat_id: ChatId) -> bool:
        """Remove a chat for good, whatever it is doing. False: there is no such chat."""
        return await self.retention.delete_chat(chat_id)

    async def request_title(self, chat_id: ChatId, by: Author | None = None) -> Refusal | bool:
        """Have a model name the chat anew, soon. False: there is no such chat.

        A title that a person gave is given up by asking; one that is given meanwhile stays.
        """
        if reached := await self.spending.check_chat(chat_id, by):
            return _over(reached)
        is_asked = await self.side_work.request_title(chat_id)
        return Refusal(reason=RefusalReason.ARCHIVED) if is_asked is False else bool(is_asked)

    async def mark_read(
        self, chat_id: ChatId, identity: str, message_id: MessageId | None = None
    ) -> bool:
        """Note that somebody has read so far, or all there is. False: no such chat."""
        return await self.reads.mark_read(chat_id, identity, message_id)

    async def read_messages(
        self,
        chat_id: ChatId,
        *,
        after: MessageId | None = None,
        before: MessageId | None = None,
        limit: int = 100,
    ) -> Sequence[Message]:
        """Messages that people may see; with `before` alone the newest of them."""
        found = await self.rows.read_messages(chat_id, after=after, before=before, limit=limit)
        return found if self._shows_reasoning else [without_reasoning(each) for each in found]

    async def read_queue(self, chat_id: ChatId) -> Sequence[QueuedMessage]:
        """What waits, in the order in which it will be answered."""
        return await self.rows.read_queue(chat_id)

    async def read_actions(
        self, chat_id: ChatId, *, only_open: bool = True
    ) -> Sequence[RequiredAction]:
        """What people or programs are asked in a chat."""
        return await self.rows.read_actions(chat_id, only_open=only_open)

    async def read_action(self, action_id: ActionId) -> RequiredAction | None:
        """One required action, open or closed."""
        return await self.rows.read_action(action_id)

    async def may_answer(
        self, action: RequiredAction, by: Author, *, groups: frozenset[str] = frozenset()
    ) -> bool:
        """Whether somebody may answer. `groups`: see AnswerAction, which is held against the same rule."""
        answerers = action.answerers
        if answerers is not None and any(each.startswith(GROUP) for each in answerers.groups):
            groups |= await self.rows.groups_of(action.chat_id, by.identity)
        return may_answer(answerers, asker=action.asker, by=by, groups=groups)

    async def find_message_by_source(
        self, chat_id: ChatId, source_key: str
    ) -> MessageRef | QueuedRef | None:
        """The message that came from this platform message, in the history or in the queue."""
        return await self.rows.find_by_source(chat_id, source_key)

    async def known_sources(self, chat_id: ChatId, source_keys: Sequence[str]) -> frozenset[str]:
        """Those of the platform messages that the chat has heard."""
        return await self.rows.known_sources(chat_id, source_keys)

    def follow(self, chat_id: ChatId, *, after_id: MessageId = FROM_THE_START) -> ChatFollower:
        """Everything that happens in a chat from now on, after its full state. Close it."""
        return self.stream.follow(chat_id, after_id)

    def on_change(self, callback: OnChange) -> Callable[[], None]:
        """Be told of every change that this process commits, until the returned call."""
        self._on_change = (*self._on_change, callback)

        def remove() -> None:
            self._on_change = tuple(other for other in self._on_change if other != callback)

        return remove

    # -- files -----------------------------------------------------------------------------------

    async def store_file(
        self, file: NewFile, *, by: Author | None = None
    ) -> FileInfo | FileRefusal:
        """Store a file for a message to come. It goes after a day unless one names it."""
        return await self.files.put(file, created_by=by)

    @property
    def file_bytes_max(self) -> int:
        """The largest file that is taken."""
        return self.files.limits.bytes_max

    async def read_file(self, file_id: FileId) -> StoredFile | None:
        """A file with its bytes. None: there is none, any more."""
        return await self.files.read(file_id)

    async def find_files(self, file_ids: Iterable[FileId]) -> Mapping[FileId, FileInfo]:
        """Those of the files that there are, without their bytes."""
        return await self.files.read_infos(file_ids)

    async def list_files(self, chat_id: ChatId) -> Sequence[FileInfo]:
        """The files of a chat's messages, oldest first."""
        return await self.files.list_of_chat(chat_id)

    # -- notifications ---------------------------------------------------------------------------

    async def claim_notifications(
        self, platform: str, *, claim: UUID, limit: int, seconds: float
    ) -> Sequence[Notification]:
        """Take what owners of a platform's chats are to be told, for so long, oldest first.

        What became of each is told to `notifications`, under the same claim.
        """
        return await self.notifications.claim_ready(
            platform, claim=claim, limit=limit, seconds=seconds
        )

    # -- the inbox -------------------------------------------------------------------------------

    async def receive(self, event: InboxEvent) -> Received:
        """Store a platform's event. After this it may be acknowledged."""
        received = await self.inbox.receive(event)
        for tell in self._on_inbox:
            tell()
        return received

    def on_inbox(self, callback: OnInbox) -> Callable[[], None]:
        """Be told when this process has stored an event, until the returned call."""
        self._on_inbox = (*self._on_inbox, callback)

        def remove() -> None:
            self._on_inbox = tuple(other for other in self._on_inbox if other != callback)

        return remove

    # -- roles -----------------------------------------------------------------------------------

    async def hold_lease(self, name: str, owner: UUID, seconds: float) -> int | None:
        """Hold a singleton role; its fence. None: somebody else holds it."""
        return await self.leases.hold(name, owner, seconds)

    async def release_lease(self, name: str, owner: UUID) -> bool:
        """Let a role go before its time."""
        return await self.leases.release(name, owner)

    def _publish(self, change: ChatChange) -> None:
        self.relay.publish_change(change)
        for tell in self._on_change:
            tell(change)


def _over(reached: LimitReached) -> Refusal:
    return Refusal(reason=RefusalReason.USAGE_LIMIT, detail=limit_sentence(reached), limit=reached)


def check_dynamic_tools(raw: Iterable[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """What is wrong with a chat's own tools: (field, how to mend it) pairs; empty when nothing is."""
    try:
        parse_dynamic_tools(raw)
    except DynamicToolInvalid as error:
        return [(error.field, error.detail)]
    return []
