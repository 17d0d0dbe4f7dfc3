"""A replica dies while replies grow as native streams; another one finishes each of them, once."""

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence

import pytest

from engine.store.pool import Pool
from tests.chaos.serving import PATIENCE_SECONDS, serving
from tests.chaos.slack_threads import answers, texts, until_quiet
from tests.fakes.model_server import FakeModel, Gate, Say, SeenRequest, Step
from tests.fakes.slack_announce import EventMode
from tests.fakes.slack_people import Person
from tests.fakes.slack_rates import Fault
from tests.fakes.slack_server import FakeSlack
from tests.fakes.slack_state import Channel, Message

START, APPEND, STOP = "chat.startStream", "chat.appendStream", "chat.stopStream"
MOMENTS: Mapping[str, tuple[str, bool]] = {
    "begun": (START, False),
    "begun-made": (START, True),
    "grown": (APPEND, False),
    "grown-made": (APPEND, True),
    "ended": (STOP, False),
    "ended-made": (STOP, True),
}
"""The call that does not come back, and whether it took effect all the same."""
BETWEEN = "between"
"""The moment between two calls, when only the model is waited for."""


def tell_stories(model: FakeModel) -> None:
    """Have the model stop twice in its first answer to each thread; a second one comes whole."""
    scripts: dict[str, deque[Sequence[Step]]] = {
        name: deque([
            [Say(f"{name}: half"), Gate(f"{name}/1"), Say(" and"), Gate(f"{name}/2"), Say(" half.")],
            *[[Say(f"{name}: half and half.")]] * 3,
        ])
        for name in (*MOMENTS, BETWEEN)
    }  # fmt: skip

    def answer(seen: SeenRequest) -> Sequence[Step]:
        asked = str(seen.messages)
        (name,) = (name for name in scripts if f" {name}'" in asked)
        return scripts[name].popleft()

    model.answer(answer)


async def reach(slack: FakeSlack, model: FakeModel, person: Person, name: str) -> tuple[Channel, Message]:  # fmt: skip
    """Ask in a channel of its own, and return when the moment has come."""
    channel = slack.channel(name)

    async def until_shown(text: str) -> None:
        await slack.wait_until(
            lambda: any(m.plain.startswith(text) for m in answers(slack, channel, root)),
            timeout=PATIENCE_SECONDS,
        )

    def hold() -> Fault:
        return slack.fail_next(
            method,
            hang=not is_made,
            hang_after_handling=is_made,
            when=lambda args: args["channel"] == channel.id,
        )

    method, is_made = MOMENTS.get(name, ("", False))
    fault = hold() if method == START else None
    root = await person.say(channel, f"<@BOT> {name}")
    if fault is None:
        # A stream may begin with less than this, so that the call to be held comes later.
        await until_shown(f"{name}: half")
        if name == BETWEEN:
            return channel, root
        fault = hold() if method == APPEND else None
        model.release(f"{name}/1")
    if fault is None:
        await until_shown(f"{name}: half and")
        fault = hold()
        model.release(f"{name}/2")
    async with asyncio.timeout(PATIENCE_SECONDS):
        await fault.reached.wait()
    return channel, root


@pytest.mark.parametrize("over_http", [False, True], ids=["socket", "http"])
async def test_a_reply_that_was_streamed_by_a_killed_replica_is_finished_in_its_message(
    slack: FakeSlack,
    model: FakeModel,
    database_url: str,
    pool: Pool,
    *,
    over_http: bool,
) -> None:
    """D3, D6: killed before, in and after each call that begins, grows or ends a stream."""
    slack.http.retry_delays_seconds = (0.2,) * 3
    ada = slack.user("Ada")
    tell_stories(model)
    async with serving(
        slack, model, database_url, over_http=over_http, THREADWRIGHT_SLACK_STREAMING="auto"
    ) as house:
        first = await house.start()
        if over_http:
            slack.use_http(f"{first.url}/slack/events")
        names = [*MOMENTS, BETWEEN]
        async with asyncio.TaskGroup() as tasks:
            reaching = [tasks.create_task(reach(slack, model, ada, name)) for name in names]
        reached = dict(zip(names, (task.result() for task in reaching), strict=True))
        assert len(slack.calls(START)) == len(names)
        await first.kill()
        second = await house.start()
        if over_http:
            slack.use_http(f"{second.url}/slack/events")

        def is_told(name: str) -> bool:
            shown = answers(slack, *reached[name])
            is_open = any(m.is_streaming or m.buttons for m in shown)
            return [m.plain for m in shown] == [f"{name}: half and half."] and not is_open

        for name in names:
            await slack.wait_until(lambda: is_told(name), timeout=PATIENCE_SECONDS)  # noqa: B023
        await until_quiet(pool)
        await slack.wait_until_settled()
        # What still hangs is let go when the fake ends, and there is nobody left to tell of it.
        slack.events.mode = EventMode.SOCKET
        assert {name: texts(slack, *reached[name]) for name in names} == {
            name: [f"{name}: half and half."] for name in names
        }
