"""The app's home: a person's chats with ways to them, and for admins the channels."""

from tests.acceptance.slack_house import chat_of, house, until_growing, until_says
from tests.fakes.model_server import FakeModel, Gate, Say
from tests.fakes.slack_people import Person
from tests.fakes.slack_server import FakeSlack
from tests.fakes.slack_surfaces import Surfaces


async def opened(slack: FakeSlack, person: Person, *words: str) -> Surfaces:
    """Open the home and wait until it says all of this."""
    surfaces = Surfaces(slack, person)
    await person.open_home(slack.dm(person), tab="home")
    await slack.wait_until(lambda: all(word in surfaces.home_text() for word in words))
    return surfaces


async def test_the_home_lists_the_chats_of_its_person(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, bo, harbour = slack.user("Ada"), slack.user("Bo"), slack.channel("harbour")
    async with house(slack, model, database_url):
        await opened(slack, ada, "You have no chats yet", "You have spent")
        theirs = await bo.say(harbour, "<@BOT> Bo's secret")
        question = await ada.say(harbour, "<@BOT> <!here> When is *low* tide?")
        await until_says(slack, harbour, theirs, "All right.")
        await until_says(slack, harbour, question, "All right.")
        surfaces = await opened(slack, ada, "low tide?", "at rest", f"<#{harbour.id}>")
    assert "Bo's secret" not in surfaces.home_text()
    assert "<!here>" not in surfaces.home_text()
    assert "Channels" not in surfaces.home_text()


async def test_a_chat_is_stopped_from_the_home(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Say("A tale "), Gate("slow"), Say("goes on.")])
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> tell")
        await until_growing(slack, harbour, question, "A tale")
        surfaces = await opened(slack, ada, "working")
        await surfaces.press_in_home("Stop")
        await slack.wait_until(lambda: not slack.replies(harbour, question)[-1].buttons)
        await opened(slack, ada, "at rest")
        assert (await surfaces.press_in_home("Open")).is_acked


async def test_the_home_has_pages(slack: FakeSlack, model: FakeModel, database_url: str) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with house(slack, model, database_url) as wren:
        for number in range(17):
            question = await ada.say(harbour, f"<@BOT> number {number:02}")
            await until_says(slack, harbour, question, "All right.")
        chat = await chat_of(wren, slack, harbour, question)
        assert chat
        surfaces = await opened(slack, ada, "number 16", "number 02")
        assert "number 01" not in surfaces.home_text()
        await surfaces.press_in_home("Older")
        await slack.wait_until(lambda: "number 00" in surfaces.home_text())
        assert "number 02" not in surfaces.home_text()
        await surfaces.press_in_home("Newest")
        await slack.wait_until(lambda: "number 16" in surfaces.home_text())
    assert len(surfaces.home()) <= 100


async def test_admins_see_which_channels_have_chats(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, bo, harbour = slack.user("Ada"), slack.user("Bo"), slack.channel("harbour")
    async with house(slack, model, database_url, admins=(bo.id,)):
        question = await ada.say(harbour, "<@BOT> hi")
        await until_says(slack, harbour, question, "All right.")
        surfaces = await opened(slack, bo, "Channels", f"<#{harbour.id}>: 1 chats", "busy: queue")
    assert "hi" not in surfaces.home_text().split("Channels")[0].splitlines()


async def test_a_home_that_was_published_meanwhile_is_published_again(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada = slack.user("Ada")
    slack.fail_next("views.publish", error="hash_conflict")
    async with house(slack, model, database_url):
        await opened(slack, ada, "no chats yet")
    assert len(slack.calls("views.publish")) == 2
