"""What Slack sends is stored before it is acknowledged, and is one command however often it comes."""

import json
import time
from urllib.parse import urlsplit

import aiohttp
import pytest

from engine.chat.view import ShownStatus
from tests.acceptance.slack_house import (
    answers,
    chat_of,
    house,
    until_growing,
    until_says,
    until_true,
)
from tests.fakes.model_server import FakeModel, Gate, Say
from tests.fakes.postgres import PostgresServer
from tests.fakes.slack_announce import MentionOrder
from tests.fakes.slack_http_events import sign
from tests.fakes.slack_server import FakeSlack

both = pytest.mark.parametrize("over_http", [False, True], ids=["socket", "http"])


@both
async def test_an_event_is_acknowledged_only_once_it_is_stored(
    slack: FakeSlack,
    model: FakeModel,
    database_url: str,
    postgres: PostgresServer,
    *,
    over_http: bool,
) -> None:
    """D1, facts/slack.md 7.4: what comes again because it was not stored is no duplicate."""
    slack.http.retry_delays_seconds = (0.2,) * 60
    slack.sockets.retry_delays_seconds = (0.2,) * 60
    slack.sockets.ack_timeout_seconds = 0.3
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with house(slack, model, database_url, over_http=over_http):
        postgres.stop()
        question = await ada.say(harbour, "<@BOT> hi")
        first = slack.deliveries[-1]
        await until_true(lambda: len(first.attempts) >= 2)
        assert not any(delivery.is_acked for delivery in slack.deliveries)
        postgres.start()
        await until_says(slack, harbour, question, "All right.")
        await slack.wait_until_settled()
        assert all(delivery.is_acked for delivery in slack.deliveries)
    assert len(model.streamed) == 1


@both
@pytest.mark.parametrize("order", [MentionOrder.MENTION_FIRST, MentionOrder.MESSAGE_FIRST])
async def test_a_mention_and_its_message_are_one_command_however_often_they_come(
    slack: FakeSlack,
    model: FakeModel,
    database_url: str,
    order: MentionOrder,
    *,
    over_http: bool,
) -> None:
    """D2, B01, B02, facts/slack.md 7.1-7.3, 7.5, 7.6, 7.26: under other ids, much later, after a restart."""
    slack.events.mention_order = order
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with house(slack, model, database_url, over_http=over_http):
        question = await ada.say(harbour, "<@BOT> hi")
        twins = list(slack.deliveries)
        for delivery in twins:
            await slack.replay(delivery)
            await slack.replay(delivery, with_new_event_id=True)
        await until_says(slack, harbour, question, "All right.")
        for delivery in twins:
            await slack.replay(delivery, with_new_event_id=True)
        await slack.wait_until_settled()
    async with house(slack, model, database_url, over_http=over_http):
        for delivery in twins:
            await slack.replay(delivery, with_new_event_id=True)
        await slack.wait_until_settled()
        # A later message proves that everything before it was dealt with.
        await ada.say(harbour, "and?", thread_ts=question.ts)
        await until_says(slack, harbour, question, "All right.", "All right.")
    assert len(model.streamed) == 2


