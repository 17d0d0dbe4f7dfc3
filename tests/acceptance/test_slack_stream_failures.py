"""Streams that fail: whatever Slack refuses, loses or ends, the thread shows the whole reply, once."""

import asyncio

import pytest

from adapters.slack import limits
from config.slack_stream_settings import SlackStreaming
from engine.chat.view import ShownStatus
from tests.acceptance.slack_house import (
    answers,
    chat_of,
    house,
    texts,
    until_growing,
    until_says,
    until_true,
)
from tests.acceptance.slack_streams import (
    APPEND,
    EDIT,
    POST,
    START,
    STOP,
    half_and_half,
    typed,
    until_stopped,
)
from tests.fakes.model_server import Drop, FakeModel, Gate, Say
from tests.fakes.slack_server import FakeSlack
from tests.fakes.slack_stream_state import STREAM_SECONDS_MAX, StreamState

pytestmark = pytest.mark.parametrize("slack", [SlackStreaming.AUTO], indirect=True)


async def test_a_stream_that_waits_for_a_tool_is_closed_in_time(
    slack: FakeSlack, model: FakeModel, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D6: nothing comes for minutes, and nobody is left with a stream that has died."""
    monkeypatch.setattr(limits, "STREAM_SECONDS_USED", 1.0)
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Say("One moment."), Gate("late"), Say(" Here.")])
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> hi")
        await slack.wait_until(lambda: slack.calls(STOP))
        model.release("late")
        await until_says(slack, harbour, question, "One moment. Here.")


START_ERRORS = [
    "channel_not_found", "channel_type_not_supported", "user_not_found", "missing_recipient_team_id",
    "missing_recipient_user_id", "invalid_chunks", "invalid_blocks", "msg_blocks_too_long",
    "msg_blocks_too_many", "msg_too_long", "no_text", "messages_tab_disabled",
    "messaging_processing_failed", "restricted_action", "team_access_not_granted", "not_allowed",
    "unknown_method", "missing_scope",
]  # fmt: skip


@pytest.mark.parametrize("error", START_ERRORS)
async def test_what_slack_does_not_stream_is_posted_and_edited(
    slack: FakeSlack, model: FakeModel, database_url: str, error: str
) -> None:
    """D6: before anything was visible."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    slack.fail_next(START, error=error)
    model.script(half_and_half())
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> hi")
        growing = await until_growing(slack, harbour, question, "Half")
        assert growing.button_labels == ["Stop"]
        model.release("half")
        await until_says(slack, harbour, question, "Half and half.")
    assert len(slack.calls(START)) == len(slack.calls(POST)) == 1


@pytest.mark.parametrize("error", ["unknown_method", "not_allowed", "user_not_found"])
async def test_a_refusal_is_remembered(
    slack: FakeSlack, model: FakeModel, database_url: str, error: str
) -> None:
    """D6: in the workspace, or in the channel where it may be due to that."""
    ada = slack.user("Ada")
    harbour, lighthouse = slack.channel("harbour"), slack.channel("lighthouse")
    slack.fail_next(START, error=error)
    model.script(*(half_and_half(f"half/{n}") for n in range(3)))
    async with house(slack, model, database_url):
        for n, channel in enumerate((harbour, harbour, lighthouse)):
            question = await ada.say(channel, "<@BOT> hi")
            await until_growing(slack, channel, question, "Half")
            model.release(f"half/{n}")
            await until_says(slack, channel, question, "Half and half.")
    asked = [call.args["channel"] for call in slack.calls(START)]
    assert asked == [harbour.id] + [lighthouse.id] * (error == "user_not_found")


APPEND_ERRORS = [
    "message_not_in_streaming_state", "msg_too_long", "msg_blocks_too_many", "invalid_chunks",
    "message_not_owned_by_app", "user_not_found", "messaging_processing_failed", "channel_not_found",
    "internal_error",
]  # fmt: skip


@pytest.mark.parametrize("method", [APPEND, STOP])
@pytest.mark.parametrize("error", APPEND_ERRORS)
async def test_a_stream_that_fails_is_put_right_by_edits_of_the_same_message(
    slack: FakeSlack, model: FakeModel, database_url: str, method: str, error: str
) -> None:
    """D6: after something was visible; facts/slack.md section 7, nos. 9, 10 and 15."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([*half_and_half(), Gate("more"), Say(" And more.")])
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> hi")
        growing = await until_growing(slack, harbour, question, "Half")
        fault = slack.fail_next(method, error=error)
        if error == "message_not_in_streaming_state":
            stream = harbour.messages[growing.ts].stream
            assert stream is not None
            stream.state = StreamState.TIMED_OUT
        model.release("half")
        if method == APPEND:
            await asyncio.wait_for(fault.reached.wait(), 10)
        model.release("more")
        (shown,) = await until_says(slack, harbour, question, "Half and half. And more.")
        await until_true(lambda: not slack.replies(harbour, question)[-1].is_streaming)
    assert shown.ts == growing.ts
    assert len(slack.calls(START)) == 1
    assert slack.calls(POST) == []


@pytest.mark.parametrize("status", [429, 503])
async def test_a_stream_waits_when_slack_says_so(
    slack: FakeSlack, model: FakeModel, database_url: str, status: int
) -> None:
    """D4"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([*half_and_half(), Gate("more"), Say(" And more.")])
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> hi")
        await until_growing(slack, harbour, question, "Half")
        slack.fail_next(APPEND, status=status, retry_after=1)
        slack.fail_next(STOP, status=status, retry_after=1)
        model.release("half")
        model.release("more")
        await until_says(slack, harbour, question, "Half and half. And more.")


async def test_while_streams_may_not_be_closed_their_text_is_complete(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D4, D6: there are 20 stops a minute in a workspace; nobody waits for one to read the end."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script(half_and_half())
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> hi")
        await until_growing(slack, harbour, question, "Half")
        slack.fail_next(STOP, status=429, retry_after=3)
        model.release("half")
        await slack.wait_until(lambda: texts(slack, harbour, question) == ["Half and half."])
        (shown,) = answers(slack, harbour, question)
        assert shown.is_streaming
        await until_says(slack, harbour, question, "Half and half.")
    assert slack.calls(EDIT) == []


async def test_a_stop_that_is_refused_for_good_loses_no_text(
    slack: FakeSlack, model: FakeModel, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D6: openclaw#70295."""
    monkeypatch.setattr(limits, "STREAM_SECONDS_MAX", 2.0)
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    slack.fail_next(STOP, error="user_not_found", times=1000)
    model.script(half_and_half())
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> hi")
        await until_growing(slack, harbour, question, "Half")
        model.release("half")
        await slack.wait_until(lambda: texts(slack, harbour, question) == ["Half and half."])
        slack.clock.advance(STREAM_SECONDS_MAX)
        await slack.wait_until(lambda: slack.calls(EDIT))
        await until_says(slack, harbour, question, "Half and half.")


async def test_buttons_that_a_stream_does_not_take_are_added_by_an_edit(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D6"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    slack.fail_next(
        STOP, error="invalid_blocks", times=1000, when=lambda args: bool(args.get("blocks"))
    )
    model.script(half_and_half())
    async with house(slack, model, database_url, feedback=True):
        question = await ada.say(harbour, "<@BOT> hi")
        growing = await until_growing(slack, harbour, question, "Half")
        model.release("half")
        await slack.wait_until(
            lambda: "context_actions" in str(answers(slack, harbour, question)[0].blocks)
        )
        (shown,) = answers(slack, harbour, question)
    assert (shown.ts, shown.plain, shown.is_streaming) == (growing.ts, "Half and half.", False)


async def test_a_reply_that_is_made_anew_takes_its_streams_over(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D6, D11: the first message is put right, and a further one is closed before it is deleted."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    long = "\n\n".join(f"Paragraph {n}: " + "word " * 60 for n in range(16))
    model.script([*typed(long, size=60), Gate("never")], [Say("Anew.")])
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> hi")
        await slack.wait_until(lambda: len(answers(slack, harbour, question)) > 1, timeout=30)
        first = answers(slack, harbour, question)[0]
        await ada.edit(question, "<@BOT> hello")
        (shown,) = await until_says(slack, harbour, question, "Anew.")
    assert shown.ts == first.ts
    assert slack.calls("chat.delete")


async def test_a_stream_that_died_is_finished_by_an_edit(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D6; facts/slack.md section 7, nos. 7 and 8."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script(half_and_half())
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> hi")
        growing = await until_growing(slack, harbour, question, "Half")
        slack.clock.advance(STREAM_SECONDS_MAX)
        model.release("half")
        (shown,) = await until_says(slack, harbour, question, "Half and half.")
    assert shown.ts == growing.ts


async def test_a_person_who_stops_the_stream_stops_the_agent(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D6, D13: the native Stop."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Say("So much to"), Gate("never")])
    async with house(slack, model, database_url) as wren:
        question = await ada.say(harbour, "<@BOT> tell me all")
        await until_growing(slack, harbour, question, "So much to")
        await ada.press_stop(harbour, question.ts)
        await until_stopped(slack, harbour, question, "So much to")
        await model.streamed[0].left.wait()
        chat_id = await chat_of(wren, slack, harbour, question)
        await wren.replica.until(chat_id, ShownStatus.WAITING)
    assert slack.calls(POST) == []


async def test_a_stop_that_is_only_seen_at_the_stream_stops_the_agent_too(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D6: apps that do not hear of the event still learn of it."""
    slack.events.unsubscribed.add("agent_session_stopped")
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Say("So much to"), Gate("more"), Say(" say and"), Gate("never")])
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> tell me all")
        await until_growing(slack, harbour, question, "So much to")
        await ada.press_stop(harbour, question.ts)
        model.release("more")
        await model.streamed[0].left.wait()
        await until_stopped(slack, harbour, question, "So much to say and")
    assert slack.calls(POST) == []


async def test_a_start_whose_answer_is_lost_is_found_not_repeated(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D3, D6: such a message carries no metadata yet."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    slack.fail_next(START, drop_connection_after_handling=True)
    model.script(half_and_half())
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> hi")
        await slack.wait_until(lambda: slack.calls("conversations.replies"))
        model.release("half")
        (shown,) = await until_says(slack, harbour, question, "Half and half.")
    assert shown.metadata is not None
    assert len(slack.calls(START)) == 1
    assert slack.calls(POST) == []


async def test_a_start_that_never_arrived_is_made_up_for(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D3, D6"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    slack.fail_next(START, drop_connection_before_handling=True)
    model.script(half_and_half())
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> hi")
        await until_growing(slack, harbour, question, "Half")
        model.release("half")
        await until_says(slack, harbour, question, "Half and half.")


@pytest.mark.parametrize("method", [APPEND, STOP])
@pytest.mark.parametrize("arrives", [True, False])
async def test_growth_whose_answer_is_lost_is_neither_missing_nor_there_twice(
    slack: FakeSlack, model: FakeModel, database_url: str, method: str, *, arrives: bool
) -> None:
    """D3, D6; facts/slack.md section 7, no. 25."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([*half_and_half(), Gate("more"), Say(" And more.")])
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> hi")
        await until_growing(slack, harbour, question, "Half")
        fault = slack.fail_next(
            method,
            drop_connection_after_handling=arrives,
            drop_connection_before_handling=not arrives,
        )
        model.release("half")
        if method == APPEND:
            await asyncio.wait_for(fault.reached.wait(), 10)
        model.release("more")
        await until_says(slack, harbour, question, "Half and half. And more.")
    assert slack.calls(POST) == []


async def test_an_attempt_that_fails_in_the_middle_leaves_no_trace(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D6, E55: what was streamed cannot be taken back, so the message is edited."""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Say("Something that"), Gate("cut"), Drop()], [Say("There you are.")])
    async with house(slack, model, database_url):
        question = await ada.say(harbour, "<@BOT> hi")
        growing = await until_growing(slack, harbour, question, "Something that")
        model.release("cut")
        (shown,) = await until_says(slack, harbour, question, "There you are.")
    assert shown.ts == growing.ts
