"""What a model's answer means for the turn: finish, run tools, ask people, or fail. Pure."""

from dataclasses import dataclass

from engine.agent.brain import Brain
from engine.chat.commands import NewAction, Reservation
from engine.chat.content import (
    Content,
    Finish,
    NewMessage,
    Role,
    ToolCallPart,
)
from engine.chat.form_fields import derive_form
from engine.chat.snapshot import Executor, OpenCall
from engine.models.cost import cost_micros
from engine.models.parts import StreamResult
from engine.tools.definition import ToolDefinition
from engine.tools.invocation import arguments_of
from engine.tools.registry import ToolSet

STEPS_MAX = 1200
"""Model calls in one turn. A turn that needs more is going in circles (engine reference 3.3)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPlan:
    """The message to store, and the calls to run or ask for. No calls: the turn is over."""

    assistant: NewMessage
    calls: tuple[ToolCallPart, ...] = ()
    open_calls: tuple[OpenCall, ...] = ()
    reserve: tuple[Reservation, ...] = ()


def plan_step(result: StreamResult, tools: ToolSet, *, brain: Brain, runtime_ms: int) -> StepPlan:
    """Plan the step for a finished answer. Calls of an answer that was cut short never run."""
    calls = result.tool_calls if result.runnable else ()
    content = result.content if result.runnable else without_tool_calls(result.content)
    finish = Finish.TOOL_CALLS if calls else result.finish
    assistant = _answer(content, result, finish, brain=brain, runtime_ms=runtime_ms)
    return StepPlan(
        assistant=assistant,
        calls=calls,
        open_calls=tuple(open_call(call, tools) for call in calls),
        reserve=tuple(
            Reservation(tool_call_id=call.tool_call_id, tool_name=call.tool_name)
            for call in calls
            if has_side_effects(tools.definition(call.tool_name))
        ),
    )


def partial_message(
    result: StreamResult, finish: Finish, *, brain: Brain, runtime_ms: int
) -> tuple[NewMessage, ...]:
    """What was streamed of an unfinished answer, as a message; nothing when nothing came."""
    content = without_tool_calls(result.content)
    if not content:
        return ()
    return (_answer(content, result, finish, brain=brain, runtime_ms=runtime_ms),)


def _answer(
    content: Content, result: StreamResult, finish: Finish, *, brain: Brain, runtime_ms: int
) -> NewMessage:
    return NewMessage(
        role=Role.ASSISTANT,
        content=content,
        model=brain.stored_name,
        finish=finish,
        usage=result.usage,
        cost_micros=cost_micros(result.usage, brain.prices),
        runtime_ms=runtime_ms,
    )


def open_call(call: ToolCallPart, tools: ToolSet) -> OpenCall:
    """The call as the chat's row keeps it until it is answered."""
    definition = tools.definition(call.tool_name)
    return OpenCall(
        tool_call_id=call.tool_call_id,
        tool_name=call.tool_name,
        executor=definition.executor if definition else Executor.LOCAL,
        on_timeout_continue=bool(definition and definition.on_timeout_continue),
    )


def has_side_effects(definition: ToolDefinition | None) -> bool:
    """Whether a call must be in the ledger: a local tool that is not known to be read-only."""
    if definition is None:
        return False
    return definition.executor is Executor.LOCAL and not definition.read_only


def new_action(call: ToolCallPart, tools: ToolSet) -> NewAction:
    """The question that a dynamic call becomes; people get a form, programs the arguments."""
    definition = tools.definition(call.tool_name) or ToolDefinition(
        name=call.tool_name, description="", executor=Executor.CLIENT
    )
    form = derive_form(
        tool_name=definition.name,
        description=definition.description,
        args=arguments_of(call) or {},
        output_schema=definition.output_schema,
    )
    return NewAction(
        tool_call_id=call.tool_call_id,
        tool_name=call.tool_name,
        executor=definition.executor,
        args=call.args,
        form=form,
        answerers=definition.answerers,
    )


def without_tool_calls(content: Content) -> Content:
    """The content of an answer whose calls will not run."""
    return tuple(part for part in content if not isinstance(part, ToolCallPart))
