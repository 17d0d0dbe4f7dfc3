"""Slack's limits shared by many threads and by replicas: nobody starves, and hardly anything is refused.

The limits are those of Slack's tiers, some times as high, and so is what the app takes of them.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from tests.acceptance.slack_house import house, texts, until_growing, until_says
from tests.fakes.model_server import FakeModel, Gate, Pause, Say, SeenRequest, Step
from tests.fakes.slack_server import FakeSlack
from tests.fakes.slack_state import Channel, Message

TIMES = 4
THREADS = 24
WORDS = [f"w{number}" for number in range(60)]


def grow(_: SeenRequest) -> Sequence[Step]:
    return [step for word in WORDS for step in (Say(f"{word} "), Pause(0.1))]


@asynccontextmanager
async def replicas(
    count: int, slack: FakeSlack, model: FakeModel, database_url: str, redis_url: str
) -> AsyncIterator[None]:
    async with AsyncExitStack() as stack:
        for _ in range(count):
            await stack.enter_async_context(
                house(
                    slack,
                    model,
                    database_url,
                    redis_url=redis_url,
                    streaming="edits",
                    call_rate=float(TIMES),
                    edit_interval_ms_min=300,
                )
            )
        yield


async def _threads(slack: FakeSlack) -> list[tuple[Channel, Message]]:
    ada = slack.user("Ada")
    channels = [slack.channel(f"harbour{number}") for number in range(THREADS // 2)]
    return [(channel, await ada.say(channel, "<@BOT> tell")) for channel in (*channels, *channels)]


@pytest.mark.parametrize("count", [1, 2], ids=["one replica", "two replicas"])
async def test_growing_replies_share_a_workspace_and_none_starves(
    slack: FakeSlack, model: FakeModel, database_url: str, redis_url: str, count: int
) -> None:
    """D4: facts/slack.md section 2: every reply grows, every final text lands, and all keep the tiers."""
    slack.rate_limits.enable_tiers(times=TIMES)
    model.answer(grow)
    said = " ".join(WORDS)
    async with replicas(count, slack, model, database_url, redis_url):
        threads = await _threads(slack)
        for channel, root in threads:
            await slack.wait_until(
                lambda: texts(slack, channel, root) == [said],  # noqa: B023
                timeout=60,
            )
    edits = Counter(
        str(call.args["ts"]) for call in slack.calls("chat.update") if call.error is None
    )
    counts = [sum(edits[page.ts] for page in slack.replies(*thread)) for thread in threads]
    # Each has its final edit; the drafts that there was room for went to all alike.
    assert min(counts) >= 1
    assert max(counts) - min(counts) <= 4
    # What travels may bunch up a little, so a call now and then is one too many.
    assert slack.rate_limits.rejected_methods["chat.update"] <= 2


async def test_a_limit_that_one_reply_runs_into_leaves_other_methods_and_workspaces_alone(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D4: no edit in that channel until Retry-After is over; posts go on meanwhile."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Say("Half"), Gate("half"), Say(" and half.")], [Say("Quick."), Gate("never")])
    async with house(slack, model, database_url, streaming="edits"):
        slow = await ada.say(harbour, "<@BOT> slow")
        await until_growing(slack, harbour, slow, "Half")
        limited = slack.fail_next("chat.update", status=429, retry_after=2)
        model.release("half")
        async with asyncio.timeout(10):
            await limited.reached.wait()
        quick = await ada.say(harbour, "<@BOT> quick")
        await until_growing(slack, harbour, quick, "Quick.")
        assert [call.status for call in slack.calls("chat.update")][-1] == 429
        await until_says(slack, harbour, slow, "Half and half.")
    refused, after = slack.calls("chat.update")[-2:]
    assert after.at - refused.at >= 1.99


async def test_many_messages_of_one_person_ask_once_who_they_are(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D4: users.info is counted too."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    hung = slack.fail_next("users.info", hang=True)
    async with house(slack, model, database_url):
        asked = [await ada.say(harbour, f"<@BOT> {number}") for number in range(10)]
        async with asyncio.timeout(10):
            await hung.reached.wait()
        hung.release()
        for root in asked:
            await until_says(slack, harbour, root, "All right.")
    about = [call.args["user"] for call in slack.calls("users.info")]
    assert about.count(ada.id) == 1


async def test_posts_in_a_channel_keep_a_second_apart(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D4: chat.postMessage takes one a second in a channel, whatever thread it is for."""
    ada, harbour, quay = slack.user("Ada"), slack.channel("harbour"), slack.channel("quay")
    slack.rate_limits.enable_posting()
    async with house(slack, model, database_url, call_rate=1.0):
        asked = [(harbour, await ada.say(harbour, "<@BOT> hi")) for _ in range(3)]
        asked.append((quay, await ada.say(quay, "<@BOT> hi")))
        for channel, root in asked:
            await until_says(slack, channel, root, "All right.")
    posts = [c for c in slack.calls("chat.postMessage") if c.args["channel"] == harbour.id]
    # On a busy machine one may travel longer than the next.
    assert posts[-1].at - posts[0].at >= 1.8
    assert slack.rate_limits.rejected <= 1
