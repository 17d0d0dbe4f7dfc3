"""No life of a chat, however it goes, breaks a promise of the machine."""

from dataclasses import dataclass, field
from uuid import UUID

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from engine.chat import commands as c
from engine.chat.content import Role, plain, text_of
from engine.chat.decision import Decision, Effect, Refusal
from engine.chat.ids import ChatId, MessageId, QueuedId, RunnerId
from engine.chat.writes import ActionState, QueueNotification
from tests.unit.engine.chat.model import WORKS, ChatModel
from tests.unit.engine.chat.promises import broken_promises
from tests.unit.engine.chat.steps import (
    ADA,
    HARBOUR,
    LATER,
    NOW,
    PEOPLE,
    WORKERS,
    Do,
    Sight,
    Step,
    resolve,
    steps,
)

FENCED = (
    c.CommitStep, c.EnterRequiresAction, c.FinishTurn, c.CompactHistory, c.RecordAttempt,
    c.RecordRetry,
)  # fmt: skip


@dataclass
class Told:
    """What people have said that must still be somewhere, each text once."""

    texts: set[str] = field(default_factory=set)

    def update(
        self, command: c.Command, before: dict[MessageId, str], queued: dict[QueuedId, str]
    ) -> None:
        """Follow an accepted command; `before` and `queued` map ids to texts from before it."""
        match command:
            case c.SendMessage():
                self.texts.add(text_of(command.content))
            case c.EditMessage(rerun=True):
                self.texts -= set(queued.values())
                self.texts.add(text_of(command.content))
            case c.EditMessage():
                self.texts.discard(before[command.message_id])
                self.texts.add(text_of(command.content))
            case c.EditQueuedMessage():
                self.texts.discard(queued[command.queued_id])
                self.texts.add(text_of(command.content))
            case c.DeleteQueuedMessage():
                self.texts.discard(queued[command.queued_id])
            case _:
                pass


