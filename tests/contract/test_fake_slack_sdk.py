"""The fake Slack's Web API, called by the real slack_sdk client."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from tests.fakes.slack_clock import SlackClock
from tests.fakes.slack_server import FakeSlack
from tests.fakes.slack_state import ChannelKind

Json = dict[str, Any]

BUTTONS: Json = {
    "type": "actions",
    "elements": [
        {
            "type": "button",
            "action_id": "stop",
            "value": "turn-7",
            "text": {"type": "plain_text", "text": "Stop"},
        }
    ],
}
SECTION: Json = {
    "type": "section",
    "text": {"type": "mrkdwn", "text": "*Hello* <https://x.y|link>"},
}


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack.start() as running:
        yield running


@pytest.fixture
async def client(slack: FakeSlack) -> AsyncIterator[AsyncWebClient]:
    async with aiohttp.ClientSession() as session:
        yield AsyncWebClient(
            token=slack.bot.token, base_url=slack.base_url, session=session, retry_handlers=[]
        )


async def refusal(call: Any) -> str:
    with pytest.raises(SlackApiError) as caught:
        await call
    return str(caught.value.response["error"])


async def test_auth_test_names_the_team_the_bot_and_its_granted_scopes(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    answer = await client.auth_test()
    assert answer["team_id"] == "T1"
    assert answer["user_id"] == slack.bot.user_id
    assert answer["bot_id"] == slack.bot.bot_id
    assert answer["url"] == "https://harbour-t1.slack.com/"
    assert "chat:write" in answer.headers["x-oauth-scopes"].split(",")
    bot = (await client.bots_info(bot=answer["bot_id"]))["bot"]
    assert bot["app_id"] == slack.app_id
    assert bot["user_id"] == slack.bot.user_id


async def test_tokens_are_checked_in_slacks_words(slack: FakeSlack, client: AsyncWebClient) -> None:
    client.token = "xoxb-unknown"
    assert await refusal(client.auth_test()) == "invalid_auth"
    client.token = slack.app_token
    assert await refusal(client.auth_test()) == "not_allowed_token_type"
    client.token = slack.bot.token
    slack.revoke(slack.bot.token)
    assert await refusal(client.auth_test()) == "token_revoked"
    url = f"{slack.base_url}auth.test"
    async with aiohttp.ClientSession() as session, session.post(url) as answer:
        assert (await answer.json())["error"] == "not_authed"


async def test_a_missing_scope_is_named(slack: FakeSlack, client: AsyncWebClient) -> None:
    harbour = slack.channel("harbour")
    slack.bot.scopes -= {"chat:write", "channels:history"}
    with pytest.raises(SlackApiError) as caught:
        await client.chat_postMessage(channel=harbour.id, text="hi")
    assert caught.value.response["error"] == "missing_scope"
    assert caught.value.response["needed"] == "chat:write"
    assert await refusal(client.conversations_history(channel=harbour.id)) == "missing_scope"


async def test_every_wire_form_of_the_sdk_is_understood(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    asked = await ada.say(harbour, "one")
    posted = await client.chat_postMessage(channel=harbour.id, text="two")
    await client.reactions_add(channel=harbour.id, name="eyes", timestamp=asked.ts)
    reactions = (await client.reactions_get(channel=harbour.id, timestamp=asked.ts))["message"]
    assert reactions["reactions"] == [{"name": "eyes", "users": [slack.bot.user_id], "count": 1}]
    await client.reactions_remove(channel=harbour.id, name="eyes", timestamp=asked.ts)
    assert slack.timeline(harbour)[0].reactions == {}
    listed = await client.conversations_list(types="public_channel,im", limit=10)
    assert [c["name"] for c in listed["channels"]] == ["harbour"]
    assert (await client.conversations_info(channel=harbour.id))["channel"]["is_member"] is True
    opened = await client.conversations_open(users=[ada.id])
    assert opened["channel"]["id"] == slack.dm(ada).id
    assert ada.id in (await client.conversations_members(channel=harbour.id))["members"]
    assert (await client.users_info(user=ada.id))["user"]["profile"]["display_name"] == "Ada"
    names = {m["real_name"] for m in (await client.users_list())["members"]}
    assert names == {"Ada", "Wren"}
    assert (await client.team_info())["team"]["domain"] == "harbour-t1"
    link = await client.chat_getPermalink(channel=harbour.id, message_ts=posted["ts"])
    assert link["permalink"].endswith("/p" + posted["ts"].replace(".", ""))
    await client.chat_delete(channel=harbour.id, ts=posted["ts"])
    assert [m.text for m in slack.timeline(harbour)] == ["one"]
    assert (await client.api_test(foo="bar"))["args"] == {"foo": "bar"}
    await client.assistant_threads_setTitle(
        channel_id=harbour.id, thread_ts=asked.ts, title="Harbour"
    )
    await client.assistant_threads_setSuggestedPrompts(
        channel_id=harbour.id, thread_ts=asked.ts, prompts=[{"title": "a", "message": "b"}]
    )
    await client.agents_sessions_setStatus(
        channel_id=harbour.id, thread_ts=asked.ts, status="processing"
    )
    extras = slack.team.workspace.extras(harbour.id, asked.ts)
    assert (extras.title, extras.session_status) == ("Harbour", "processing")


async def test_other_wire_forms_are_refused_with_http_200(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    harbour = slack.channel("harbour")
    auth = {"Authorization": f"Bearer {slack.bot.token}"}
    post = f"{slack.base_url}chat.postMessage"
    args = {"channel": harbour.id, "text": "x"}
    async with aiohttp.ClientSession(headers=auth) as session:

        async def error(method: str, url: str, **kwargs: Any) -> str:
            async with session.request(method, url, **kwargs) as answer:
                assert answer.status == 200
                return str((await answer.json()).get("error"))

        json_type = {"Content-Type": "application/json; charset=utf-8"}
        assert await error("GET", post, params=args) == "invalid_form_data"
        assert await error("POST", post, params=args) == "invalid_form_data"
        assert await error("POST", post, data=b"{", headers=json_type) == "invalid_json"
        assert await error("POST", post, data=b"[1]", headers=json_type) == "json_not_object"
        text_type = {"Content-Type": "text/plain"}
        assert await error("POST", post, data=b"x", headers=text_type) == "invalid_post_type"
        history = f"{slack.base_url}conversations.history"
        assert await error("POST", history, json={"channel": harbour.id}) == "invalid_arguments"
        assert await error("POST", f"{slack.base_url}chat.launch") == "unknown_method"
        blocks = {"channel": harbour.id, "blocks": "[{"}
        assert await error("POST", post, data=blocks) == "invalid_blocks_format"
        async with session.post(post, data={**args, "blocks": json.dumps([SECTION])}) as answer:
            assert (await answer.json())["ok"] is True
        plain = {"Content-Type": "application/json"}
        async with session.post(post, data=json.dumps(args), headers=plain) as answer:
            body = await answer.json()
            assert body["warning"] == "missing_charset"
    assert len(slack.timeline(harbour)) == 2
    assert await refusal(client.api_call("chat.launch", json={})) == "unknown_method"


async def test_a_posted_message_shows_blocks_over_text_and_its_buttons(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    harbour = slack.channel("harbour")
    posted = await client.chat_postMessage(
        channel=harbour.id,
        text="fallback",
        blocks=[SECTION, BUTTONS],
        metadata={"event_type": "reply", "event_payload": {"turn": 7}},
    )
    (shown,) = slack.timeline(harbour)
    assert shown.author == "Wren"
    assert shown.plain == "*Hello* link"
    assert shown.text == "fallback"
    assert shown.button_labels == ["Stop"]
    assert shown.control("Stop").value == "turn-7"
    assert shown.metadata == {"event_type": "reply", "event_payload": {"turn": 7}}
    assert posted["message"]["app_id"] == slack.app_id
    assert posted["message"]["blocks"][0]["block_id"]


async def test_replies_come_root_first_oldest_first_in_pages(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    root = await ada.say(harbour, "root")
    written = [await ada.say(harbour, f"reply {n}", thread_ts=root.ts) for n in range(5)]
    metadata = {"event_type": "page", "event_payload": {"n": 1}}
    await client.chat_postMessage(
        channel=harbour.id, thread_ts=root.ts, text="answer", metadata=metadata
    )
    texts: list[str] = []
    async for page in await client.conversations_replies(channel=harbour.id, ts=root.ts, limit=3):
        texts += [m["text"] for m in page["messages"]]
    assert texts == ["root", *(f"reply {n}" for n in range(5)), "answer"]
    newest = await client.conversations_replies(
        channel=harbour.id, ts=root.ts, oldest=written[-1].ts, include_all_metadata=True
    )
    assert [m["text"] for m in newest["messages"]] == ["root", "answer"]
    assert newest["messages"][1]["metadata"] == metadata
    assert newest["messages"][0]["reply_count"] == 6
    assert newest["messages"][1]["parent_user_id"] == ada.id
    plain = await client.conversations_replies(channel=harbour.id, ts=root.ts)
    assert "metadata" not in plain["messages"][-1]
    missing = client.conversations_replies(channel=harbour.id, ts="1.000001")
    assert await refusal(missing) == "thread_not_found"
    broken = client.conversations_replies(channel=harbour.id, ts=root.ts, cursor="?")
    assert await refusal(broken) == "invalid_cursor"


async def test_history_shows_the_channel_newest_first_without_replies(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    first = await ada.say(harbour, "first")
    await ada.say(harbour, "hidden", thread_ts=first.ts)
    await ada.say(harbour, "aloud", thread_ts=first.ts, broadcast=True)
    await ada.say(harbour, "last")
    page = await client.conversations_history(channel=harbour.id)
    assert [m["text"] for m in page["messages"]] == ["last", "aloud", "first"]
    later = await client.conversations_history(channel=harbour.id, oldest=first.ts, limit=1)
    assert [m["text"] for m in later["messages"]] == ["last"]
    assert later["has_more"] is True


async def test_an_update_keeps_blocks_and_metadata_it_does_not_mention(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    harbour = slack.channel("harbour")
    metadata = {"event_type": "reply", "event_payload": {}}
    posted = await client.chat_postMessage(
        channel=harbour.id, text="a", blocks=[SECTION], metadata=metadata
    )
    place: Json = {"channel": harbour.id, "ts": posted["ts"]}
    await client.chat_update(**place, text="b")
    (shown,) = slack.timeline(harbour)
    assert (shown.text, shown.plain, shown.metadata) == ("b", "*Hello* link", metadata)
    await client.chat_update(**place, text="c", blocks=[], metadata={})
    (shown,) = slack.timeline(harbour)
    assert (shown.plain, shown.metadata, shown.edits) == ("c", None, 2)


async def test_foreign_missing_and_deleted_messages_cannot_be_changed(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    hers = await ada.say(harbour, "mine")
    place: Json = {"channel": harbour.id, "ts": hers.ts}
    assert await refusal(client.chat_update(**place, text="no")) == "cant_update_message"
    assert await refusal(client.chat_delete(**place)) == "cant_delete_message"
    await ada.delete(hers)
    assert await refusal(client.chat_update(**place, text="no")) == "message_not_found"
    assert await refusal(client.chat_delete(**place)) == "message_not_found"


async def test_channels_out_of_reach_are_refused(slack: FakeSlack, client: AsyncWebClient) -> None:
    ada = slack.user("Ada")
    lighthouse = slack.channel("lighthouse", members=[ada])
    secret = slack.channel("secret", members=[ada], kind=ChannelKind.GROUP)
    harbour = slack.channel("harbour")
    post = client.chat_postMessage
    assert await refusal(post(channel="C0NOWHERE", text="x")) == "channel_not_found"
    assert await refusal(post(channel=lighthouse.id, text="x")) == "not_in_channel"
    assert await refusal(post(channel=secret.id, text="x")) == "channel_not_found"
    history = client.conversations_history(channel=lighthouse.id)
    assert await refusal(history) == "not_in_channel"
    harbour.is_archived = True
    assert await refusal(post(channel=harbour.id, text="x")) == "is_archived"


async def test_a_reply_needs_a_root_that_is_there(slack: FakeSlack, client: AsyncWebClient) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    root = await ada.say(harbour, "root")
    post = client.chat_postMessage
    await ada.delete(root)
    gone = post(channel=harbour.id, text="x", thread_ts=root.ts)
    assert await refusal(gone) == "thread_not_found"
    odd = post(channel=harbour.id, text="x", thread_ts="yesterday")
    assert await refusal(odd) == "invalid_thread_ts"
    slack.accept_orphan_replies()
    await post(channel=harbour.id, text="orphan", thread_ts=root.ts)
    assert slack.timeline(harbour) == []


async def test_a_deleted_root_with_replies_stays_as_a_tombstone(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    root = await ada.say(harbour, "root")
    await client.chat_postMessage(channel=harbour.id, text="answer", thread_ts=root.ts)
    await ada.delete(root)
    stone, answer = slack.thread(harbour, root)
    assert stone.is_tombstone
    assert answer.plain == "answer"
    await client.chat_delete(channel=harbour.id, ts=answer.ts)
    assert slack.thread(harbour, root) == []


async def test_ephemerals_are_seen_by_one_person_only(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    ada, bo = slack.user("Ada"), slack.user("Bo")
    harbour = slack.channel("harbour", members=[ada, slack.bot])
    await client.chat_postEphemeral(channel=harbour.id, user=ada.id, text="only you")
    assert [m.plain for m in slack.ephemerals(ada)] == ["only you"]
    assert slack.ephemerals(bo) == []
    assert slack.timeline(harbour) == []
    outside = client.chat_postEphemeral(channel=harbour.id, user=bo.id, text="psst")
    assert await refusal(outside) == "user_not_in_channel"


async def test_status_goes_with_a_reply_or_after_two_minutes(
    client: AsyncWebClient, slack: FakeSlack
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    root = await ada.say(harbour, "root")
    place: Json = {"channel_id": harbour.id, "thread_ts": root.ts}
    await client.assistant_threads_setStatus(**place, status="is thinking")
    assert slack.status(harbour, root) == "is thinking"
    await client.chat_postMessage(channel=harbour.id, thread_ts=root.ts, text="done")
    assert slack.status(harbour, root) == ""
    await client.assistant_threads_setStatus(**place, status="is thinking")
    slack.clock.advance(121)
    assert slack.status(harbour, root) == ""
    lines = client.assistant_threads_setStatus(**place, status="x", loading_messages=["y" * 51])
    assert await refusal(lines) == "invalid_arguments"


async def test_files_are_served_to_a_bearer_and_a_login_page_to_others(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    chart = slack.file("chart.txt", b"depth 7 m")
    await ada.say(harbour, "", files=[chart])
    info = (await client.files_info(file=chart.id))["file"]
    async with aiohttp.ClientSession() as session:
        auth = {"Authorization": f"Bearer {slack.bot.token}"}
        async with session.get(info["url_private"], headers=auth) as answer:
            assert await answer.read() == b"depth 7 m"
        async with session.get(info["url_private"]) as answer:
            assert answer.status == 200
            assert answer.content_type == "text/html"


async def test_two_workspaces_do_not_see_each_other(slack: FakeSlack) -> None:
    second = slack.add_team("T2")
    first_channel, second_channel = slack.channel("harbour"), second.channel("harbour")
    client = AsyncWebClient(token=second.bot.token, base_url=slack.base_url)
    assert (await client.auth_test())["team_id"] == "T2"
    await client.chat_postMessage(channel=second_channel.id, text="here")
    across = client.chat_postMessage(channel=first_channel.id, text="there")
    assert await refusal(across) == "channel_not_found"
    assert [m.text for m in second.timeline(second_channel)] == ["here"]
    assert slack.timeline(first_channel) == []


async def test_time_stands_still_on_a_frozen_clock() -> None:
    async with FakeSlack.start(clock=SlackClock(frozen=True, start=1_700_000_000.0)) as slack:
        ada, harbour = slack.user("Ada"), slack.channel("harbour")
        first, second = await ada.say(harbour, "a"), await ada.say(harbour, "b")
        assert (first.ts, second.ts) == ("1700000000.000000", "1700000000.000001")


async def test_live_mentions_are_told_from_quoted_ones(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    text = f"<!here> {ada.mention} `<!channel>` &lt;!everyone&gt;"
    block = {"type": "section", "text": {"type": "mrkdwn", "text": text}}
    await client.chat_postMessage(channel=harbour.id, text="x", blocks=[block])
    (shown,) = slack.timeline(harbour)
    assert shown.pings == {"here", ada.id}
    assert shown.plain == "@here @Ada `@channel` <!everyone>"


async def test_waiting_in_vain_says_what_slack_shows(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    harbour = slack.channel("harbour")
    await client.chat_postMessage(channel=harbour.id, text="here I am")
    with pytest.raises(AssertionError, match="here I am"):
        await slack.wait_until(lambda: len(slack.timeline(harbour)) == 2, timeout=0.01)
