"""No result in a prompt is longer than its model can take, whoever gave it."""

import msgspec
import pytest

from engine.agent.prompt_results import cut_results
from engine.chat.content import FilePart, Role, ToolResultPart
from engine.chat.ids import ToolCallId
from engine.tools.truncation import RESULT_BYTES_MIN, RESULT_BYTES_UNKNOWN, result_budget
from tests.unit.engine.agent.test_compaction import ASKS, history, row, says


def result(value: object) -> ToolResultPart:
    return ToolResultPart(tool_call_id=ToolCallId("c"), tool_name="read_log", result=value)


def size(part: object) -> int:
    assert isinstance(part, ToolResultPart)
    return len(msgspec.json.encode(part.result))


def test_what_fits_is_the_very_same() -> None:
    messages = history(ASKS, row(Role.TOOL, result({"output": "short"})), says())
    told, cut = cut_results(messages, 128_000)
    assert cut == 0
    assert all(one is other for one, other in zip(told, messages, strict=True))


@pytest.mark.parametrize(
    "value", ["x" * 200_000, {"output": "ü" * 200_000}, [{"deep": "y" * 50}] * 5_000]
)
@pytest.mark.parametrize("limit", [None, 1_000, 30_000])
def test_what_does_not_is_cut_to_the_budget_of_the_model(value: object, limit: int | None) -> None:
    messages = history(ASKS, row(Role.TOOL, result(value)))
    told, cut = cut_results(messages, limit)
    if size(messages[1].content[0]) > result_budget(limit):
        assert cut > 0
    assert size(told[1].content[0]) <= result_budget(limit)


def test_files_and_other_results_of_the_message_stay_as_they_are() -> None:
    picture = FilePart(name="chart.png", media_type="image/png")
    messages = history(row(Role.TOOL, result("x" * 100_000), picture, result("short")))
    (told,), _ = cut_results(messages, None)
    assert told.content[1:] == (picture, result("short"))
    assert size(told.content[0]) <= RESULT_BYTES_UNKNOWN


def test_the_budget_follows_the_model_that_is_asked_now() -> None:
    messages = history(row(Role.TOOL, result("x" * 50_000)))
    _, whole = cut_results(messages, 128_000)
    (told,), cut = cut_results(messages, 8_000)
    assert (whole, cut > 0) == (0, True)
    assert size(told.content[0]) <= RESULT_BYTES_MIN
