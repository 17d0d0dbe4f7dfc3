"""People say what they think of replies: by a press, with a word on what was wrong, once for each."""

import pytest

from config.slack_stream_settings import SlackStreaming
from engine.chat.feedback import Rating
from tests.acceptance.slack_house import House, house, until_says
from tests.fakes.model_server import Call, FakeModel, Gate, Say
from tests.fakes.replica import eventually
from tests.fakes.slack_server import FakeSlack
from tests.fakes.slack_shown import ShownMessage

pytestmark = pytest.mark.parametrize("slack", list(SlackStreaming), indirect=True)
SHIP = Call("ask_people", {"question": "Ship it?", "options": ["Yes", "No"]}, "call_ship")


def asks(shown: ShownMessage) -> bool:
    """Whether the message asks what people think of it."""
    return any(block["type"] == "context_actions" for block in shown.blocks)


async def kept(wren: House, count: int) -> list[Rating]:
    """What is kept, once there is so much of it, the newest first."""

    async def met() -> list[Rating] | None:
        found = list(await wren.engine.feedback.newest())
        return found if len(found) >= count else None

    return await eventually(met) or []


async def until_asked(slack: FakeSlack, shown: ShownMessage) -> ShownMessage:
    """The reply once it asks what people think of it."""
    channel = slack.team.workspace.channels[shown.channel_id]
    root = shown.thread_ts or shown.ts

    def met() -> ShownMessage | None:
        found = [m for m in slack.replies(channel, root) if m.ts == shown.ts and asks(m)]
        return found[0] if found else None

    found = await slack.wait_until(met)
    assert found is not None
    return found


async def test_a_press_is_kept_and_thanked_for(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, bo, harbour = slack.user("Ada"), slack.user("Bo"), slack.channel("harbour")
    async with house(slack, model, database_url, feedback=True) as wren:
        root = await ada.say(harbour, "<@BOT> hi")
        (reply,) = await until_says(slack, harbour, root, "All right.")
        reply = await until_asked(slack, reply)
        await ada.rate(reply, good=True)
        await bo.rate(reply, good=True)
        ratings = await kept(wren, 2)
        assert {(rating.name, rating.is_good) for rating in ratings} == {
            ("Ada", True),
            ("Bo", True),
        }
        (told,) = await slack.wait_until(lambda: slack.ephemerals(ada))
        assert "Thank you" in told.plain


async def test_a_bad_answer_may_be_told_why(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with house(slack, model, database_url, feedback=True) as wren:
        root = await ada.say(harbour, "<@BOT> hi")
        (reply,) = await until_says(slack, harbour, root, "All right.")
        await ada.rate(await until_asked(slack, reply), good=False)
        (rating,) = await kept(wren, 1)
        assert (rating.is_good, rating.comment) == (False, "")
        form = await slack.wait_until(lambda: slack.modal(ada))
        assert form is not None
        await ada.submit_view(form, {"In your words": "<!here> wrong boat"})

        async def told_why() -> bool:
            (found,) = await wren.engine.feedback.newest()
            return found.comment == "<!here> wrong boat"

        assert await eventually(told_why)


async def test_only_whole_answers_ask(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """Not while an answer grows, not with a question, not of one that was stopped."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Say("First."), SHIP], [Say("Then"), Gate("slow"), Say(" more.")])
    async with house(slack, model, database_url, feedback=True):
        root = await ada.say(harbour, "<@BOT> ship")
        await slack.wait_until(lambda: len(slack.replies(harbour, root)) == 2)
        question = slack.replies(harbour, root)[1]
        await ada.click(question, "Yes")
        await slack.wait_until(lambda: len(slack.replies(harbour, root)) == 3)
        await ada.say(harbour, "stop", thread_ts=root.ts)
        await slack.wait_until(lambda: "Stopped" in slack.replies(harbour, root)[2].plain)
        assert not any(asks(shown) for shown in slack.replies(harbour, root))


@pytest.mark.parametrize("feedback", [True, False])
async def test_nobody_is_asked_where_it_is_switched_off(
    slack: FakeSlack, model: FakeModel, database_url: str, *, feedback: bool
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with house(slack, model, database_url, feedback=feedback):
        root = await ada.say(harbour, "<@BOT> hi")
        (reply,) = await until_says(slack, harbour, root, "All right.")
        if feedback:
            await until_asked(slack, reply)
    assert asks(slack.replies(harbour, root)[0]) is feedback


async def test_a_press_on_what_is_not_there_any_more_is_told(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with house(slack, model, database_url, feedback=True) as wren:
        root = await ada.say(harbour, "<@BOT> hi")
        (reply,) = await until_says(slack, harbour, root, "All right.")
        reply = await until_asked(slack, reply)
        await ada.edit(root, "<@BOT> hello")
        await slack.wait_until(lambda: len(model.streamed) == 2)
        await ada.rate(reply, good=True)
        (told,) = await slack.wait_until(lambda: slack.ephemerals(ada))
        assert "not there any more" in told.plain
        assert await wren.engine.feedback.newest() == ()
