"""Modals of the command and the shortcuts: opened in time, sent to any replica, carried out once."""

import pytest

from adapters.slack.manifest import ASK_CALLBACK, NEW_CHAT_CALLBACK
from tests.acceptance.configured import configure
from tests.acceptance.slack_house import answers, chat_of, house, until_says
from tests.acceptance.test_slack_commands import COMMAND, until_asked, until_told
from tests.fakes.model_server import FakeModel
from tests.fakes.replica import eventually
from tests.fakes.slack_people import Person
from tests.fakes.slack_server import FakeSlack
from tests.fakes.slack_state import View
from tests.fakes.slack_surfaces import Surfaces

HOSTILE = "<!channel> *x* `&lt;` " + "🌊" * 900
PROMPT = "Your question"
ABOUT = "What do you want to know?"


async def until_open(slack: FakeSlack, person: Person) -> View:
    """Wait until the person has a modal before them."""
    view = await slack.wait_until(lambda: slack.modal(person))
    assert view is not None
    return view


async def until_asking(slack: FakeSlack, person: Person) -> View:
    """Wait until the modal before the person is one that can be sent."""

    def met() -> View | None:
        view = slack.modal(person)
        return view if view is not None and view.content.get("submit") else None

    view = await slack.wait_until(met)
    assert view is not None
    return view


