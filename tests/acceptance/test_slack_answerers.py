"""Who may answer a question on Slack: the asker, named people, groups of ours and of Slack's, or anyone."""

import pytest

from adapters.slack.intake import EventKind
from engine.api import InboxEvent
from engine.chat.view import ShownStatus
from tests.acceptance.slack_house import (
    House,
    chat_of,
    house,
    until_asks,
    until_says,
)
from tests.acceptance.slack_tools import people_tool
from tests.fakes.model_server import Call, FakeModel, Say
from tests.fakes.slack_people import Person
from tests.fakes.slack_server import FakeSlack
from tests.fakes.slack_shown import ShownMessage
from tests.fakes.slack_state import Channel, Message

CALL = Call("ask_crew", {"question": "Sail?"}, "call_sail")
OK = {"ok": {"type": "boolean"}}
NOTE = {"note": {"type": "string", "title": "Note"}, "more": {"type": "string"}}

both = pytest.mark.parametrize("over_http", [False, True], ids=["socket", "http"])


async def asked_by(
    slack: FakeSlack, model: FakeModel, asker: Person, channel: Channel
) -> tuple[Message, ShownMessage]:
    """Have somebody ask, so that Wren asks back."""
    model.script([CALL], [Say("Aye.")])
    root = await asker.say(channel, "<@BOT> shall we?")
    return root, await until_asks(slack, channel, root, "Sail?")


async def is_told(slack: FakeSlack, person: Person, *said: str) -> None:
    """Wait until the person was told exactly this, alone."""
    await slack.wait_until(lambda: len(slack.ephemerals(person)) >= len(said))
    assert [message.plain for message in slack.ephemerals(person)] == list(said)


async def still_asks(wren: House, slack: FakeSlack, channel: Channel, root: Message) -> None:
    chat_id = await chat_of(wren, slack, channel, root)
    assert (await wren.replica.view(chat_id)).status is ShownStatus.REQUIRES_ACTION


@both
async def test_only_whoever_asked_may_answer_where_the_tool_says_so(
    slack: FakeSlack, model: FakeModel, database_url: str, *, over_http: bool
) -> None:
    """D8, B30: a second user's click changes nothing, and they alone are told who may."""
    ada, bo, harbour = slack.user("Ada"), slack.user("Bo"), slack.channel("harbour")
    tool = people_tool(OK, answerers="asker")
    async with house(
        slack, model, database_url, over_http=over_http, dynamic_tools=(tool,)
    ) as wren:
        root, asked = await asked_by(slack, model, ada, harbour)
        assert asked.plain == "❓ Sail?\nOnly Ada may answer this."
        harbour.members.append(bo.id)
        await bo.click(asked, "Yes")
        await is_told(slack, bo, "Only Ada may answer this.")
        await still_asks(wren, slack, harbour, root)
        await ada.click(asked, "Yes")
        await until_says(slack, harbour, root, "❓ Sail?\n✅ Ada answered: Yes", "Aye.")
        assert slack.ephemerals(ada) == []


