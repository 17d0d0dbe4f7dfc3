"""Messages that are not a member's plain words: of other apps, other organizations, in blocks, forwarded, gone."""

import asyncio
from typing import Any

import pytest

from engine.chat.content import Role
from tests.acceptance.slack_house import House, chat_of, house, until_says
from tests.fakes.model_server import FakeModel
from tests.fakes.slack_server import FakeSlack


async def until_handled(slack: FakeSlack, wren: House) -> None:
    """Wait until all that Slack told was heard, and nothing is left to be worked on."""
    await slack.wait_until_settled()
    async with asyncio.timeout(10):
        while await wren.engine.inbox.waiting_count():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def test_apps_that_mention_the_agent_are_answered_where_that_is_wanted(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D10: a mention counts, a reply does not; classic apps have no user and count as well."""
    gull, harbour = slack.other_bot("Gull"), slack.channel("harbour")
    harbour.members.append(gull.user_id)
    async with house(slack, model, database_url, answer_bots=True) as wren:
        question = await gull.say(harbour, "<@BOT> the alarm rang")
        await until_says(slack, harbour, question, "All right.")
        await gull.say(harbour, "I think so too", thread_ts=question.ts)
        await until_handled(slack, wren)
        await gull.say(harbour, "<@BOT> it rings", thread_ts=question.ts, classic=True)
        await until_says(slack, harbour, question, "All right.", "All right.")
        chat_id = await chat_of(wren, slack, harbour, question)
        said = await wren.engine.read_messages(chat_id)
    authors = {m.author.identity for m in said if m.role is Role.USER and m.author}
    assert authors == {f"slack:T1:{gull.install.bot_id}"}
    assert [r.last_text.splitlines()[0] for r in model.streamed] == [
        "Gull: the alarm rang",
        "Gull: it rings",
    ]
    assert slack.ephemerals(slack.user("Ada")) == []


async def test_two_agents_that_mention_each_other_fall_silent(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """B38, B03: so many turns without a person; a person's word lets them talk on."""
    ada, gull, harbour = slack.user("Ada"), slack.other_bot("Gull"), slack.channel("harbour")
    harbour.members.append(gull.user_id)
    async with house(slack, model, database_url, answer_bots=True, bot_turns_max=2) as wren:
        question = await ada.say(harbour, "<@BOT> talk to Gull")
        await until_says(slack, harbour, question, "All right.")
        for count in (2, 3):
            await gull.say(harbour, "<@BOT> and you?", thread_ts=question.ts)
            await until_says(slack, harbour, question, *["All right."] * count)
        for _ in range(3):
            await gull.say(harbour, "<@BOT> and you?", thread_ts=question.ts)
        await until_handled(slack, wren)
        assert len(model.streamed) == 3
        await ada.say(harbour, "go on", thread_ts=question.ts)
        await until_says(slack, harbour, question, *["All right."] * 4)
        await gull.say(harbour, "<@BOT> and you?", thread_ts=question.ts)
        await until_says(slack, harbour, question, *["All right."] * 5)


async def test_the_agents_own_words_start_nothing_however_they_come_back(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """B03, facts/slack.md 7.20: own posts and edits as events, with the mention in them."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    bot = slack.bot
    own: dict[str, Any] = {
        "bot_id": bot.bot_id,
        "app_id": bot.app_id,
        "text": f"{bot.mention} hi",
        "channel": "",
    }
    async with house(slack, model, database_url, answer_bots=True) as wren:
        question = await ada.say(harbour, "<@BOT> hi")
        (answer,) = await until_says(slack, harbour, question, "All right.")
        own |= {"channel": harbour.id, "thread_ts": question.ts, "channel_type": "channel"}
        for number, event in enumerate(
            [
                own | {"type": "message", "user": bot.user_id},
                own | {"type": "app_mention", "user": bot.user_id},
                own | {"type": "message", "subtype": "bot_message", "username": "Wren"},
                own | {"type": "message", "user": bot.user_id, "bot_id": "BOTHER"},
            ]
        ):
            await slack.emit(event | {"ts": f"1700000000.00000{number}"})
        long: dict[str, Any] = {
            "user": ada.id,
            "ts": question.ts,
            "text": "x" * 5000,
            "thread_ts": question.ts,
        }
        changed: list[dict[str, Any]] = [
            own | {"ts": answer.ts, "user": bot.user_id, "edited": {"ts": "1700000009.000000"}},
            # Of a long text Slack tells again, without anybody having edited it.
            long,
            long | {"edited": {}},
            long | {"subtype": "assistant_app_thread", "edited": {}},
        ]
        for message in changed:
            await slack.emit(
                {
                    "type": "message",
                    "subtype": "message_changed",
                    "channel": harbour.id,
                    "channel_type": "im",
                    "message": message,
                    "previous_message": long | {"text": "x"},
                    "ts": "1700000010.000000",
                }
            )
        await until_handled(slack, wren)
        await ada.say(harbour, "go on", thread_ts=question.ts)
        await until_says(slack, harbour, question, "All right.", "All right.")
    assert len(model.streamed) == 2


async def test_a_thread_whose_root_is_an_alert_in_blocks_is_understood(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, gull, harbour = slack.user("Ada"), slack.other_bot("Gull"), slack.channel("harbour")
    blocks: list[dict[str, Any]] = [
        {"type": "header", "text": {"type": "plain_text", "text": "Disk full"}},
        {"type": "section", "fields": [{"type": "mrkdwn", "text": "*Host* db1 &amp; db2"}]},
    ]
    alarm = {"title": "Runbook", "text": "Delete <https://x.example|old logs>", "fallback": "no"}
    async with house(slack, model, database_url):
        root = await gull.say(harbour, "", blocks=blocks, attachments=[alarm])
        await ada.say(harbour, "<@BOT> what is it?", thread_ts=root.ts)
        await until_says(slack, harbour, root, "All right.")
    asked = model.streamed[0].last_text.splitlines()
    assert asked[-4:] == [
        "> Gull (an app): Disk full",
        ">   *Host* db1 & db2",
        ">   Runbook",
        ">   Delete old logs (https://x.example)",
    ]


async def test_a_forwarded_message_is_read_and_a_preview_is_not(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, bo, harbour = slack.user("Ada"), slack.user("Bo"), slack.channel("harbour")
    async with house(slack, model, database_url) as wren:
        theirs = await bo.say(harbour, "The tide\nturns")
        theirs.text = ""
        question = await ada.say(harbour, "<@BOT> when?", forwards=theirs)
        await until_says(slack, harbour, question, "All right.")
        await slack.team.unfurl(question)
        await until_handled(slack, wren)
    assert model.streamed[0].last_text == "Ada: when?\n(Forwarded from Bo:)\n> The tide\n> turns"
    assert len(model.streamed) == 1


async def test_somebody_of_another_organization_has_one_identity(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """Slack Connect: by their own workspace, whatever event tells of them."""
    eve = slack.team.user("Eve", home="T9")
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with house(slack, model, database_url):
        question = await eve.say(harbour, "<@BOT> hi")
        await until_says(slack, harbour, question, "All right.")
    # First Slack's own word was all that told it, now the event is.
    harbour.is_ext_shared = True
    slack.fail_next("users.info", times=100, error="user_not_found")
    async with house(slack, model, database_url) as wren:
        await eve.say(harbour, "and?", thread_ts=question.ts)
        await until_says(slack, harbour, question, "All right.", "All right.")
        await ada.say(harbour, "me too", thread_ts=question.ts)
        await until_says(slack, harbour, question, *["All right."] * 3)
        chat_id = await chat_of(wren, slack, harbour, question)
        said = await wren.engine.read_messages(chat_id)
    authors = [m.author.identity for m in said if m.role is Role.USER and m.author]
    assert authors == [f"slack:T9:{eve.id}", f"slack:T9:{eve.id}", f"slack:T1:{ada.id}"]


async def test_a_parent_that_became_a_tombstone_was_deleted(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D11: a deleted parent with replies is told as an edit; the thread goes on without its words."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with house(slack, model, database_url) as wren:
        question = await ada.say(harbour, "<@BOT> my password is tern")
        await until_says(slack, harbour, question, "All right.")
        await ada.delete(question)
        await until_handled(slack, wren)
        await ada.say(harbour, "still there?", thread_ts=question.ts)
        await until_says(slack, harbour, question, "All right.", "All right.")
    assert "tern" in model.streamed[0].last_text
    assert "tern" not in str(model.streamed[1].messages)
    assert len(model.streamed) == 2


async def test_a_broadcast_reply_is_one_message(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D2"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with house(slack, model, database_url) as wren:
        question = await ada.say(harbour, "<@BOT> hi")
        await until_says(slack, harbour, question, "All right.")
        loud = await ada.say(harbour, "<@BOT> all", thread_ts=question.ts, broadcast=True)
        await until_says(slack, harbour, question, "All right.", "All right.")
        await ada.edit(loud, "<@BOT> all of you")
        await until_handled(slack, wren)
        await ada.say(harbour, "well?", thread_ts=question.ts)
        await slack.wait_until(lambda: len(model.streamed) == 4)
    assert [r.last_text for r in model.streamed] == [
        "Ada: hi",
        "Ada: all",
        "Ada: all of you",
        "Ada: well?",
    ]


@pytest.mark.parametrize(
    "subtype",
    ["channel_topic", "pinned_item", "reminder_add", "huddle_thread", "bot_add", "of_tomorrow"],
)
async def test_what_happened_in_a_channel_is_no_message(
    slack: FakeSlack, model: FakeModel, database_url: str, subtype: str
) -> None:
    """D10"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with house(slack, model, database_url) as wren:
        question = await ada.say(harbour, "<@BOT> hi")
        await until_says(slack, harbour, question, "All right.")
        await slack.emit(
            {
                "type": "message",
                "subtype": subtype,
                "user": ada.id,
                "text": f"{slack.bot.mention} hi",
                "channel": harbour.id,
                "ts": "1700000000.000001",
                "thread_ts": question.ts,
            }
        )
        await until_handled(slack, wren)
    assert len(model.streamed) == 1