async def test_new_without_a_question_asks_for_it_in_a_modal(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with house(slack, model, database_url):
        await ada.command(COMMAND, "new", harbour)
        view = await until_open(slack, ada)
        await ada.submit_view(view, {PROMPT: "  \n"})
        assert "Please write" in view.errors["tw:prompt"]
        await ada.submit_view(view, {PROMPT: HOSTILE})
        assert slack.modal(ada) is None
        asked = await until_asked(slack, harbour, "🌊")
        await until_says(slack, harbour, asked.ts, "All right.")
    assert asked.pings <= {ada.id}
    # What is typed in a modal comes as it was typed.
    assert model.streamed[0].last_text == f"Ada: {HOSTILE}"


async def test_a_modal_is_sent_to_another_replica_after_a_restart(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """What a modal needs is in it: no process remembers it."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with house(slack, model, database_url):
        await ada.command(COMMAND, "new", harbour)
        view = await until_open(slack, ada)
    async with house(slack, model, database_url):
        await ada.submit_view(view, {PROMPT: "Who are you?"})
        asked = await until_asked(slack, harbour, "Who are you?")
        await until_says(slack, harbour, asked.ts, "All right.")


async def test_a_submission_that_comes_twice_asks_once(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D2"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with house(slack, model, database_url):
        await ada.command(COMMAND, "new", harbour)
        sent = await ada.submit_view(await until_open(slack, ada), {PROMPT: "Once?"})
        await slack.replay(sent)
        asked = await until_asked(slack, harbour, "Once?")
        await until_says(slack, harbour, asked.ts, "All right.")
        await slack.wait_until_settled()
    assert len(slack.timeline(harbour)) == 1


async def test_a_modal_that_is_cancelled_does_nothing(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with house(slack, model, database_url):
        await ada.command(COMMAND, "new", harbour)
        await ada.close_view(await until_open(slack, ada))
        await slack.wait_until_settled()
    assert slack.timeline(harbour) == []


async def test_who_may_not_be_answered_there_is_told_after_the_modal(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, bo = slack.user("Ada"), slack.user("Bo")
    elsewhere = slack.channel("elsewhere", members=(bo,))
    async with house(slack, model, database_url):
        await ada.command(COMMAND, "new", elsewhere)
        await ada.submit_view(await until_open(slack, ada), {PROMPT: "Hello?"})
        await until_told(slack, ada, "Invite me")
    assert slack.timeline(elsewhere) == []


async def test_a_modal_that_cannot_be_opened_is_told_of(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """facts/slack.md 7.23: expired_trigger_id"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    slack.fail_next("views.open", error="expired_trigger_id")
    async with house(slack, model, database_url):
        await ada.command(COMMAND, "new", harbour)
        await until_told(slack, ada, "could not open the form")


@pytest.mark.parametrize("in_thread", [False, True], ids=["message", "reply"])
async def test_the_shortcut_of_a_message_asks_about_it_in_its_thread(
    slack: FakeSlack, model: FakeModel, database_url: str, *, in_thread: bool
) -> None:
    ada, bo, harbour = slack.user("Ada"), slack.user("Bo"), slack.channel("harbour")
    root = await bo.say(harbour, "Has anybody seen my boat?")
    message = root
    if in_thread:
        message = await bo.say(harbour, "The &lt;red&gt; one.", thread_ts=root.ts)
    async with house(slack, model, database_url):
        await Surfaces(slack, ada).message_shortcut(harbour, message, ASK_CALLBACK)
        view = await until_open(slack, ada)
        await ada.submit_view(view, {ABOUT: "Where is it?"})
        await slack.wait_until(lambda: len(answers(slack, harbour, root)) == 2)
        shown = answers(slack, harbour, root)
        await slack.wait_until(lambda: answers(slack, harbour, root)[-1].plain == "All right.")
    assert "Where is it?" in shown[0].plain
    asked = str(model.streamed[0].messages)
    assert "Where is it?" in asked
    assert ("The <red> one." if in_thread else "Has anybody seen my boat?") in asked


async def test_the_shortcut_goes_on_with_the_chat_of_a_thread(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.say("One.")
    model.say("Two.")
    async with house(slack, model, database_url):
        root = await ada.say(harbour, "<@BOT> one")
        await until_says(slack, harbour, root, "One.")
        await Surfaces(slack, ada).message_shortcut(harbour, root, ASK_CALLBACK)
        await ada.submit_view(await until_open(slack, ada), {ABOUT: "And?"})
        await slack.wait_until(lambda: answers(slack, harbour, root)[-1].plain == "Two.")
    assert "One." in str(model.streamed[1].messages)


async def test_the_global_shortcut_begins_a_chat_where_its_person_says(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with house(slack, model, database_url):
        await Surfaces(slack, ada).global_shortcut(NEW_CHAT_CALLBACK)
        view = await until_open(slack, ada)
        await ada.submit_view(view, {PROMPT: "Here?", "Channel": harbour.id})
        asked = await until_asked(slack, harbour, "Here?")
        await until_says(slack, harbour, asked.ts, "All right.")
        await Surfaces(slack, ada).global_shortcut(NEW_CHAT_CALLBACK)
        await ada.submit_view(await until_open(slack, ada), {PROMPT: "Alone?"})
        direct = slack.dm(ada)
        asked = await until_asked(slack, direct, "Alone?")
        await until_says(slack, direct, asked.ts, "All right.")


async def test_a_shortcut_of_somebody_else_is_acknowledged_alone(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada = slack.user("Ada")
    async with house(slack, model, database_url):
        delivery = await Surfaces(slack, ada).global_shortcut("theirs")
        assert delivery.is_acked
    assert not slack.calls("views.open")


async def test_the_model_of_a_chat_is_chosen_in_a_modal(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, bo, harbour = slack.user("Ada"), slack.user("Bo"), slack.channel("harbour")
    async with house(slack, model, database_url) as wren:
        await ada.command(COMMAND, "model", harbour)
        assert "no model to choose" in str((await until_open(slack, ada)).blocks)
        await configure(wren.engine, "lamps", model.url, "lantern", "kite")
        question = await ada.say(harbour, "<@BOT> hi")
        await until_says(slack, harbour, question, "All right.")
        chat_id = await chat_of(wren, slack, harbour, question)
        await bo.command(COMMAND, "model", harbour)
        assert "no chats" in str((await until_open(slack, bo)).blocks)
        await ada.command(COMMAND, "model", harbour)
        view = await until_asking(slack, ada)
        await ada.submit_view(view, {"Model": "lamps:kite"})
        await until_told(slack, ada, "From its next answer on", "lamps:kite")
        chat = await wren.engine.read_chat(chat_id)
        assert chat is not None
        assert chat.model == "lamps:kite"
        await ada.command(COMMAND, "model", harbour)
        await slack.wait_until(lambda: slack.modal(ada) is not view)
        again = await until_asking(slack, ada)
        await wren.engine.catalog.update_provider("lamps", {"enabled": False})

        async def is_refused() -> bool:
            await ada.submit_view(again, {"Model": "lamps:lantern"})
            return "cannot be used" in str(again.errors)

        assert await eventually(is_refused)


async def test_a_new_chat_begins_with_the_model_of_its_modal(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with house(slack, model, database_url) as wren:
        await configure(wren.engine, "lamps", model.url, "kite")
        await ada.command(COMMAND, "new", harbour)
        view = await until_open(slack, ada)
        await ada.submit_view(view, {PROMPT: "Hello?", "Model": "lamps:kite"})
        asked = await until_asked(slack, harbour, "Hello?")
        await until_says(slack, harbour, asked.ts, "All right.")
        binding = await wren.engine.bindings.find_binding("slack", "T1", harbour.id, asked.ts)
        assert binding is not None
        chat = await wren.engine.read_chat(binding.chat_id)
    assert chat is not None
    assert chat.model == "lamps:kite"
