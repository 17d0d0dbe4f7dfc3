"""A replica dies or freezes in a streamed reply; one that stands by, or comes late, or edits, finishes it.

A stream carries no mark before it is closed, so what was begun is found by having none. Many threads are
brought to different moments, and one kill meets all of them.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from engine.store.pool import Pool
from tests.chaos.serving import PATIENCE_SECONDS, Serving, serving
from tests.chaos.slack_threads import answers, until_quiet
from tests.fakes.model_server import FakeModel, Gate, Say, SeenRequest, Step
from tests.fakes.slack_people import Person
from tests.fakes.slack_rates import Fault
from tests.fakes.slack_server import FakeSlack
from tests.fakes.slack_state import Channel, Message
from tests.fakes.slack_stream_state import STREAM_SECONDS_MAX

START, APPEND, STOP = "chat.startStream", "chat.appendStream", "chat.stopStream"


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """The call of `method` of a reply does not come back. `is_made`: it took effect all the same."""

    name: str
    method: str
    is_made: bool

    @property
    def text(self) -> str:
        """All that the model says."""
        return f"{self.name}: half and half."

    def scripts(self) -> deque[Sequence[Step]]:
        """What the model does at each request of this thread."""
        growing: list[Step] = [Say(f"{self.name}: half"), Gate(f"{self.name}/1"), Say(" and")]
        growing += [Gate(f"{self.name}/2"), Say(" half.")]
        return deque([growing, [Say(self.text)], [Say(self.text)]])

    async def reach(
        self, slack: FakeSlack, model: FakeModel, channel: Channel, person: Person
    ) -> Message:
        """Ask, and return when the call is under way that will not come back."""
        if self.method == START:
            fault = self._break(slack, lambda args: f"{self.name}:" in str(args.get("chunks")))
            root = await person.say(channel, f"<@BOT> {self.name}")
        else:
            root = await person.say(channel, f"<@BOT> {self.name}")
            ts = await self._until_shows(slack, channel, root, f"{self.name}: half")
            if self.method == STOP:
                model.release(f"{self.name}/1")
                await self._until_shows(slack, channel, root, f"{self.name}: half and")
            fault = self._break(slack, lambda args: args.get("ts") == ts)
            model.release(f"{self.name}/{1 if self.method == APPEND else 2}")
        async with asyncio.timeout(PATIENCE_SECONDS):
            await fault.reached.wait()
        return root

    async def until_told(
        self, slack: FakeSlack, pool: Pool, channel: Channel, root: Message
    ) -> None:
        """The thread shows the whole reply, once, and nothing is left open."""

        def is_told() -> bool:
            shown = answers(slack, channel, root)
            return [m.plain for m in shown] == [self.text] and not shown[0].is_streaming

        try:
            await slack.wait_until(is_told, timeout=PATIENCE_SECONDS)
            await until_quiet(pool)
            assert is_told(), slack.screen()
        except AssertionError as error:
            error.add_note(f"at the moment {self.name!r}")
            raise
        assert not slack.calls("chat.delete")

    def _break(self, slack: FakeSlack, when: Callable[[dict[str, Any]], bool]) -> Fault:
        return slack.fail_next(
            self.method, hang=not self.is_made, hang_after_handling=self.is_made, when=when
        )

    async def _until_shows(
        self, slack: FakeSlack, channel: Channel, root: Message, text: str
    ) -> str:
        def shown() -> str | None:
            found = [m for m in answers(slack, channel, root) if m.plain.startswith(text)]
            return found[0].ts if found and found[0].is_streaming else None

        found = await slack.wait_until(shown, timeout=PATIENCE_SECONDS)
        assert found is not None
        return found


MOMENTS = tuple(
    Moment(
        name=f"{method.removeprefix('chat.')}{'-made' * is_made}", method=method, is_made=is_made
    )
    for method in (START, APPEND, STOP)
    for is_made in (False, True)
)


def tell_stories(model: FakeModel, moments: Iterable[Moment]) -> None:
    """Have the model answer each thread with its own story."""
    scripts = {moment.name: moment.scripts() for moment in moments}

    def answer(seen: SeenRequest) -> Sequence[Step]:
        asked = str(seen.messages)
        (name,) = (name for name in scripts if f" {name}'" in asked)
        return scripts[name].popleft()

    model.answer(answer)


async def reach_all(
    slack: FakeSlack, model: FakeModel, channel: Channel, person: Person
) -> list[Message]:
    """Bring one thread to each moment there is."""
    tell_stories(model, MOMENTS)
    async with asyncio.TaskGroup() as tasks:
        reaching = [
            tasks.create_task(moment.reach(slack, model, channel, person)) for moment in MOMENTS
        ]
    return [task.result() for task in reaching]


async def test_a_stream_is_finished_by_a_replica_that_stands_by(
    slack: FakeSlack, model: FakeModel, database_url: str, redis_url: str, pool: Pool
) -> None:
    """D3, D6"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with serving(
        slack, model, database_url, redis_url, THREADWRIGHT_SLACK_STREAMING="auto"
    ) as house:
        first = await house.start()
        roots = await reach_all(slack, model, harbour, ada)
        await house.start()
        await first.kill()
        for moment, root in zip(MOMENTS, roots, strict=True):
            await moment.until_told(slack, pool, harbour, root)


