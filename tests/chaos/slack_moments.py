"""The moments of a reply at which a replica may die, and what its thread must show in the end.

A moment is a call to Slack that never comes back: one that was not made, or whose answer is lost. Texts
begin with the moment's name, so that many threads can be brought to their moments at the same time.
"""

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from engine.store.pool import Pool
from tests.chaos.serving import PATIENCE_SECONDS
from tests.chaos.slack_threads import (
    answers,
    assert_nothing_twice,
    until_asks,
    until_growing,
    until_quiet,
)
from tests.fakes.model_server import Call, FakeModel, Gate, Say, SeenRequest, Step
from tests.fakes.slack_people import Person
from tests.fakes.slack_rates import Fault
from tests.fakes.slack_server import FakeSlack
from tests.fakes.slack_state import Channel, Message

POST, EDIT = "chat.postMessage", "chat.update"


class Story(StrEnum):
    """What the reply is like."""

    SHORT = "short"
    GROWING = "growing"
    LONG = "long"
    ASKING = "asking"


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """The call of `method` that says `saying` does not come back. `is_made`: it took effect all the same.

    `is_final`: only one without a stop button counts. `answers`: a person has answered before.
    """

    name: str
    story: Story
    method: str
    is_made: bool
    saying: str = ""
    is_final: bool = False
    answers: bool = False

    @property
    def text(self) -> str:
        """All that the model says, questions left out."""
        match self.story:
            case Story.SHORT | Story.GROWING:
                return f"{self.name}: half and half."
            case Story.LONG:
                lines = [f"{self.name}: {number} " + "to sea " * 60 for number in range(24)]
                return "\n\n".join(line.strip() for line in lines)
            case Story.ASKING:
                return f"{self.name}: hm.\n{self.name}: then we sail."

    @property
    def question(self) -> str:
        """What people are asked."""
        return f"{self.name}: shall we sail?"

    def scripts(self) -> deque[Sequence[Step]]:
        """What the model does at each request of this thread."""
        whole = Say(self.text, tuple(_pieces(self.text)))
        match self.story:
            case Story.SHORT | Story.LONG:
                return deque([[whole]] * 3)
            case Story.GROWING:
                growing = [Say(f"{self.name}: half"), Gate(f"{self.name}/1"), Say(" and")]
                return deque([[*growing, Gate(f"{self.name}/2"), Say(" half.")], [whole], [whole]])
            case Story.ASKING:
                before, after = self.text.splitlines()
                ask = Call("ask_people", {"question": self.question, "options": ["Yes", "No"]})
                return deque([[Say(before), ask], [Say(after)], [Say(after)]])

    async def reach(
        self, slack: FakeSlack, model: FakeModel, channel: Channel, person: Person
    ) -> "Reached":
        """Ask, and return when the call is under way that will not come back."""
        fault = slack.fail_next(
            self.method,
            hang=not self.is_made,
            hang_after_handling=self.is_made,
            when=self._is_it,
        )
        root = await person.say(channel, f"<@BOT> {self.name}")
        if self.story is Story.GROWING:
            await until_growing(slack, channel, root, f"{self.name}: half")
            model.release(f"{self.name}/1")
            if self.is_final:
                await until_growing(slack, channel, root, f"{self.name}: half and")
                model.release(f"{self.name}/2")
        if self.answers:
            await person.click(await until_asks(slack, channel, root, self.question), "Yes")
        await fault.reached.wait()
        return Reached(moment=self, root=root, fault=fault)

    def _is_it(self, args: dict[str, Any]) -> bool:
        text = str(args["text"])
        is_mine = f"{self.name}:" in text and self.saying in text
        if self.story is Story.LONG:
            is_mine = is_mine and f"{self.name}: 0 " not in text
        blocks = args.get("blocks") or []
        is_growing = any(block["type"] == "actions" for block in blocks)
        return is_mine and not (self.is_final and is_growing)

    async def until_told(
        self, slack: FakeSlack, pool: Pool, channel: Channel, root: Message, person: Person
    ) -> None:
        """See the story to its end: the thread is complete, and shows everything once."""
        try:
            await self._until_told(slack, pool, channel, root, person)
        except AssertionError as error:
            error.add_note(f"at the moment {self.name!r}")
            raise

    async def _until_told(
        self, slack: FakeSlack, pool: Pool, channel: Channel, root: Message, person: Person
    ) -> None:
        if self.story is Story.ASKING and not (self.answers or self._is_told(slack, channel, root)):
            await person.click(await until_asks(slack, channel, root, self.question), "Yes")
        await slack.wait_until(
            lambda: self._is_told(slack, channel, root), timeout=PATIENCE_SECONDS
        )
        await until_quiet(pool)
        assert self._is_told(slack, channel, root), slack.screen()
        assert_nothing_twice(slack)

    def _is_told(self, slack: FakeSlack, channel: Channel, root: Message) -> bool:
        shown = answers(slack, channel, root)
        questions = [message for message in shown if "❓" in message.plain]
        said = [message.plain for message in shown if message not in questions]
        if any(message.buttons for message in shown):
            return False
        if "".join(" ".join(said).split()) != "".join(self.text.split()):
            return False
        if self.story is Story.ASKING:
            asked = [message.plain for message in questions]
            return len(asked) == 1 and "Ada answered: Yes" in asked[0] and len(said) == 2
        return not questions and (len(said) > 1) == (self.story is Story.LONG)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """A thread at its moment; `fault` can let the call come back after all."""

    moment: Moment
    root: Message
    fault: Fault

    async def until_told(
        self, slack: FakeSlack, pool: Pool, channel: Channel, person: Person
    ) -> None:
        """See the story to its end."""
        await self.moment.until_told(slack, pool, channel, self.root, person)


