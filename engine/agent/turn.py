"""Runs a chat until it rests: ask the model, store the step, run tools or ask people, and again.

Theory of operation. A Turn owns nothing durable: every fact goes through the chat machine, fenced by
the runner's id and the history that the step was made from. What is in hand but not yet stored (a
stream, finished results, a step whose commit was refused) can be had at any time from `in_hand`, so
that whoever stops the run loses nothing. The turn waits only inside its gate; between gates it
commits, and a commit is never torn.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from engine.agent.brain import Brain
from engine.agent.gate import Gate, StopReason
from engine.agent.live_parts import live_parts
from engine.agent.ports import TurnStore
from engine.agent.prompt import compose_prompt
from engine.agent.recovery import message_of_calls, recover_calls
from engine.agent.step import (
    STEPS_MAX,
    StepPlan,
    has_side_effects,
    new_action,
    open_call,
    partial_message,
    plan_step,
)
from engine.chat.changes import Episode
from engine.chat.commands import (
    Command,
    CommitStep,
    EnterRequiresAction,
    Fence,
    FinishError,
    FinishTurn,
    RecordAttempt,
    RecordRetry,
)
from engine.chat.content import Finish, Message, NewMessage, ToolCallPart, ToolResultPart
from engine.chat.decision import Refusal, RefusalReason
from engine.chat.errors import ChatError, ErrorKind, RetryState
from engine.chat.ids import MessageId
from engine.chat.snapshot import ChatStatus, Executor, Snapshot
from engine.chat.synthetic import result_message
from engine.models.model import ModelFailure, ModelStream
from engine.models.parts import StreamResult
from engine.models.retry import delay_seconds
from engine.store.errors import StoreError
from engine.store.outcomes import Applied
from engine.stream.part_buffer import EpisodeWriter
from engine.stream.relay import Relay
from engine.tools.invocation import Invoker
from engine.tools.registry import ToolSet
from engine.tools.truncation import result_budget

log = logging.getLogger(__name__)
_LOST = RefusalReason.LEASE_LOST


class Overtaken(Exception):
    """The chat machine refused a report: another worker, an edit or an interrupt came first."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.reason.value)
        self.refusal = refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnLimits:
    """How far a turn may go. Seconds; `attempts_max` model calls for one answer."""

    action_timeout_seconds: float = 86_400.0
    attempts_max: int = 25
    steps_max: int = STEPS_MAX


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnPorts:
    """What turns share: the store, the relay, time."""

    store: TurnStore
    relay: Relay
    now: Callable[[], datetime]
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    limits: TurnLimits = TurnLimits()


