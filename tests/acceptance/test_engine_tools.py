"""Local tools: whatever one does, its call has one result that can be stored, told and replayed."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from engine.chat.content import ToolResultPart, text_of
from engine.chat.view import ShownStatus
from engine.stream.events import PartEvent
from engine.tools.definition import ToolDefinition
from engine.tools.registry import LocalTool, ToolContext
from tests.fakes.model_server import Call, FakeModel, Gate, Say, SeenRequest
from tests.fakes.replica import FAST, ONLY_WAKES, TestReplica, soon, unanswered


@pytest.fixture
async def model() -> AsyncIterator[FakeModel]:
    async with FakeModel.start() as fake:
        yield fake


def tool(name: str, run: Any, **fields: Any) -> LocalTool:
    """A local tool of that name."""
    return LocalTool(definition=ToolDefinition(name=name, description="", **fields), run=run)


def returning(name: str, value: Any) -> LocalTool:
    """A tool that gives this."""

    async def run(_args: Mapping[str, Any], _context: ToolContext) -> Any:
        return value

    return tool(name, run)


async def raise_error(args: Mapping[str, Any], _context: ToolContext) -> Any:
    return args["zone"]


async def speak(_args: Mapping[str, Any], _context: ToolContext) -> Any:
    raise ValueError("There is no harbour of that name.")


async def time_out_by_itself(_args: Mapping[str, Any], _context: ToolContext) -> Any:
    raise TimeoutError("the tide table did not answer")


async def hang(_args: Mapping[str, Any], _context: ToolContext) -> Any:
    await asyncio.Event().wait()


async def cancel_itself(_args: Mapping[str, Any], _context: ToolContext) -> Any:
    raise asyncio.CancelledError


class Odd:
    """A value that JSON cannot say, nor anybody show."""

    def __repr__(self) -> str:
        raise RuntimeError("no")


def deep() -> Any:
    value: Any = "bottom"
    for _ in range(5000):
        value = [value]
    return value


CASES: dict[str, tuple[LocalTool, str]] = {
    "raises": (tool("raises", raise_error), "KeyError: 'zone'"),
    "says why": (tool("speaks", speak), "There is no harbour of that name."),
    "own timeout": (tool("timed", time_out_by_itself), "the tide table did not answer"),
    "hangs": (tool("hangs", hang, timeout_seconds=0.05), "did not finish within 0.05 seconds"),
    "cancels": (tool("cancels", cancel_itself), "cancelled"),
    "bytes": (returning("bytes", b"caf\xc3\xa9 \xff\x00"), "café \\ufffd\\u0000"),
    "set": (returning("set", {1}), "[1]"),
    "an object": (returning("object", object()), "<object object at"),
    "unshowable": (returning("unshowable", Odd()), "failed"),
    "nested": (returning("nested", deep()), "failed"),
    "surrogates": (returning("surrogates", {"text": "a\udc00b"}), "a"),
    "surrogate text": (returning("surrogate", "a\udc00b"), "a?b"),
    "not a number": (returning("nan", {"value": float("nan")}), "null"),
    "big number": (returning("big", 2**90), str(2**90)),
    "nothing": (returning("nothing", None), "null"),
    "huge": (returning("huge", "wave " * 200_000), "bytes cut to fit"),
    "huge list": (returning("list", ["wave"] * 200_000), "bytes cut to fit"),
}


@pytest.mark.parametrize("case", CASES)
async def test_whatever_a_tool_does_its_call_has_one_result(
    database_url: str, model: FakeModel, case: str
) -> None:
    """A tool that raises, hangs or returns anything gives the model one result; the turn goes on."""
    odd, expected = CASES[case]
    model.call(odd.definition.name, {}, id="c1")
    async with TestReplica.start(
        database_url, model.url, worker=ONLY_WAKES, tools=(odd,)
    ) as replica:
        chat_id = await replica.chat("Try it")
        await replica.until(chat_id, ShownStatus.WAITING)
        (answer,) = await replica.results(chat_id)
        assert expected in json.dumps(answer.result, ensure_ascii=False).replace(
            "\ufffd", "\\ufffd"
        )
        assert len(json.dumps(answer.result)) < 200_000
        assert unanswered(await replica.messages(chat_id)) == []
        assert (await replica.history(chat_id))[-1] == ("assistant", "All right.")
    assert expected in json.dumps(model.requests[1].tool_result("c1"), ensure_ascii=False).replace(
        "\ufffd", "\\ufffd"
    )
    assert model.refusals == []


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("no_such_tool", {}, "Tool not found: no_such_tool"),
        ("speaks", "not JSON", "arguments are not a JSON object"),
        ("speaks", "[1]", "arguments are not a JSON object"),
        ("speaks", "[" * 20_000, "arguments are not a JSON object"),
        ("speaks", '{"half": ', "arguments are not a JSON object"),
        ("speaks", "", "There is no harbour"),
    ],
)
async def test_a_call_that_cannot_be_run_has_a_result(
    database_url: str, model: FakeModel, name: str, args: str, expected: str
) -> None:
    """An unknown tool and arguments that are none are answered with what is wrong with them."""
    model.call(name, args, id="c1")
    async with TestReplica.start(
        database_url, model.url, worker=ONLY_WAKES, tools=(tool("speaks", speak),)
    ) as replica:
        chat_id = await replica.chat("Try it")
        await replica.until(chat_id, ShownStatus.WAITING)
        (answer,) = await replica.results(chat_id)
        assert answer.is_error
        assert expected in str(answer.result)
    assert len(model.requests) == 2
    assert model.refusals == []


async def test_tools_of_one_step_run_side_by_side(database_url: str, model: FakeModel) -> None:
    """Two calls of one step wait for each other: each can only end while the other runs."""
    barrier = asyncio.Barrier(2)

    async def meet(_args: Mapping[str, Any], _context: ToolContext) -> Any:
        await barrier.wait()
        return "met"

    model.script([Call("meet", {}, "b"), Call("meet", {}, "a")])
    async with TestReplica.start(
        database_url, model.url, worker=ONLY_WAKES, tools=(tool("meet", meet),)
    ) as replica:
        chat_id = await replica.chat("Meet")
        await replica.until(chat_id, ShownStatus.WAITING)
        assert [part.tool_call_id for part in await replica.results(chat_id)] == ["b", "a"]


async def test_odd_text_survives_storage_prompt_and_stream(
    database_url: str, model: FakeModel, redis_url: str
) -> None:
    """E24: NUL and control bytes in a result, and backslash-u0000 in a text, byte for byte."""
    odd = "".join(map(chr, range(32))) + "\x7f\x85\u2028\ue000\ue001\ufffe \\u0000 \\x00 é🛶"
    said = 'Spelled: \\u0000 "\\u0000" \\\\u0000 \ue000\ue001 \x01\x7f\u2028.'
    model.script([Say(said), Gate("said"), Call("odd", {}, "c1")])
    model.script([Say(said), Gate("again")])
    async with (
        TestReplica.start(
            database_url,
            model.url,
            worker=FAST,
            redis_url=redis_url,
            tools=(returning("odd", {odd: [odd, {"deep": odd}]}),),
        ) as replica,
        TestReplica.start(database_url, works=False, redis_url=redis_url) as other,
    ):
        chat_id = await replica.chat(f"Ada says {odd}")
        async with replica.watch(chat_id) as near, other.watch(chat_id) as far:
            for seen in (near, far):
                await seen.until_text(said)
                assert seen.chat.preview.text == said
            await soon(model.reached("said"))
            model.release("said")
            await soon(model.reached("again"))
            for seen in (near, far):
                await seen.until(lambda seen: len(seen.chat.messages) == 3)
                await seen.until_text(said)
            model.release("again")
            for seen in (near, far):
                await seen.until_status(ShownStatus.WAITING)
                streamed = [
                    event.part
                    for event in seen.all_of(PartEvent)
                    if isinstance(event.part, ToolResultPart)
                ]
                assert all(part.result == {odd: [odd, {"deep": odd}]} for part in streamed)
                assert [text_of(message.content) for message in seen.chat.messages] == [
                    f"Ada says {odd}", said, "", said,
                ]  # fmt: skip
        (stored,) = await replica.results(chat_id)
        assert stored.result == {odd: [odd, {"deep": odd}]}
        messages = await other.messages(chat_id)
        assert [text_of(message.content) for message in messages if text_of(message.content)] == [
            f"Ada says {odd}", said, said,
        ]  # fmt: skip
    second = model.requests[1]
    assert second.tool_result("c1") == {odd: [odd, {"deep": odd}]}
    assert [m["content"] for m in second.messages if m["role"] == "assistant"] == [said]
    assert second.last_text == f"Ada: Ada says {odd}"


async def test_a_result_cannot_be_more_than_the_model_takes(
    database_url: str, model: FakeModel
) -> None:
    """Five huge results in one step are each cut, said to be, and the request is still taken."""
    calls = [Call("huge", {}, f"c{number}") for number in range(5)]
    model.script(calls)

    def whole(request: SeenRequest) -> tuple[Say]:
        return (Say(f"{len(request.messages)} messages"),)

    model.answer(whole)
    async with TestReplica.start(
        database_url, model.url, tools=(returning("huge", "é" * 3_000_000),)
    ) as replica:
        chat_id = await replica.chat("Try it")
        await replica.until(chat_id, ShownStatus.WAITING)
        for part in await replica.results(chat_id):
            assert len(part.result["output"].encode()) <= 128_000
            assert "bytes cut" in part.result["output"]
