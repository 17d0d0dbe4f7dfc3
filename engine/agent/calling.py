"""Answers the tool calls of a stored step: local ones run side by side, the others are asked for."""

import asyncio
import logging
from collections.abc import Sequence
from datetime import timedelta
from functools import partial

from engine.agent.brain import Equipment
from engine.agent.gate import StopReason
from engine.agent.recovery import message_of_calls, recover_calls
from engine.agent.step import has_side_effects, new_action, open_call
from engine.agent.turn_state import LOST, Overtaken, TurnState
from engine.chat.commands import CommitStep, EnterRequiresAction
from engine.chat.content import ToolCallPart, ToolResultPart
from engine.chat.decision import Refusal
from engine.chat.ids import MessageId
from engine.chat.snapshot import Executor
from engine.chat.synthetic import result_message, without_files
from engine.store.errors import StoreError
from engine.tools.invocation import Invoker
from engine.tools.truncation import result_budget

log = logging.getLogger(__name__)


class Calling:
    """The calls of one turn. True from its methods: people or programs are asked, the turn rests."""

    def __init__(self, state: TurnState, equipment: Equipment) -> None:
        self._state = state
        self._brain = equipment.brain
        self._tools = equipment.tools

    async def resume(self) -> bool:
        """Go on with the calls that an earlier runner left open."""
        state = self._state
        messages = await state.read_history()
        message = message_of_calls(messages, state.snapshot.open_calls)
        if message is None:
            return False
        ledger = await state.ports.store.read_ledger(state.snapshot.chat_id, message.id)
        found = recover_calls(message, state.snapshot.open_calls, ledger, self._has_side_effects)
        return await self.answer(found.calls, found.message_id, found.results)

    async def answer(
        self,
        calls: Sequence[ToolCallPart],
        message_id: MessageId,
        found: tuple[ToolResultPart, ...] = (),
    ) -> bool:
        """Run local calls, ask for the others, store what is known."""
        state = self._state
        local = [call for call in calls if self._executor(call) is Executor.LOCAL]
        dynamic = [call for call in calls if self._executor(call) is not Executor.LOCAL]
        state.results = list(found)
        await self._run_local(local, message_id)
        order = {call.tool_call_id: index for index, call in enumerate(calls)}
        results = sorted(state.results, key=lambda result: order.get(result.tool_call_id, -1))
        state.unstored = tuple(result_message(result) for result in results)
        state.results = []
        if not dynamic:
            await state.commit(CommitStep(fence=state.fence, messages=state.unstored))
            return False
        await state.commit(self._ask(dynamic))
        return True

    async def _run_local(self, calls: Sequence[ToolCallPart], message_id: MessageId) -> None:
        if not calls:
            return
        state = self._state
        chat_id, runner_id = state.snapshot.chat_id, state.fence.runner_id
        store = state.ports.store
        risky = {call.tool_call_id for call in calls if self._has_side_effects(call)}
        state.gate.check()
        if risky and not await store.mark_started(chat_id, message_id, tuple(risky), runner_id):
            raise Overtaken(Refusal(reason=LOST))
        invoker = Invoker(
            chat_id=chat_id,
            organization_id=state.snapshot.organization_id,
            tools=self._tools,
            keep_file=partial(store.keep_file, state.snapshot.organization_id, chat_id),
            result_bytes_max=result_budget(self._brain.context_limit),
        )
        writer = state.open_episode()

        async def run(call: ToolCallPart) -> None:
            result = await invoker.run(call)
            state.results.append(result)
            writer.append((without_files(result),))
            if call.tool_call_id not in risky:
                return
            try:
                await store.mark_finished(chat_id, message_id, result, runner_id)
            except StoreError:
                # The step that stores the result is what counts; this only helps after a crash.
                extra = {"action": "ledger_behind", "chat_id": str(chat_id)}
                log.warning("A call's result is not in the ledger.", extra=extra, exc_info=True)

        try:
            with state.gate.sparing(StopReason.RELEASE):
                async with asyncio.TaskGroup() as group:
                    for call in calls:
                        group.create_task(run(call))
        finally:
            writer.close()

    def _ask(self, calls: Sequence[ToolCallPart]) -> EnterRequiresAction:
        state = self._state
        seconds = [self._timeout_seconds(call) for call in calls]
        return EnterRequiresAction(
            fence=state.fence,
            messages=state.unstored,
            open_calls=tuple(open_call(call, self._tools) for call in calls),
            actions=tuple(new_action(call, self._tools) for call in calls),
            deadline_at=state.ports.now() + timedelta(seconds=min(seconds)),
            notify=state.has_taken_long,
        )

    def _timeout_seconds(self, call: ToolCallPart) -> float:
        definition = self._tools.definition(call.tool_name)
        own = definition.timeout_seconds if definition else None
        return own or self._state.ports.limits.action_timeout_seconds

    def _has_side_effects(self, call: ToolCallPart) -> bool:
        return has_side_effects(self._tools.definition(call.tool_name))

    def _executor(self, call: ToolCallPart) -> Executor:
        definition = self._tools.definition(call.tool_name)
        return definition.executor if definition else Executor.LOCAL