async def test_anyone_in_the_thread_may_answer_where_the_tool_says_nothing(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D8"""
    ada, bo, harbour = slack.user("Ada"), slack.user("Bo"), slack.channel("harbour")
    async with house(slack, model, database_url, dynamic_tools=(people_tool(OK),)):
        root, asked = await asked_by(slack, model, ada, harbour)
        await bo.click(asked, "No")
        await until_says(slack, harbour, root, "❓ Sail?\n✅ Bo answered: No", "Aye.")


async def test_named_people_may_answer_and_are_named_to_others(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D8"""
    ada, bo, cy = (slack.user(name) for name in ("Ada", "Bo", "Cy"))
    harbour = slack.channel("harbour")
    people = [f"slack:T1:{bo.id}", f"slack:T1:{cy.id}"]
    tool = people_tool(OK, answerers=people)
    async with house(slack, model, database_url, dynamic_tools=(tool,)):
        root, asked = await asked_by(slack, model, ada, harbour)
        assert asked.plain == "❓ Sail?\nOnly Bo or Cy may answer this."
        harbour.members += [bo.id, cy.id]
        await ada.click(asked, "Yes")
        await is_told(slack, ada, "Only Bo or Cy may answer this.")
        await cy.click(asked, "Yes")
        await until_says(slack, harbour, root, "❓ Sail?\n✅ Cy answered: Yes", "Aye.")


async def test_a_name_in_a_refusal_pings_nobody(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D7"""
    ada, bo = slack.user("Ada"), slack.user("Bo")
    harbour = slack.channel("harbour")
    wild = slack.user("<!channel>")
    tool = people_tool(OK, answerers=[f"slack:T1:{wild.id}"])
    async with house(slack, model, database_url, dynamic_tools=(tool,)):
        _, asked = await asked_by(slack, model, ada, harbour)
        harbour.members.append(bo.id)
        await bo.click(asked, "Yes")
        (told,) = await slack.wait_until(lambda: slack.ephemerals(bo))
        assert told.plain == "Only <!channel> may answer this."
        assert not told.pings


async def test_members_of_a_group_that_administrators_keep_may_answer(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D8: as the group is when they click, not when it was asked."""
    ada, bo, harbour = slack.user("Ada"), slack.user("Bo"), slack.channel("harbour")
    tool = people_tool(OK, answerers="group:crew")
    async with house(slack, model, database_url, dynamic_tools=(tool,)) as wren:
        root, asked = await asked_by(slack, model, ada, harbour)
        harbour.members.append(bo.id)
        await bo.click(asked, "Yes")
        await is_told(slack, bo, "Only members of crew may answer this.")
        await wren.engine.limits.add_members("crew", [f"slack:T1:{bo.id}"])
        await bo.click(asked, "Yes")
        await until_says(slack, harbour, root, "❓ Sail?\n✅ Bo answered: Yes", "Aye.")


async def test_members_of_a_slack_user_group_may_answer(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D8: the group is read once, not for every click."""
    ada, bo, harbour = slack.user("Ada"), slack.user("Bo"), slack.channel("harbour")
    group_id = slack.team.usergroup("pilots", bo)
    tool = people_tool(OK, answerers=f"usergroup:slack:T1:{group_id}")
    async with house(slack, model, database_url, dynamic_tools=(tool,)):
        root, asked = await asked_by(slack, model, ada, harbour)
        assert asked.plain == "❓ Sail?\nOnly members of @pilots may answer this."
        assert not asked.pings
        await ada.click(asked, "Yes")
        await is_told(slack, ada, "Only members of @pilots may answer this.")
        await bo.click(asked, "Yes")
        await until_says(slack, harbour, root, "❓ Sail?\n✅ Bo answered: Yes", "Aye.")
    assert len(slack.calls("usergroups.users.list")) == 1


async def test_a_user_group_that_may_not_be_read_has_no_members(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D8: without the scope nobody passes, and whoever clicks is still told."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    group_id = slack.team.usergroup("pilots", ada)
    slack.bot.scopes = slack.bot.scopes - {"usergroups:read"}
    tool = people_tool(OK, answerers=["asker", f"usergroup:slack:T1:{group_id}"])
    bo = slack.user("Bo")
    async with house(slack, model, database_url, dynamic_tools=(tool,)):
        root, asked = await asked_by(slack, model, ada, harbour)
        harbour.members.append(bo.id)
        await bo.click(asked, "Yes")
        words = f"Only Ada or members of the user group {group_id} may answer this."
        await is_told(slack, bo, words)
        await ada.click(asked, "Yes")
        await until_says(slack, harbour, root, "❓ Sail?\n✅ Ada answered: Yes", "Aye.")


async def test_a_click_waits_until_slack_tells_who_is_in_the_group(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D8, D12: an outage neither lets anybody in nor keeps anybody out."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    group_id = slack.team.usergroup("pilots", ada)
    tool = people_tool(OK, answerers=f"usergroup:slack:T1:{group_id}")
    async with house(slack, model, database_url, dynamic_tools=(tool,)):
        root, asked = await asked_by(slack, model, ada, harbour)
        slack.fail_next("usergroups.users.list", status=503)
        await ada.click(asked, "Yes")
        await until_says(slack, harbour, root, "❓ Sail?\n✅ Ada answered: Yes", "Aye.")


@both
async def test_a_form_opens_for_those_who_may_answer_alone(
    slack: FakeSlack, model: FakeModel, database_url: str, *, over_http: bool
) -> None:
    """D8: nobody fills in a form in vain; the modal says who may."""
    ada, bo, harbour = slack.user("Ada"), slack.user("Bo"), slack.channel("harbour")
    tool = people_tool(NOTE, answerers="asker")
    async with house(slack, model, database_url, over_http=over_http, dynamic_tools=(tool,)):
        root, asked = await asked_by(slack, model, ada, harbour)
        await bo.click(asked, "Answer…")
        shown = await slack.wait_until(lambda: slack.modal(bo))
        assert "Only Ada may answer this." in str(shown.blocks)
        await ada.click(asked, "Answer…")
        view = await slack.wait_until(lambda: slack.modal(ada))
        await ada.submit_view(view, {"Note": "aye"})
        await until_says(slack, harbour, root, "❓ Sail?\n✅ Ada answered: Note: aye", "Aye.")


async def test_the_rule_holds_when_a_form_is_sent_as_well_as_when_it_was_opened(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D8: whoever was taken out of the group meanwhile is told so in the modal."""
    ada, bo, harbour = slack.user("Ada"), slack.user("Bo"), slack.channel("harbour")
    tool = people_tool(NOTE, answerers="group:crew")
    async with house(slack, model, database_url, dynamic_tools=(tool,)) as wren:
        identity = f"slack:T1:{bo.id}"
        await wren.engine.limits.add_members("crew", [identity])
        root, asked = await asked_by(slack, model, ada, harbour)
        await bo.click(asked, "Answer…")
        view = await slack.wait_until(lambda: slack.modal(bo))
        await wren.engine.limits.remove_members("crew", [identity])
        await bo.submit_view(view, {"Note": "aye"})
        shown = slack.modal(bo)
        assert shown
        assert "Only members of crew may answer this." in str(shown.blocks)
        await still_asks(wren, slack, harbour, root)


async def test_the_rule_holds_for_a_form_that_waited_in_the_inbox(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D8: whatever was let through before, the answer is looked at when it is given."""
    ada, bo, harbour = slack.user("Ada"), slack.user("Bo"), slack.channel("harbour")
    tool = people_tool(NOTE, answerers="group:crew")
    async with house(slack, model, database_url, dynamic_tools=(tool,)) as wren:
        identity = f"slack:T1:{bo.id}"
        await wren.engine.limits.add_members("crew", [identity])
        root, asked = await asked_by(slack, model, ada, harbour)
        harbour.members.append(bo.id)
        await bo.click(asked, "Answer…")
        view = await slack.wait_until(lambda: slack.modal(bo))
        await wren.engine.limits.remove_members("crew", [identity])
        refused = await bo.submit_view(view, {"Note": "aye"})
        stored = InboxEvent(
            platform="slack",
            installation="T1",
            event_key="stored before",
            thread_key="action",
            kind=EventKind.FORM.value,
            payload=refused.body,
        )
        await wren.engine.receive(stored)
        await is_told(slack, bo, "Only members of crew may answer this.")
        await still_asks(wren, slack, harbour, root)


async def test_questions_in_a_direct_message_are_answered_there(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D8"""
    ada = slack.user("Ada")
    direct = slack.dm(ada)
    tool = people_tool(OK, answerers="asker")
    async with house(slack, model, database_url, dynamic_tools=(tool,)):
        root, asked = await asked_by(slack, model, ada, direct)
        await ada.click(asked, "Yes")
        await until_says(slack, direct, root, "❓ Sail?\n✅ Ada answered: Yes", "Aye.")


async def test_people_of_another_organization_are_told_apart_and_may_be_named(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D8: in a shared channel a person's identity is that of their own workspace."""
    ada, eve = slack.user("Ada"), slack.team.user("Eve", home="T9")
    harbour = slack.channel("harbour")
    for rule, is_let in ((f"slack:T9:{eve.id}", True), (f"slack:T1:{eve.id}", False)):
        tool = people_tool(OK, answerers=rule)
        async with house(slack, model, database_url, dynamic_tools=(tool,)):
            root, asked = await asked_by(slack, model, ada, harbour)
            harbour.members.append(eve.id)
            await eve.click(asked, "Yes")
            if is_let:
                await until_says(slack, harbour, root, "❓ Sail?\n✅ Eve answered: Yes", "Aye.")
            else:
                await is_told(slack, eve, "Only Eve may answer this.")


async def test_a_person_of_another_organization_who_asks_may_answer(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D8"""
    ada, eve = slack.user("Ada"), slack.team.user("Eve", home="T9")
    harbour = slack.channel("harbour")
    tool = people_tool(OK, answerers="asker")
    async with house(slack, model, database_url, dynamic_tools=(tool,)):
        root, asked = await asked_by(slack, model, eve, harbour)
        harbour.members.append(ada.id)
        await ada.click(asked, "Yes")
        await is_told(slack, ada, "Only Eve may answer this.")
        await eve.click(asked, "Yes")
        await until_says(slack, harbour, root, "❓ Sail?\n✅ Eve answered: Yes", "Aye.")


async def test_four_clicks_at_once_are_one_answer(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """B30: not allowed, twice, late and replayed: the tool is answered once, by who may."""
    ada, bo, harbour = slack.user("Ada"), slack.user("Bo"), slack.channel("harbour")
    tool = people_tool(OK, answerers="asker")
    async with house(slack, model, database_url, dynamic_tools=(tool,)):
        root, asked = await asked_by(slack, model, ada, harbour)
        harbour.members.append(bo.id)
        await bo.click(asked, "Yes", wait=False)
        first = await ada.click(asked, "No", wait=False)
        await ada.click(asked, "No", wait=False)
        await slack.replay(first)
        await until_says(slack, harbour, root, "❓ Sail?\n✅ Ada answered: No", "Aye.")
        await is_told(slack, bo, "Only Ada may answer this.")
        await slack.wait_until_settled()
        await ada.click(asked, "Yes")
        await is_told(slack, ada, "Ada answered this already.")
    assert model.streamed[-1].tool_result("call_sail") == {"ok": False}
    assert len(model.streamed) == 2