async def reach_all(
    slack: FakeSlack, model: FakeModel, channel: Channel, person: Person
) -> list[Reached]:
    """Bring one thread to each moment there is; the model tells `MOMENTS`."""
    async with asyncio.TaskGroup() as tasks:
        reaching = [
            tasks.create_task(moment.reach(slack, model, channel, person)) for moment in MOMENTS
        ]
    return [task.result() for task in reaching]


def _pieces(text: str) -> Iterable[str]:
    """The text in a few pieces: a long one in words would only cost time."""
    return (text[start : start + 200] for start in range(0, len(text), 200))


def tell_stories(model: FakeModel, moments: Iterable[Moment]) -> None:
    """Have the model answer each thread with its own story."""
    scripts = {moment.name: moment.scripts() for moment in moments}

    def answer(seen: SeenRequest) -> Sequence[Step]:
        asked = str(seen.messages)
        (name,) = (name for name in scripts if f" {name}'" in asked)
        return scripts[name].popleft()

    model.answer(answer)


MOMENTS = (
    Moment(name="post", story=Story.SHORT, method=POST, is_made=False),
    Moment(name="post-made", story=Story.SHORT, method=POST, is_made=True),
    Moment(name="edit", story=Story.GROWING, method=EDIT, is_made=False),
    Moment(name="edit-made", story=Story.GROWING, method=EDIT, is_made=True),
    Moment(name="end", story=Story.GROWING, method=EDIT, is_made=False, is_final=True),
    Moment(name="end-made", story=Story.GROWING, method=EDIT, is_made=True, is_final=True),
    Moment(name="page", story=Story.LONG, method=POST, is_made=False),
    Moment(name="page-made", story=Story.LONG, method=POST, is_made=True),
    Moment(name="ask", story=Story.ASKING, method=POST, is_made=False, saying="❓"),
    Moment(name="ask-made", story=Story.ASKING, method=POST, is_made=True, saying="❓"),
    Moment(
        name="told", story=Story.ASKING, method=EDIT, is_made=False, saying="answered", answers=True
    ),
    Moment(
        name="told-made",
        story=Story.ASKING,
        method=EDIT,
        is_made=True,
        saying="answered",
        answers=True,
    ),
)
