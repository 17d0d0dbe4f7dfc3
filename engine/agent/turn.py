"""Runs a chat until it rests: ask the model, store the step, run tools or ask people, and again.

The turn waits only inside its gate; between gates it commits, and a commit is never torn.
"""

from datetime import datetime
from typing import assert_never

from engine.agent.answering import answer
from engine.agent.brain import Equip, Equipment
from engine.agent.calling import Calling
from engine.agent.compacting import Compacting
from engine.agent.compaction import PAUSES_MAX, STILL_TOO_LONG, Move
from engine.agent.gate import Gate
from engine.agent.step import StepPlan, plan_step
from engine.agent.turn_state import TurnPorts, TurnState
from engine.chat.commands import CommitStep, FinishTurn, ReleaseLease
from engine.chat.content import Finish, NewMessage
from engine.chat.errors import ChatError, ErrorKind
from engine.chat.snapshot import ChatStatus, Snapshot
from engine.models.model import ModelFailure
from engine.models.parts import StreamResult


class Turn:
    """The work on one acquired chat. Not to be used again after it raised.

    `yields`: after each turn the chat goes to the end of the line, since others wait for its place.
    """

    def __init__(
        self,
        *,
        snapshot: Snapshot,
        equip: Equip,
        gate: Gate,
        ports: TurnPorts,
        yields: bool = False,
        began_at: datetime | None = None,
    ) -> None:
        self._state = TurnState(snapshot=snapshot, gate=gate, ports=ports, began_at=began_at)
        self._equip = equip
        self._yields = yields

    @property
    def snapshot(self) -> Snapshot:
        """The chat as this turn knows it."""
        return self._state.snapshot

    @property
    def has_taken_long(self) -> bool:
        """Whether the owner is told when the turn ends now."""
        return self._state.has_taken_long

    @property
    def results_in_hand(self) -> tuple[NewMessage, ...]:
        """Results of finished calls of a stored step, while others of it still run."""
        return self._state.results_in_hand

    def in_hand(self) -> tuple[NewMessage, ...]:
        """Everything streamed or finished that is not stored yet, as messages to store."""
        return self._state.in_hand()

    async def run(self) -> None:
        """Work until the chat waits, asks or is in error. Raises Stopped or Overtaken."""
        state = self._state
        try:
            while await self._run_turn(await self._equip()):
                if self._yields:
                    await state.commit(ReleaseLease(fence=state.fence))
                    return
        except ModelFailure as failure:
            await state.fail(failure.error, state.in_hand(_finish_of(failure.partial)))

    async def _run_turn(self, equipment: Equipment) -> bool:
        """One turn. True: the next one of the queue is already in the history."""
        state = self._state
        calling, compacting = Calling(state, equipment), Compacting(state, equipment)
        if state.snapshot.open_calls and await calling.resume():
            return False
        if state.snapshot.compaction_requested:
            return await compacting.on_request()
        for _ in range(state.ports.limits.steps_max):
            try:
                step = await answer(state, equipment, compacting.look)
            except ModelFailure as failure:
                if not await compacting.make_room(failure):
                    raise
                continue
            if isinstance(step, StreamResult):
                goes_on = await self._take(self._plan(step, equipment), calling, compacting)
            else:
                goes_on = await _move(step, state, compacting)
            if goes_on is not None:
                return goes_on
        await state.fail(_too_many_steps(state.ports.limits.steps_max))
        return False

    async def _take(self, plan: StepPlan, calling: Calling, compacting: Compacting) -> bool | None:
        """Store an answer and do what it asks for. None: the turn goes on with another step."""
        state = self._state
        if plan.calls:
            return False if await self._take_step(plan, calling) else None
        if plan.assistant.finish is Finish.CONTINUE and compacting.pauses < PAUSES_MAX:
            await state.commit(CommitStep(fence=state.fence, messages=(plan.assistant,)))
            return None
        if compacting.is_due_after(plan.assistant):
            await state.commit(CommitStep(fence=state.fence, messages=(plan.assistant,)))
            return await compacting.at_end()
        return await self._finish(plan.assistant)

    async def _finish(self, answered: NewMessage) -> bool:
        state = self._state
        notify = state.has_taken_long
        await state.commit(FinishTurn(fence=state.fence, messages=(answered,), notify=notify))
        return self._state.snapshot.status is ChatStatus.RUNNING

    def _plan(self, result: StreamResult, equipment: Equipment) -> StepPlan:
        plan = plan_step(
            result, equipment.tools, brain=equipment.brain, runtime_ms=self._state.runtime_ms
        )
        self._state.end_stream(plan.assistant)
        return plan

    async def _take_step(self, plan: StepPlan, calling: Calling) -> bool:
        """Store the step and answer its calls. True: people or programs are asked, we rest."""
        applied = await self._state.commit(
            CommitStep(
                fence=self._state.fence,
                messages=(plan.assistant,),
                open_calls=plan.open_calls,
                reserve=plan.reserve,
            )
        )
        return await calling.answer(plan.calls, applied.message_ids[-1])


async def _move(move: Move, state: TurnState, compacting: Compacting) -> bool | None:
    """Do what the history asks for instead of a step. None: the turn goes on."""
    match move:
        case Move.ASK:
            return None
        case Move.COMPACT:
            await compacting.between_steps()
            return None
        case Move.GIVE_UP:
            await state.fail(STILL_TOO_LONG)
            return False
        case Move.END:
            return await compacting.end()
        case Move.COMPACT_AND_END:
            return await compacting.at_end()
        case _:
            assert_never(move)


def _finish_of(partial: StreamResult) -> Finish:
    return Finish.ERROR if partial.finish is Finish.ERROR else Finish.INCOMPLETE


def _too_many_steps(steps_max: int) -> ChatError:
    return ChatError(
        kind=ErrorKind.GENERIC,
        message=f"The turn was ended after {steps_max} steps. Send a message to go on.",
    )
