"""What Slack shows beside a reply follows the chat, in whichever view the app has, and is never stuck."""

import pytest

from config.slack_agent_settings import AgentView
from tests.acceptance.slack_house import chat_of, house, until_asks, until_says
from tests.fakes.model_server import Call, FakeModel, Gate, Say
from tests.fakes.replica import eventually
from tests.fakes.slack_server import FakeSlack
from tests.fakes.slack_state import Channel, Message

SHIP = Call("ask_people", {"question": "Ship it?", "options": ["Yes", "No"]}, "call_ship")
SESSION = "agents.sessions.setStatus"
LINE = "assistant.threads.setStatus"


async def until_session(slack: FakeSlack, channel: Channel, root: Message, wanted: str) -> None:
    """Wait until the thread's session has this status, as its person sees it."""
    await slack.wait_until(lambda: slack.team.extras(channel, root).session_status == wanted)


async def until_line(slack: FakeSlack, channel: Channel, root: Message, wanted: str) -> None:
    """Wait until the older view shows this line."""
    await slack.wait_until(lambda: slack.team.extras(channel, root).status == wanted)


async def test_a_session_is_processing_waits_for_people_and_rests(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Gate("slow"), SHIP], [Gate("then"), Say("Shipped.")])
    async with house(slack, model, database_url):
        root = await ada.say(harbour, "<@BOT> ship")
        await until_session(slack, harbour, root, "processing")
        model.release("slow")
        question = await until_asks(slack, harbour, root, "Ship it?")
        await until_session(slack, harbour, root, "suspended")
        await ada.click(question, "Yes")
        await until_session(slack, harbour, root, "processing")
        model.release("then")
        await until_session(slack, harbour, root, "active")
    assert not slack.calls(LINE)


async def test_a_session_has_the_title_of_its_chat(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with house(slack, model, database_url) as wren:
        root = await ada.say(harbour, "<@BOT> hi")
        await until_session(slack, harbour, root, "active")
        chat_id = await chat_of(wren, slack, harbour, root)
        await wren.engine.details.set_title(chat_id, "Boats & <ropes>", by_human=True)
        extras = slack.team.extras(harbour, root)
        await slack.wait_until(lambda: extras.title == "Boats & <ropes>")


async def test_a_title_that_a_person_gives_is_the_chats_from_then_on(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with house(slack, model, database_url) as wren:
        root = await ada.say(harbour, "<@BOT> hi")
        await until_session(slack, harbour, root, "active")
        chat_id = await chat_of(wren, slack, harbour, root)
        renamed = {
            "type": "agent_session_title_changed",
            "channel": harbour.id,
            "thread_ts": root.ts,
            "user": ada.id,
            "title": "Boats",
        }
        slack.events.event(slack.team.workspace, renamed)

        async def is_named() -> bool:
            chat = await wren.engine.read_chat(chat_id)
            return chat is not None and chat.title == "Boats"

        assert await eventually(is_named)
        assert not await wren.engine.details.set_title(chat_id, "Generated", by_human=False)


async def test_prompts_are_suggested_when_the_agent_is_opened(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada = slack.user("Ada")
    direct = slack.dm(ada)
    started = {
        "type": "assistant_thread_started",
        "assistant_thread": {"user_id": ada.id, "channel_id": direct.id, "context": {}},
    }
    async with house(slack, model, database_url, suggested_prompts=("What is new?",)):
        await ada.open_home(direct)
        await slack.wait_until(lambda: slack.team.workspace.extras(direct.id, "").prompts)
        slack.team.workspace.extras(direct.id, "").prompts = []
        slack.events.event(slack.team.workspace, started)
        await slack.wait_until(lambda: slack.team.workspace.extras(direct.id, "").prompts)
    (prompt,) = slack.team.workspace.extras(direct.id, "").prompts
    assert prompt == {"title": "What is new?", "message": "What is new?"}


async def test_the_model_knows_what_the_person_has_open(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada = slack.user("Ada")
    direct = slack.dm(ada)
    looks = {
        "type": "app_context_changed",
        "user": ada.id,
        "channel": direct.id,
        "context": {"entities": [{"type": "slack#/types/channel_id", "value": "C42"}]},
    }
    async with house(slack, model, database_url) as wren:
        slack.events.event(slack.team.workspace, looks)
        assert await eventually(lambda: wren.engine.looks.find("slack", "T1", direct.id))
        root = await ada.say(direct, "What is this channel for?")
        await until_says(slack, direct, root, "All right.")
    assert "the channel C42 open" in str(model.streamed[-1].messages)


async def test_the_older_view_shows_a_line_and_clears_it(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """facts/slack.md 7.19: "is thinking..." is not left standing."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    slack.fail_next(SESSION, error="not_agent_app", times=9)
    model.script([Gate("slow"), Say("Done.")], [Gate("slower"), SHIP])
    async with house(slack, model, database_url):
        root = await ada.say(harbour, "<@BOT> hi")
        await until_line(slack, harbour, root, "is thinking...")
        model.release("slow")
        await until_says(slack, harbour, root, "Done.")
        await until_line(slack, harbour, root, "")
        await ada.say(harbour, "<@BOT> ship", thread_ts=root.ts)
        await until_line(slack, harbour, root, "is thinking...")
        model.release("slower")
        await until_asks(slack, harbour, root, "Ship it?")
        await until_line(slack, harbour, root, "")
    # It was asked for the newer view once, and then left alone.
    assert len(slack.calls(SESSION)) == 1


@pytest.mark.parametrize("mode", [AgentView.OFF, AgentView.ASSISTANT])
async def test_only_the_view_of_the_settings_is_used(
    slack: FakeSlack, model: FakeModel, database_url: str, mode: AgentView
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with house(slack, model, database_url, agent_view=mode):
        root = await ada.say(harbour, "<@BOT> hi")
        await until_says(slack, harbour, root, "All right.")
    assert not slack.calls(SESSION)
    assert bool(slack.calls(LINE)) is (mode is AgentView.ASSISTANT)


async def test_a_reply_does_not_mind_that_there_is_no_view_at_all(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    slack.fail_next(SESSION, error="unknown_method", times=9)
    slack.fail_next(LINE, error="missing_scope", times=9)
    async with house(slack, model, database_url):
        for _ in range(2):
            root = await ada.say(harbour, "<@BOT> hi")
            await until_says(slack, harbour, root, "All right.")
    assert (len(slack.calls(SESSION)), len(slack.calls(LINE))) == (1, 1)


async def test_a_status_that_hangs_holds_nothing_up(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    hanging = slack.fail_next(SESSION, hang=True)
    async with house(slack, model, database_url):
        root = await ada.say(harbour, "<@BOT> hi")
        await until_says(slack, harbour, root, "All right.")
        hanging.release()
        await until_session(slack, harbour, root, "active")


async def test_whoever_goes_on_with_a_reply_brings_its_status_right(
    slack: FakeSlack, model: FakeModel, database_url: str, redis_url: str
) -> None:
    """facts/slack.md 7.19: a replica that stops in mid-reply leaves no session that processes for ever."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Gate("first"), Say("Gone.")], [Gate("second"), Say("Here.")])
    async with house(slack, model, database_url, redis_url=redis_url):
        root = await ada.say(harbour, "<@BOT> hi")
        await until_session(slack, harbour, root, "processing")
    async with house(slack, model, database_url, redis_url=redis_url):
        model.release("second")
        await until_says(slack, harbour, root, "Here.")
        await until_session(slack, harbour, root, "active")
