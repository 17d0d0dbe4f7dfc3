"""Works on one acquired chat to its rest, and puts away what it had in hand when it is stopped.

A runner is one task. Hints stop it at its gate (see work_plan); what happens then is here: an
interrupt stores the partial answer and goes on with the queue, a release gives the chat back
unfinished, an abandoned run stores nothing, since the chat is somebody else's by then.
"""

import logging
from collections.abc import Callable

from engine.agent.gate import Gate, Stopped, StopReason
from engine.agent.lost_preview import lost_preview
from engine.agent.recovery import message_of_calls, recover_calls
from engine.agent.turn import Turn
from engine.agent.turn_state import Overtaken, TurnPorts
from engine.chat.changes import ChatChange
from engine.chat.commands import (
    CommitStep,
    Fence,
    FinishError,
    FinishInterruption,
    ReleaseLease,
)
from engine.chat.content import NewMessage
from engine.chat.decision import Refusal, RefusalReason
from engine.chat.errors import ChatError, ErrorKind
from engine.chat.ids import ChatId, RunnerId
from engine.chat.snapshot import ChatStatus, Snapshot
from engine.chat.synthetic import result_message
from engine.models.redaction import redact
from engine.store.errors import StoreUnavailable
from engine.worker.work_plan import Plan, plan_for

log = logging.getLogger(__name__)

TAKEOVERS_MAX = 50
"""Workers that may take up the same step before it is blamed. A retry counts as two attempts."""


class WorkersLost(Exception):
    """The same step was taken up again and again and never ended: it may be what ends workers."""

    def __str__(self) -> str:
        """What people are told."""
        return "every worker that took it up was lost"


MakeTurn = Callable[[Snapshot, Gate], Turn]
REASON_LENGTH_MAX = 300
"""Characters of an exception that people are shown."""