class Turn:
    """The work on one acquired chat. Not to be used again after it raised."""

    def __init__(
        self, *, snapshot: Snapshot, brain: Brain, tools: ToolSet, gate: Gate, ports: TurnPorts
    ) -> None:
        self.snapshot = snapshot
        self._brain = brain
        self._tools = tools
        self._gate = gate
        self._ports = ports
        self._stream: ModelStream | None = None
        self._began = 0.0
        self._results: list[ToolResultPart] = []
        # Invariant: what a refused or failed commit was about to store; empty once it is stored.
        self._unstored: tuple[NewMessage, ...] = ()

    @property
    def fence(self) -> Fence:
        """Who reports, and on which history. Only a turn of a chat that has a runner exists."""
        runner_id = self.snapshot.runner_id
        if runner_id is None:
            raise Overtaken(Refusal(reason=_LOST))
        return Fence(runner_id=runner_id, history_version=self.snapshot.history_version)

    def in_hand(self, finish: Finish = Finish.INTERRUPTED) -> tuple[NewMessage, ...]:
        """Everything streamed or finished that is not stored yet, as messages to store."""
        streamed: tuple[NewMessage, ...] = ()
        if self._stream is not None:
            streamed = partial_message(
                self._stream.result(),
                finish,
                model_name=self._brain.model_name,
                runtime_ms=self._runtime_ms(),
            )
        return (*self._unstored, *streamed, *self.results_in_hand)

    @property
    def results_in_hand(self) -> tuple[NewMessage, ...]:
        """Results of finished calls of a stored step, while others of it still run."""
        return tuple(result_message(result) for result in self._results)

    async def run(self) -> None:
        """Work until the chat waits, asks or is in error. Raises Stopped or Overtaken."""
        if self.snapshot.open_calls and await self._resume_calls():
            return
        if self.snapshot.compaction_requested and await self._put_compaction_away():
            return
        steps = 0
        while True:
            steps += 1
            if steps > self._ports.limits.steps_max:
                await self._fail(_too_many_steps(self._ports.limits.steps_max), ())
                return
            try:
                result = await self._answer()
            except ModelFailure as failure:
                finish = _finish_of(failure.partial)
                await self._fail(failure.error, self.in_hand(finish))
                return
            plan = self._plan(result)
            if plan.calls:
                if await self._take_step(plan):
                    return
            else:
                await self._commit(FinishTurn(fence=self.fence, messages=(plan.assistant,)))
                if self.snapshot.status is not ChatStatus.RUNNING:
                    return
                steps = 0

    async def _put_compaction_away(self) -> bool:
        """Nobody spoke, so nobody is answered: a request to summarise asks the model for no reply."""
        await self._commit(FinishTurn(fence=self.fence))
        return self.snapshot.status is not ChatStatus.RUNNING

    # -- the model -------------------------------------------------------------------------------

    async def _answer(self) -> StreamResult:
        """A whole answer, after as many attempts as it takes. Raises ModelFailure."""
        failures = 0
        while True:
            try:
                return await self._attempt()
            except ModelFailure as failure:
                failures += 1
                delay = self._delay(failure, failures)
                if delay is None:
                    raise
                await self._wait_to_retry(failure.error, failures, delay)

    async def _attempt(self) -> StreamResult:
        messages = await self._read_history()
        stream = self._brain.model.stream(compose_prompt(self._brain, messages, self._tools))
        del messages  # A long answer should not hold a long history in memory.
        writer = self._open_episode()
        self._stream, self._began = stream, time.monotonic()
        try:
            with self._gate:
                async with stream:
                    async for parts in stream:
                        writer.append(live_parts(parts))
        finally:
            writer.close()
        return stream.result()

    def _delay(self, failure: ModelFailure, failures: int) -> float | None:
        """Seconds until the next attempt; None: there is none."""
        if not failure.error.retryable or failures >= self._ports.limits.attempts_max:
            return None
        return delay_seconds(failures, failure.retry_after_seconds)

    async def _wait_to_retry(self, error: ChatError, failures: int, delay: float) -> None:
        until = self._ports.now() + timedelta(seconds=delay)
        retry = RetryState(
            attempt=failures,
            delay_ms=round(delay * 1000),
            retrying_at=until.timestamp(),
            error=error,
        )
        await self._commit(RecordRetry(fence=self.fence, retry=retry))
        extra = {
            "action": "model_retry",
            "chat_id": str(self.snapshot.chat_id),
            "kind": error.kind.value,
            "attempt": failures,
        }
        log.info("The model will be asked again.", extra=extra)
        with self._gate:
            await self._ports.sleep(delay)
        await self._commit(RecordAttempt(fence=self.fence))

    def _plan(self, result: StreamResult) -> StepPlan:
        plan = plan_step(
            result,
            self._tools,
            model_name=self._brain.model_name,
            runtime_ms=self._runtime_ms(),
        )
        self._stream = None
        self._unstored = (plan.assistant,)
        return plan

    # -- tools -----------------------------------------------------------------------------------

    async def _take_step(self, plan: StepPlan) -> bool:
        """Store the step and answer its calls. True: people or programs are asked, we rest."""
        applied = await self._commit(
            CommitStep(
                fence=self.fence,
                messages=(plan.assistant,),
                open_calls=plan.open_calls,
                reserve=plan.reserve,
            )
        )
        return await self._answer_calls(plan.calls, applied.message_ids[-1], ())

    async def _resume_calls(self) -> bool:
        """Go on with the calls that an earlier runner left open. True: we rest."""
        messages = await self._read_history()
        message = message_of_calls(messages, self.snapshot.open_calls)
        if message is None:
            return False
        ledger = await self._ports.store.read_ledger(self.snapshot.chat_id, message.id)
        found = recover_calls(message, self.snapshot.open_calls, ledger, self._has_side_effects)
        return await self._answer_calls(found.calls, found.message_id, found.results)

    async def _answer_calls(
        self,
        calls: Sequence[ToolCallPart],
        message_id: MessageId,
        found: tuple[ToolResultPart, ...],
    ) -> bool:
        """Run local calls side by side, ask for the others, store what is known."""
        local = [call for call in calls if self._executor(call) is Executor.LOCAL]
        dynamic = [call for call in calls if self._executor(call) is not Executor.LOCAL]
        self._results = list(found)
        await self._run_local(local, message_id)
        order = {call.tool_call_id: index for index, call in enumerate(calls)}
        results = sorted(self._results, key=lambda result: order.get(result.tool_call_id, -1))
        self._unstored = tuple(result_message(result) for result in results)
        self._results = []
        if not dynamic:
            await self._commit(CommitStep(fence=self.fence, messages=self._unstored))
            return False
        await self._commit(self._ask(dynamic))
        return True

    async def _run_local(self, calls: Sequence[ToolCallPart], message_id: MessageId) -> None:
        if not calls:
            return
        chat_id, runner_id = self.snapshot.chat_id, self.fence.runner_id
        store = self._ports.store
        risky = {call.tool_call_id for call in calls if self._has_side_effects(call)}
        self._gate.check()
        if risky and not await store.mark_started(chat_id, message_id, tuple(risky), runner_id):
            raise Overtaken(Refusal(reason=_LOST))
        invoker = Invoker(
            chat_id=chat_id,
            tools=self._tools,
            result_bytes_max=result_budget(self._brain.context_limit),
        )
        writer = self._open_episode()

        async def run(call: ToolCallPart) -> None:
            result = await invoker.run(call)
            self._results.append(result)
            writer.append((result,))
            if call.tool_call_id not in risky:
                return
            try:
                await store.mark_finished(chat_id, message_id, result, runner_id)
            except StoreError:
                # The step that stores the result is what counts; this only helps after a crash.
                extra = {"action": "ledger_behind", "chat_id": str(chat_id)}
                log.warning("A call's result is not in the ledger.", extra=extra, exc_info=True)

        try:
            with self._gate.sparing(StopReason.RELEASE):
                async with asyncio.TaskGroup() as group:
                    for call in calls:
                        group.create_task(run(call))
        finally:
            writer.close()

    def _ask(self, calls: Sequence[ToolCallPart]) -> EnterRequiresAction:
        seconds = [self._timeout_seconds(call) for call in calls]
        return EnterRequiresAction(
            fence=self.fence,
            messages=self._unstored,
            open_calls=tuple(open_call(call, self._tools) for call in calls),
            actions=tuple(new_action(call, self._tools) for call in calls),
            deadline_at=self._ports.now() + timedelta(seconds=min(seconds)),
        )

    def _timeout_seconds(self, call: ToolCallPart) -> float:
        definition = self._tools.definition(call.tool_name)
        own = definition.timeout_seconds if definition else None
        return own or self._ports.limits.action_timeout_seconds

    def _has_side_effects(self, call: ToolCallPart) -> bool:
        return has_side_effects(self._tools.definition(call.tool_name))

    def _executor(self, call: ToolCallPart) -> Executor:
        definition = self._tools.definition(call.tool_name)
        return definition.executor if definition else Executor.LOCAL

    # -- reports ---------------------------------------------------------------------------------

    async def _fail(self, error: ChatError, messages: tuple[NewMessage, ...]) -> None:
        await self._commit(FinishError(fence=self.fence, error=error, messages=messages))

    async def _read_history(self) -> Sequence[Message]:
        """The history that the step is made from; an edit that came first overtakes the turn."""
        prompt = await self._ports.store.read_prompt(self.snapshot.chat_id)
        if prompt.history_version != self.snapshot.history_version:
            raise Overtaken(Refusal(reason=RefusalReason.HISTORY_CHANGED))
        return prompt.messages

    async def _commit(self, command: Command) -> Applied:
        outcome = await self._ports.store.submit(self.snapshot.chat_id, command)
        if isinstance(outcome, Refusal):
            raise Overtaken(outcome)
        self.snapshot = outcome.snapshot
        self._unstored = ()
        self._stream = None
        return outcome

    def _open_episode(self) -> EpisodeWriter:
        episode = Episode(
            history_version=self.snapshot.history_version,
            attempt=self.snapshot.generation_attempt,
        )
        return self._ports.relay.open_episode(self.snapshot.chat_id, episode)

    def _runtime_ms(self) -> int:
        return round((time.monotonic() - self._began) * 1000)


def _finish_of(partial: StreamResult) -> Finish:
    return Finish.ERROR if partial.finish is Finish.ERROR else Finish.INCOMPLETE


def _too_many_steps(steps_max: int) -> ChatError:
    return ChatError(
        kind=ErrorKind.GENERIC,
        message=f"The turn was ended after {steps_max} steps. Send a message to go on.",
    )