async def test_a_slow_model_does_not_hold_up_the_acknowledgement(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D1, B01"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Gate("slow"), Say("Done.")])
    async with house(slack, model, database_url, over_http=True):
        question = await ada.say(harbour, "<@BOT> hi")
        await slack.wait_until_settled()
        assert answers(slack, harbour, question) == []
        model.release("slow")
        await until_says(slack, harbour, question, "Done.")


@pytest.mark.parametrize("order", [MentionOrder.MENTION_FIRST, MentionOrder.MESSAGE_FIRST])
async def test_files_of_a_mention_are_found_in_whichever_event_has_them(
    slack: FakeSlack, model: FakeModel, database_url: str, order: MentionOrder
) -> None:
    """D2"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    slack.events.mention_order = order
    model.script([Gate("slow"), Say("Seen.")], [Say("Seen.")])
    async with house(slack, model, database_url):
        slack.sockets.hold()
        question = await ada.say(harbour, "<@BOT> look", files=[slack.file("boat.csv", b"a")])
        (mention,) = [d for d in slack.deliveries if d.event["type"] == "app_mention"]
        del mention.event["files"]
        slack.sockets.release()
        await slack.wait_until_settled()
        await until_true(lambda: "boat.csv" in str(model.streamed[-1:]))
        model.release("slow")
        await until_says(slack, harbour, question, "Seen.")
    assert len(answers(slack, harbour, question)) == 1


async def test_a_socket_that_breaks_is_replaced_and_nothing_is_lost(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D1"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with house(slack, model, database_url):
        await slack.sockets.disconnect("refresh_requested")
        question = await ada.say(harbour, "<@BOT> hi")
        await until_says(slack, harbour, question, "All right.")


async def test_a_poison_event_blocks_nobody_and_can_be_delivered_again(
    slack: FakeSlack, model: FakeModel, database_url: str, postgres: PostgresServer
) -> None:
    """D12"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    database = urlsplit(database_url).path.lstrip("/")
    async with house(slack, model, database_url) as wren:
        question = await ada.say(harbour, "<@BOT> hi")
        await until_says(slack, harbour, question, "All right.")
        chat_id = await chat_of(wren, slack, harbour, question)
        await wren.replica.until(chat_id, ShownStatus.WAITING)
        break_chat = f"UPDATE chats SET last_error = '7' WHERE id = '{chat_id}'"  # noqa: S608
        postgres.sql(break_chat, database=database)
        await ada.say(harbour, "and?", thread_ts=question.ts)
        other = await ada.say(harbour, "<@BOT> hello")
        await until_says(slack, harbour, other, "All right.")
        (told,) = await slack.wait_until(lambda: slack.ephemerals(ada))
        assert "could not deal with it" in told.plain
        (dead,) = await wren.engine.inbox.list_dead()
        assert dead.error
        postgres.sql(break_chat.replace("'7'", "NULL"), database=database)
        await wren.engine.inbox.redeliver(dead.id)
        await until_says(slack, harbour, question, "All right.", "All right.")


def _headers(secret: str, body: bytes, *, at: str | None = None, **extra: str) -> dict[str, str]:
    stamp = str(int(time.time())) if at is None else at
    number = int(stamp) if stamp.lstrip("-").isdecimal() and len(stamp) < 20 else 0
    return {
        "Content-Type": "application/json",
        "X-Slack-Request-Timestamp": stamp,
        "X-Slack-Signature": sign(secret, number, body),
        **extra,
    }


async def _post(url: str, body: bytes, headers: dict[str, str]) -> tuple[int, str]:
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{url}/slack/events", data=body, headers=headers) as answer,
    ):
        return answer.status, await answer.text()


async def test_what_is_not_signed_gets_no_further(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """B40"""
    body = json.dumps({"type": "url_verification", "challenge": "abc"}).encode()
    good = slack.signing_secret
    now = int(time.time())
    async with house(slack, model, database_url, over_http=True) as wren:
        refused: list[dict[str, str]] = [
            {"Content-Type": "application/json"},
            _headers("wrong", body),
            _headers(good, body, at=str(now - 360)),
            _headers(good, body, at=str(now + 360)),
            _headers(good, body, at="soon"),
            _headers(good, body, at="-1"),
            _headers(good, body, at="9" * 5000),
            _headers(good, body, at="²"),
            _headers(good, body) | {"X-Slack-Signature": "v0=é"},
        ]
        for headers in refused:
            assert (await _post(wren.url, body, headers))[0] == 401, headers
        status, text = await _post(wren.url, body, _headers(good, body))
        assert status == 200
        assert "abc" in text
        broken = b"\xff\xfe not utf-8"
        assert (await _post(wren.url, broken, _headers("x", broken)))[0] == 401


@pytest.mark.parametrize("body", [b"{", b"[]", b'"x"', b"7", b"null", b"[" * 100_000])
async def test_signed_nonsense_is_refused_not_a_fault(
    slack: FakeSlack, model: FakeModel, database_url: str, body: bytes
) -> None:
    async with house(slack, model, database_url, over_http=True) as wren:
        status, _ = await _post(wren.url, body, _headers(slack.signing_secret, body))
    assert status in (200, 400)


async def test_the_ssl_check_is_answered(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """B40"""
    body = b"ssl_check=1&token=x"
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    async with house(slack, model, database_url, over_http=True) as wren:
        assert (await _post(wren.url, body, form))[0] == 200
        assert await slack.http.verify_url(f"{wren.url}/slack/events")


async def test_text_is_undone_once_on_its_way_to_the_model(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """B15"""
    ada, bo, harbour = slack.user("Ada"), slack.user("Bo"), slack.channel("harbour")
    written = f"<@BOT> if (a &lt; b &amp;&amp; c) &amp;lt;br&amp;gt; {bo.mention}"
    async with house(slack, model, database_url):
        question = await ada.say(harbour, written)
        await until_says(slack, harbour, question, "All right.")
    assert model.streamed[0].last_text == "Ada: if (a < b && c) &lt;br&gt; @Bo"


async def test_what_was_heard_before_a_restart_is_answered_after_it(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D2"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Say("Half"), Gate("half"), Say(" and half.")], [Say("Half and whole.")])
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> hi")
        await until_growing(slack, harbour, question, "Half")
    async with house(slack, model, database_url):
        await until_says(slack, harbour, question, "Half and whole.")
    assert len(answers(slack, harbour, question)) == 1