class Runner:
    """One acquisition of one chat."""

    def __init__(self, snapshot: Snapshot, runner_id: RunnerId, make_turn: MakeTurn) -> None:
        self.runner_id = runner_id
        self._first = snapshot
        self._gate = Gate()
        self._make_turn = make_turn
        self._turn: Turn | None = None
        self._newest_hint: ChatChange | None = None

    @property
    def chat_id(self) -> ChatId:
        """The chat that is worked on."""
        return self._first.chat_id

    def on_change(self, change: ChatChange) -> None:
        """Do what a hint asks for. One that is older than what we know says nothing."""
        if change.snapshot_version <= self._snapshot.snapshot_version:
            return
        newest = self._newest_hint
        if newest is None or newest.snapshot_version < change.snapshot_version:
            self._newest_hint = change
        match plan_for(change, self.runner_id):
            case Plan.GO_ON:
                return
            case Plan.INTERRUPT:
                self._gate.stop(StopReason.INTERRUPT)
            case Plan.ABANDON:
                self._gate.stop(StopReason.ABANDON)

    def stop(self, reason: StopReason) -> None:
        """Stop at the next gate."""
        self._gate.stop(reason)

    async def run(self, ports: TurnPorts) -> None:
        """Work until the chat rests or is not ours. Never raises but for cancellation."""
        try:
            try:
                await self._run(ports)
            except StoreUnavailable:
                self._log(logging.WARNING, "run_given_up", "The database was away for too long.")
                await self._give_back(ports)
        except StoreUnavailable:
            self._log(logging.ERROR, "run_lost", "The database stayed away; the lease runs out.")
        except Exception:  # noqa: BLE001 - the root of the task: even putting the error away failed
            self._log(logging.ERROR, "run_crashed", "A run could not be put away.", trace=True)

    async def _run(self, ports: TurnPorts) -> None:
        interrupting = self._first.status is ChatStatus.INTERRUPTING
        while True:
            try:
                if interrupting and not await self._finish_interruption(ports):
                    return
                await self._work(ports)
            except Stopped as stopped:
                if stopped.reason is not StopReason.INTERRUPT:
                    await self._let_go(ports, stopped.reason)
                    return
            except Overtaken as overtaken:
                if not _is_interrupt(overtaken.refusal):
                    await self._step_aside(ports, overtaken.refusal)
                    return
            except StoreUnavailable:
                raise
            except Exception as error:  # noqa: BLE001 - whatever a run trips over ends in the chat
                await self._fail(ports, error)
                return
            else:
                return
            interrupting = True

    async def _work(self, ports: TurnPorts) -> None:
        if self._turn is None:
            tries_max = 2 * ports.limits.attempts_max + TAKEOVERS_MAX
            if self._first.generation_attempt > tries_max:
                raise WorkersLost
            self._turn = self._make_turn(self._first, self._gate)
        await self._turn.run()

    async def _finish_interruption(self, ports: TurnPorts) -> bool:
        """Put the partial answer away. True: the queue's head is in the history, go on with it."""
        messages = self._in_hand or await self._left_behind(ports)
        outcome = await ports.store.submit(
            self.chat_id, FinishInterruption(fence=self._fence, messages=messages)
        )
        if isinstance(outcome, Refusal):
            await self._step_aside(ports, outcome)
            return False
        self._start_over(outcome.snapshot)
        return outcome.snapshot.status is ChatStatus.RUNNING

    def _start_over(self, snapshot: Snapshot) -> None:
        """Forget the interrupt, unless a newer one has come since it was put away."""
        self._first, self._turn = snapshot, None
        self._gate.reset()
        hint = self._newest_hint
        if hint is not None:
            self.on_change(hint)

    async def _left_behind(self, ports: TurnPorts) -> tuple[NewMessage, ...]:
        """What an earlier runner had in hand when it was lost, as far as it can be found."""
        if self._turn is not None:
            return ()
        results = await self._found_results(ports)
        return results or await lost_preview(ports.relay, self._first)

    async def _found_results(self, ports: TurnPorts) -> tuple[NewMessage, ...]:
        """Results that an earlier runner had in the ledger but could not store any more."""
        open_calls = self._snapshot.open_calls
        if not open_calls:
            return ()
        prompt = await ports.store.read_prompt(self.chat_id)
        message = message_of_calls(prompt.messages, open_calls)
        if message is None:
            return ()
        ledger = await ports.store.read_ledger(self.chat_id, message.id)
        found = recover_calls(message, open_calls, ledger)
        return tuple(result_message(result) for result in found.results)

    # -- leaving ---------------------------------------------------------------------------------

    async def _let_go(self, ports: TurnPorts, reason: StopReason) -> None:
        if reason is StopReason.ABANDON:
            self._log(logging.INFO, "run_abandoned", "The chat is not ours any more.")
            return
        await self._give_back(ports)
        self._log(logging.INFO, "run_released", "The chat was given back unfinished.")

    async def _step_aside(self, ports: TurnPorts, refusal: Refusal) -> None:
        """Leave a chat whose state is not what we thought. What is still ours is given back."""
        await self._release(ports)
        self._log(logging.INFO, "run_overtaken", f"The run was overtaken: {refusal.reason.value}.")

    async def _give_back(self, ports: TurnPorts) -> None:
        """Release the chat, and keep what would be lost with this run.

        A partial answer is kept only where somebody has asked for the interruption; the next worker
        answers anew otherwise. Results of tools are kept in any case.
        """
        if messages := self._in_hand:
            command = FinishInterruption(fence=self._fence, messages=messages)
            outcome = await ports.store.submit(self.chat_id, command)
            results = self._turn.results_in_hand if self._turn is not None else ()
            if isinstance(outcome, Refusal) and results:
                await ports.store.submit(
                    self.chat_id, CommitStep(fence=self._exact_fence, messages=results)
                )
        await self._release(ports)

    async def _release(self, ports: TurnPorts) -> None:
        await ports.store.submit(self.chat_id, ReleaseLease(fence=self._fence))

    async def _fail(self, ports: TurnPorts, error: Exception) -> None:
        self._log(logging.ERROR, "run_failed", "A run ended with an exception.", trace=True)
        reason = redact(f"{type(error).__name__}: {error}")[:REASON_LENGTH_MAX]
        chat_error = ChatError(kind=ErrorKind.INTERNAL, message=f"chat processing failed: {reason}")
        notify = self._turn is not None and self._turn.has_taken_long
        command = FinishError(
            fence=self._exact_fence, error=chat_error, messages=self._in_hand, notify=notify
        )
        try:
            outcome = await ports.store.submit(self.chat_id, command)
        except StoreUnavailable:
            raise
        except Exception:  # noqa: BLE001 - perhaps the messages themselves cannot be stored
            self._log(logging.ERROR, "messages_lost", "A step could not be stored.", trace=True)
            bare = FinishError(fence=self._fence, error=chat_error, notify=notify)
            outcome = await ports.store.submit(self.chat_id, bare)
        if isinstance(outcome, Refusal):
            await self._step_aside(ports, outcome)

    # -- what we know ----------------------------------------------------------------------------

    @property
    def _snapshot(self) -> Snapshot:
        return self._turn.snapshot if self._turn is not None else self._first

    @property
    def _in_hand(self) -> tuple[NewMessage, ...]:
        return self._turn.in_hand() if self._turn is not None else ()

    @property
    def _fence(self) -> Fence:
        return Fence(runner_id=self.runner_id)

    @property
    def _exact_fence(self) -> Fence:
        return Fence(runner_id=self.runner_id, history_version=self._snapshot.history_version)

    def _log(self, level: int, action: str, message: str, *, trace: bool = False) -> None:
        extra = {"action": action, "chat_id": str(self.chat_id)}
        log.log(level, message, extra=extra, exc_info=trace)


def _is_interrupt(refusal: Refusal) -> bool:
    return (
        refusal.reason is RefusalReason.STATUS_CHANGED
        and refusal.detail == ChatStatus.INTERRUPTING.value
    )
