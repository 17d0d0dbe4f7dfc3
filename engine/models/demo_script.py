"""What the demo model says: a fixed play that shows what a thread can do.

Pure: the same history and tools give the same words. `next_lines` reads the history like an actor:
results of tools first, then what the last person asked for.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from engine.chat.content import Role, ToolResultPart, text_of
from engine.models.model import ModelPrompt, PromptMessage

CLOCK_TOOL: Final = "current_time"
ASK_TOOL: Final = "ask_people"

_INTRODUCTION: Final = """\
Ahoy! I am the **demo model**: scripted, offline and free of charge. What you see around me is real: \
the chat is stored, the reply streams, and nothing is lost when a process dies.

Try one of these:

- `what time is it`: I call a built-in tool
- `ask us tea or coffee`: I ask the people here and wait for a button
- `show a table` or `show some code`
- `tell me something long`: then write something else meanwhile, or stop me
- anything else, and I will repeat it
"""
_HINT: Final = "\n\n_You can also try `ask`, `table`, `code`, `long` or `time`._"
_TABLE: Final = """\
Tonight at the harbour:

| boat | berth | sails at | catch |
|---|---:|---|---|
| *Marigold* | 3 | 04:30 | herring |
| *Petrel* | 7 | 05:10 | mackerel |
| *Old Anna* | 12 | never | stories |

Three boats, two of them **seaworthy**."""
_CODE: Final = """\
A lighthouse in eight lines:

```python
import itertools
import time

for side in itertools.cycle("NESW"):
    print(f"light towards {side}")
    time.sleep(2.5)
```

It turns until somebody presses `Ctrl+C`."""
_CHAPTERS: Final = (
    ("The harbour", "Before the town wakes, the harbour is already busy."),
    ("The lighthouse", "The light was lit in the year of the great storm."),
    ("The fog", "Fog comes in from the west, quietly, and stays for days."),
    ("The keeper", "The keeper writes down every ship, and has done so for forty years."),
    ("The tide table", "On the wall hangs a tide table that nobody needs any more."),
    ("The storm", "When the storm came, all the boats but one were in."),
    ("The morning after", "In the morning the sea was as flat as a plate."),
    ("What the book says", "The keeper's book says only: light burned, wind north-west, all home."),
)
_MIDDLE: Final = (
    "The ropes creak, the gulls argue about **nothing in particular**, and the first boat goes out "
    "without a word. Whoever stands on the mole can count the lanterns: one for each crew, and one "
    "for the harbour master, who pretends not to count. There is a saying here that the sea keeps "
    "its appointments, and that people should try to do the same. So the bread is ready at four, "
    "the ice at half past, and the weather report is read aloud in front of the office, slowly, "
    "because *everybody knows it already*.\n\n"
    "> Light on the left hand, home on the right.\n\n"
    "That is all there is to know, and it takes a lifetime."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """What to say and, at the end, which tool to call with which arguments."""

    text: str
    tool_name: str | None = None
    args: str = "{}"


def next_lines(prompt: ModelPrompt) -> Lines:
    """Return what comes next in this chat."""
    results = _fresh_results(prompt.messages)
    if results:
        return Lines(text="\n\n".join(_about(result) for result in results))
    people = [m for m in prompt.messages if m.role is Role.USER]
    said = text_of(people[-1].content).strip() if people else ""
    tools = {tool.name for tool in prompt.tools}
    lines = _by_keyword(said, tools)
    is_first = len(people) <= 1
    if lines is None:
        return Lines(text=_INTRODUCTION if is_first else _echo(said))
    if is_first and lines.tool_name is None and lines.text != _INTRODUCTION:
        return Lines(text=lines.text + _HINT)
    return lines


def _fresh_results(messages: Sequence[PromptMessage]) -> list[ToolResultPart]:
    """Return the results that came after everything that was said."""
    fresh: list[ToolResultPart] = []
    for message in reversed(messages):
        if message.role is not Role.TOOL:
            break
        fresh[:0] = [part for part in message.content if isinstance(part, ToolResultPart)]
    return fresh


def _by_keyword(said: str, tools: set[str]) -> Lines | None:
    words = set(re.findall(r"[a-z']+", said.lower()))
    if words & {"ask", "choose", "approve", "question", "decide", "vote"}:
        return _ask(said, tools)
    if words & {"time", "clock", "date"}:
        return _clock(tools)
    shows = (
        ({"table"}, _TABLE),
        ({"code"}, _CODE),
        ({"long", "story"}, _long()),
        ({"help", "hello", "hi"}, _INTRODUCTION),
    )
    return next((Lines(text=text) for keys, text in shows if words & keys), None)


def _clock(tools: set[str]) -> Lines:
    if CLOCK_TOOL not in tools:
        return Lines(text="I would look at the clock, but nobody gave me one.")
    return Lines(text="Let me look at the clock.", tool_name=CLOCK_TOOL)


def _ask(said: str, tools: set[str]) -> Lines:
    if ASK_TOOL not in tools:
        return Lines(text="I would ask you, but this chat has no tool for asking people.")
    options = _options(said)
    question = "Which one shall it be?"
    if "approve" in said.lower():
        options, question = ["Approve", "Decline"], "Do you approve?"
    args = msgspec.json.encode({"question": question, "options": options}).decode()
    return Lines(text="I would rather ask than guess.", tool_name=ASK_TOOL, args=args)


def _options(said: str) -> list[str]:
    """Return the two things between which the person wrote "or"."""
    found = re.search(r"([\w'-]+) or ([\w'-]+)", said)
    return [word.capitalize() for word in found.groups()] if found else ["Harbour", "Lighthouse"]


def _about(result: ToolResultPart) -> str:
    value = _plain(result.result)
    if result.is_error:
        return f"That did not work out: {value}"
    if result.tool_name == ASK_TOOL:
        return f"Thank you! I will go with **{value}**."
    if result.tool_name == CLOCK_TOOL:
        return f"The clock says **{value}**."
    return f"`{result.tool_name}` says: {value}"


def _plain(value: Any) -> str:
    """Return the words of a result: a lone value as it is, anything else as JSON."""
    while isinstance(value, dict) and len(value) == 1:
        value = next(iter(value.values()))
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _echo(said: str) -> str:
    quoted = "\n".join(f"> {line}" for line in said.splitlines() or ["(nothing)"])
    return f"You said:\n\n{quoted}\n\nI am only a demo, but I was listening."


def _long() -> str:
    return "\n\n".join(f"## {title}\n\n{first} {_MIDDLE}" for title, first in _CHAPTERS)
