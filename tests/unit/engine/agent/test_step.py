"""What an answer means: the end of the turn, tools to run, people to ask; nothing of a torn call."""

import pytest

from engine.agent.brain import Brain
from engine.agent.step import has_side_effects, new_action, open_call, partial_message, plan_step
from engine.chat.content import Finish, ReasoningPart, TextPart, ToolCallPart
from engine.chat.form import FormKind
from engine.chat.ids import ToolCallId
from engine.chat.snapshot import Executor
from engine.models.demo import DemoModel
from engine.models.parts import StreamResult
from engine.tools.builtin import ASK_PEOPLE
from engine.tools.definition import ToolDefinition
from engine.tools.registry import LocalTool, ToolSet


async def never(*_: object) -> None:
    raise AssertionError


def local(name: str, *, read_only: bool) -> LocalTool:
    definition = ToolDefinition(name=name, description="", read_only=read_only)
    return LocalTool(definition=definition, run=never)


TOOLS = ToolSet(
    [local("deploy", read_only=False), local("look", read_only=True)],
    [ASK_PEOPLE, ToolDefinition(name="slow", description="", executor=Executor.CLIENT,
                                on_timeout_continue=True)],
)  # fmt: skip
TEXT = TextPart(text="Aye.")
BRAIN = Brain(model=DemoModel(), model_name="m", system="")


def call(name: str, args: str = "{}") -> ToolCallPart:
    return ToolCallPart(tool_call_id=ToolCallId(f"id-{name}"), tool_name=name, args=args)


def test_an_answer_without_calls_ends_the_turn() -> None:
    result = StreamResult(content=(TEXT,), finish=Finish.STOP)
    plan = plan_step(result, TOOLS, brain=BRAIN, runtime_ms=5)
    assert (plan.calls, plan.open_calls, plan.reserve) == ((), (), ())
    assert plan.assistant.content == (TEXT,)
    assert (plan.assistant.finish, plan.assistant.runtime_ms) == (Finish.STOP, 5)


def test_calls_are_open_and_those_with_side_effects_reserved() -> None:
    calls = tuple(call(name) for name in ("deploy", "look", "ask_people", "slow", "made_up"))
    result = StreamResult(content=(TEXT, *calls), finish=Finish.TOOL_CALLS, runnable=True)
    plan = plan_step(result, TOOLS, brain=BRAIN, runtime_ms=5)
    assert plan.calls == calls
    assert [(c.tool_name, c.executor, c.on_timeout_continue) for c in plan.open_calls] == [
        ("deploy", Executor.LOCAL, False),
        ("look", Executor.LOCAL, False),
        ("ask_people", Executor.PEOPLE, False),
        ("slow", Executor.CLIENT, True),
        ("made_up", Executor.LOCAL, False),
    ]
    assert [reserved.tool_name for reserved in plan.reserve] == ["deploy"]
    assert plan.assistant.finish is Finish.TOOL_CALLS


@pytest.mark.parametrize("finish", [Finish.LENGTH, Finish.CONTENT_FILTER, Finish.INCOMPLETE])
def test_calls_of_an_answer_that_was_cut_short_are_not_stored(finish: Finish) -> None:
    result = StreamResult(content=(TEXT, call("deploy")), finish=finish)
    plan = plan_step(result, TOOLS, brain=BRAIN, runtime_ms=5)
    assert plan.calls == ()
    assert (plan.assistant.content, plan.assistant.finish) == ((TEXT,), finish)


def test_a_partial_answer_keeps_text_and_reasoning_but_no_half_call() -> None:
    thought = ReasoningPart(text="Hm.")
    result = StreamResult(content=(thought, TEXT, call("deploy", '{"a')))
    (message,) = partial_message(result, Finish.INTERRUPTED, brain=BRAIN, runtime_ms=5)
    assert (message.content, message.finish) == ((thought, TEXT), Finish.INTERRUPTED)
    nothing = StreamResult(content=(call("deploy", '{"a'),))
    assert partial_message(nothing, Finish.INTERRUPTED, brain=BRAIN, runtime_ms=5) == ()


def test_only_local_tools_that_change_things_have_side_effects() -> None:
    assert has_side_effects(TOOLS.definition("deploy"))
    for name in ("look", "ask_people", "slow", "made_up"):
        assert not has_side_effects(TOOLS.definition(name))


def test_a_question_has_its_form_and_the_arguments_as_they_came() -> None:
    args = '{"question": "Which?",  "options": ["a", "b"]}'
    action = new_action(call("ask_people", args), TOOLS)
    assert action.args == args
    assert action.form is not None
    assert (action.form.question, action.form.kind) == ("Which?", FormKind.BUTTONS)
    assert open_call(call("ask_people"), TOOLS).is_dynamic


def test_a_call_whose_tool_is_gone_is_still_asked() -> None:
    action = new_action(call("gone", "not JSON"), ToolSet())
    assert (action.tool_name, action.executor) == ("gone", Executor.CLIENT)