class ChatLife(RuleBasedStateMachine):
    """One chat, many people, and workers that may be late, wrong or dead."""

    @initialize(backlog=st.sampled_from([0, 0, 1, 2, 19, 20]))
    def create(self, backlog: int) -> None:
        self.count = 0
        self.runners = [RunnerId(UUID(int=0))]
        self.told = Told({"text 0"})
        chat_id = ChatId(UUID(int=1))
        self.chat = ChatModel(
            c.CreateChat(
                chat_id=chat_id,
                content=plain("text 0"),
                author=ADA,
                system_prompt="You are Wren.",
                binding=HARBOUR,
            )
        )
        for _ in range(backlog):
            self.live(Step(do=Do.SEND))
        self.live(Step(do=Do.ACQUIRE))

    @rule(step=steps(PEOPLE))
    def people_act(self, step: Step) -> None:
        self.live(step)

    @rule(step=steps(WORKERS))
    def workers_act(self, step: Step) -> None:
        self.live(step)

    @rule(
        step=steps((Do.COMMIT, Do.ASK, Do.ANSWER, Do.FINISH, Do.SUMMARISE, Do.FINISH_INTERRUPTION))
    )
    def the_turn_goes_on(self, step: Step) -> None:
        self.live(Step(do=Do.ACQUIRE))
        self.live(step)

    def live(self, step: Step) -> None:
        """Take a step, then see that it did only what it may."""
        if step.do is Do.ACQUIRE:
            runner_id = RunnerId(UUID(int=len(self.runners)))
            if self.chat.acquire(runner_id):
                self.runners.append(runner_id)
            return
        if step.do is Do.LOSE_LEASE:
            self.chat.lose_lease()
            return
        self.count += 1
        command = resolve(step, self.sight(), f"text {self.count}")
        assert command is not None
        before = self.chat.view()
        texts = {s.id: text_of(s.message.content) for s in self.chat.history}
        queued = {waiting.id: text_of(waiting.content) for waiting in self.chat.queue}
        stored = {s.id for s in self.chat.live()}
        stale = self.is_stale(command)
        now = LATER if step.pick % 2 else NOW
        outcome = self.chat.submit(command, now)
        if isinstance(outcome, Refusal):
            assert self.chat.view() == before, "a refusal changes nothing"
            return
        assert not stale, "an overtaken worker changes nothing"
        if outcome.effect is Effect.DUPLICATE:
            assert self.chat.view() == before, "a duplicate changes nothing"
            return
        self.told.update(command, texts, queued)
        self.check_order(command, list(queued), stored)
        held = self.chat.lease_live and self.chat.runner_id is not None
        assert outcome.wake == (self.chat.row.status in WORKS and not held), "work finds a worker"
        self.check_exclusions(outcome)
        self.check_notices(outcome)

    def sight(self) -> Sight:
        """The model as steps see it."""
        return Sight(
            message_ids=tuple(stored.id for stored in self.chat.history),
            queued_ids=tuple(waiting.id for waiting in self.chat.queue),
            open_action_ids=tuple(
                action.id for action in self.chat.actions if action.state is ActionState.OPEN
            ),
            open_calls=self.chat.row.open_calls,
            runner_id=self.chat.runner_id,
            old_runner_id=self.runners[-2] if len(self.runners) > 1 else self.runners[0],
            history_version=self.chat.history_version,
        )

    def is_stale(self, command: c.Command) -> bool:
        """Whether the command is a worker's that was overtaken."""
        fence = getattr(command, "fence", None)
        if fence is None:
            return False
        if fence.runner_id != self.chat.runner_id:
            return True
        old = fence.history_version not in (None, self.chat.history_version)
        return old and isinstance(command, FENCED)

    def check_order(
        self, command: c.Command, queued: list[QueuedId], stored: set[MessageId]
    ) -> None:
        """The queue is first in, first out, and a person's message ends what is inserted."""
        after = [waiting.id for waiting in self.chat.queue]
        named = getattr(command, "queued_id", None)
        if isinstance(command, c.PromoteQueuedMessage | c.DeleteQueuedMessage):
            queued = [queued_id for queued_id in queued if queued_id != named]
            assert after in (queued, [named, *queued])
        elif isinstance(command, c.EditMessage) and command.rerun:
            assert after == []
        else:
            kept = [queued_id for queued_id in queued if queued_id in after]
            assert kept in (queued, queued[1:]), "only the head leaves"
            assert after[: len(kept)] == kept, "what is new waits behind"
        new = [s.message for s in self.chat.live() if s.id not in stored]
        roles = [message.role for message in new if message.summary_of is None]
        assert Role.USER not in roles[:-1], "what the turn had to say stands before the message"

    def check_exclusions(self, outcome: Decision) -> None:
        """A status that nobody works in has nobody working."""
        if outcome.row.status not in WORKS:
            assert self.chat.runner_id is None

    def check_notices(self, outcome: Decision) -> None:
        """The owner is told once at most, and only of a chat that has come to rest."""
        told = [write for write in outcome.writes if isinstance(write, QueueNotification)]
        assert len(told) <= (outcome.row.status not in WORKS)

    @invariant()
    def every_promise_is_kept(self) -> None:
        if hasattr(self, "chat"):
            assert broken_promises(self.chat.view()) == []

    @invariant()
    def nothing_said_is_lost_or_doubled(self) -> None:
        if hasattr(self, "chat"):
            said = [
                text_of(stored.message.content)
                for stored in self.chat.history
                if stored.message.role is Role.USER and stored.message.summary_of is None
            ]
            said += [text_of(waiting.content) for waiting in self.chat.queue]
            assert len(said) == len(set(said))
            assert self.told.texts <= set(said)


class TestChatLife(ChatLife.TestCase):  # type: ignore[misc, valid-type]
    """E58: the pure core keeps every invariant over random commands."""

    settings = settings(max_examples=150, stateful_step_count=60, deadline=None)
