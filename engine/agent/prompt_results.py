"""Keeps every tool's result in a prompt within the model's window, whoever gave it. Pure.

Results of local tools are cut when they are stored; those of people and programs, and those stored
for a model with a larger window, only here. What is stored stays whole.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from engine.chat.content import Message, Part, Role, ToolResultPart
from engine.tools.truncation import result_budget, truncate_result


def cut_results(
    messages: Sequence[Message], context_limit: int | None
) -> tuple[Sequence[Message], int]:
    """The messages with every result within the budget, and the bytes that were cut."""
    budget = result_budget(context_limit)
    told: list[Message] = []
    cut_in_all = 0
    for message in messages:
        if message.role is not Role.TOOL:
            told.append(message)
            continue
        content: list[Part] = []
        cut_here = 0
        for part in message.content:
            if isinstance(part, ToolResultPart):
                result, cut = truncate_result(part.result, budget)
                cut_here += cut
                content.append(replace(part, result=result) if cut else part)
            else:
                content.append(part)
        told.append(replace(message, content=tuple(content)) if cut_here else message)
        cut_in_all += cut_here
    return told, cut_in_all