async def test_a_stream_that_has_died_meanwhile_is_finished_all_the_same(
    slack: FakeSlack, model: FakeModel, database_url: str, pool: Pool
) -> None:
    """D3, D6: nobody came for five minutes."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with serving(slack, model, database_url, THREADWRIGHT_SLACK_STREAMING="auto") as house:
        first = await house.start()
        roots = await reach_all(slack, model, harbour, ada)
        await first.kill()
        slack.clock.advance(STREAM_SECONDS_MAX)
        await house.start()
        for moment, root in zip(MOMENTS, roots, strict=True):
            await moment.until_told(slack, pool, harbour, root)


async def test_a_reply_whose_successor_may_not_stream_is_finished_by_edits(
    slack: FakeSlack, model: FakeModel, database_url: str, pool: Pool
) -> None:
    """D3, D6: streams that were left open are closed even where none is started any more."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with serving(slack, model, database_url, THREADWRIGHT_SLACK_STREAMING="auto") as house:
        first = await house.start()
        roots = await reach_all(slack, model, harbour, ada)
        await first.kill()
        await house.start(THREADWRIGHT_SLACK_STREAMING="edits")
        for moment, root in zip(MOMENTS, roots, strict=True):
            await moment.until_told(slack, pool, harbour, root)


async def test_a_replica_that_was_frozen_in_mid_stream_adds_nothing_when_it_wakes(
    slack: FakeSlack, model: FakeModel, database_url: str, redis_url: str, pool: Pool
) -> None:
    """D3, D6"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    slow = Moment(name="slow", method=APPEND, is_made=True)
    short = Moment(name="short", method=START, is_made=True)
    tell_stories(model, [slow, short])
    async with serving(
        slack, model, database_url, redis_url, THREADWRIGHT_SLACK_STREAMING="auto"
    ) as house:
        first = await house.start()
        root = await slow.reach(slack, model, harbour, ada)
        await _replace(house, slack)
        model.release("slow/2")
        await slow.until_told(slack, pool, harbour, root)
        frozen, awake = slack.sockets.connections
        first.thaw()
        frozen.is_leaving, awake.is_leaving = False, True
        # It has looked around when it answers somebody again.
        for gate in ("short/1", "short/2"):
            model.release(gate)
        other = await ada.say(harbour, "<@BOT> short")
        await short.until_told(slack, pool, harbour, other)
        assert await first.terminate() == 0
        await slow.until_told(slack, pool, harbour, root)


async def _replace(house: Serving, slack: FakeSlack) -> None:
    """Freeze the first replica once a second one is there, which hears everything from then on."""
    await house.start()
    house.replicas[0].freeze()
    slack.sockets.connections[0].is_leaving = True
