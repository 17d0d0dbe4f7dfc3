"""Several Slack apps in one deployment: each its own bot, none in the way of another."""

from dataclasses import replace

import pytest

from adapters.contract import ChatDefaults
from adapters.errors import Denied, Unavailable
from adapters.slack.workspaces import AllWorkspaces
from config.secret import Secret
from config.settings import SlackSettings
from config.slack_app_settings import SlackAppSettings
from tests.acceptance.slack_house import slack_settings, until_growing, until_says, until_true
from tests.acceptance.slack_installs import install, installable_app, serving
from tests.fakes.model_server import FakeModel, Gate, Say
from tests.fakes.slack_apps import FakeApp
from tests.fakes.slack_server import FakeSlack
from tests.fakes.slack_shown import ShownMessage
from tests.fakes.slack_state import Channel, Message
from tests.fakes.slack_team import Team


def with_token(app: FakeApp, team: Team, *, over_http: bool = False) -> SlackAppSettings:
    """Settings of an app that is at home in one workspace."""
    settings = SlackAppSettings(bot_token=Secret(team.bot.token), sockets=1)
    if over_http:
        return replace(settings, signing_secret=Secret(app.signing_secret))
    return replace(settings, app_token=Secret(app.app_token))


def two_apps(slack: FakeSlack, **apps: SlackAppSettings) -> SlackSettings:
    """The first app over sockets, others as they say."""
    return slack_settings(slack, apps=apps)


async def until_both_say(slack: FakeSlack, channel: Channel, root: Message, *bots: str) -> None:
    def met() -> bool:
        shown = slack.replies(channel, root)
        return sorted(m.author_id or "" for m in shown if not m.buttons) == sorted(bots)

    await slack.wait_until(met, timeout=15)


@pytest.mark.parametrize("over_http", [False, True], ids=["socket", "http"])
async def test_two_apps_of_one_workspace_answer_what_is_said_to_each(
    slack: FakeSlack, model: FakeModel, database_url: str, *, over_http: bool
) -> None:
    """D2"""
    tugboat = slack.add_app("tugboat")
    there = tugboat.install_in(slack.team)
    harbour = slack.channel("harbour", members=[slack.bot, there.bot])
    settings = two_apps(slack, tugboat=with_token(tugboat, there, over_http=over_http))
    defaults = {"tugboat": ChatDefaults(bot="pilot")}
    async with serving(slack, model, database_url, settings, app_defaults=defaults) as wren:
        if over_http:
            tugboat.use_http(f"{wren.url}/slack/events/tugboat")
        ada = slack.user("Ada")
        ours = await ada.say(harbour, "<@BOT> hi")
        theirs = await there.user("Ada").say(harbour, "<@BOT> hi")
        both = await ada.say(harbour, f"<@BOT> and {there.bot.mention}, hi")
        await until_both_say(slack, harbour, ours, slack.bot.user_id)
        await until_both_say(slack, harbour, theirs, there.bot.user_id)
        await until_both_say(slack, harbour, both, slack.bot.user_id, there.bot.user_id)
        chats = await wren.engine.list_chats()
        assert sorted(chat.chat.bot for chat in chats) == ["assistant"] * 2 + ["pilot"] * 2
        bindings = [
            await wren.engine.bindings.find_binding("slack", key, harbour.id, theirs.ts)
            for key in ("T1", "T1@tugboat")
        ]
        assert [found is not None for found in bindings] == [False, True]


async def test_a_button_of_one_app_is_pressed_for_that_app(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D13"""
    tugboat = slack.add_app("tugboat")
    there = tugboat.install_in(slack.team)
    harbour = slack.channel("harbour", members=[slack.bot, there.bot])
    settings = two_apps(slack, tugboat=with_token(tugboat, there))
    model.script([Say("Half"), Gate("never"), Say(" and half.")])
    async with serving(slack, model, database_url, settings):
        bo = there.user("Bo")
        question = await bo.say(harbour, "<@BOT> hi")

        def growing() -> list[ShownMessage]:
            shown = there.replies(harbour, question)
            return [m for m in shown if m.plain.startswith("Half") and m.buttons]

        (reply,) = await slack.wait_until(growing, timeout=15)
        await bo.click(reply, reply.buttons[0].action_id)
        await slack.wait_until(
            lambda: not any(m.buttons for m in there.replies(harbour, question)), timeout=15
        )
        assert len(model.streamed) == 1


async def test_one_app_is_installed_in_two_workspaces_beside_one_that_is_at_home_in_the_first(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    second = slack.add_team("T2")
    tugboat = slack.add_app("tugboat")
    here, there = tugboat.install_in(slack.team), tugboat.install_in(second)
    harbour = slack.channel("harbour", members=[slack.bot, here.bot])
    pier = second.channel("pier", members=[second.bot, there.bot])
    settings = two_apps(slack, tugboat=installable_app(tugboat))
    async with serving(slack, model, database_url, settings) as wren:
        tugboat.use_http(f"{wren.url}/slack/events/tugboat")
        assert "Harbour T1" in await install(wren, slack, "T1", app="tugboat")
        assert "Harbour T2" in await install(wren, slack, "T2", app="tugboat")
        kept = await wren.engine.installations.list_all("slack")
        assert [each.installation for each in kept] == ["T1@tugboat", "T2@tugboat"]
        ours = await slack.user("Ada").say(harbour, "<@BOT> hi")
        theirs = await here.user("Ada").say(harbour, "<@BOT> hi")
        far = await there.user("Bo").say(pier, "<@BOT> hi")
        await until_both_say(slack, harbour, ours, slack.bot.user_id)
        await until_both_say(slack, harbour, theirs, here.bot.user_id)
        await until_both_say(slack, pier, far, there.bot.user_id)


async def test_what_one_app_signs_opens_no_door_of_another(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D10"""
    tugboat = slack.add_app("tugboat")
    there = tugboat.install_in(slack.team)
    settings = two_apps(slack, tugboat=with_token(tugboat, there, over_http=True))
    async with serving(slack, model, database_url, settings) as wren:
        body = {"type": "event_callback", "team_id": "T1", "event": {"type": "app_mention"}}
        address = f"{wren.url}/slack/events/tugboat"
        refused = await slack.deliver_http(address, body)
        assert refused.attempts[0].status == 401
        assert not refused.is_acked


async def test_an_app_with_a_bad_token_stops_no_other_and_is_named(
    slack: FakeSlack, model: FakeModel, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adapters.slack.app.IDENTIFY_SECONDS_MAX", 0.1)
    monkeypatch.setattr("adapters.slack.app.IDENTIFY_SECONDS_MIN", 0.1)
    tugboat = slack.add_app("tugboat")
    there = tugboat.install_in(slack.team)
    slack.revoke(there.bot.token)
    settings = two_apps(slack, tugboat=with_token(tugboat, there))
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with serving(slack, model, database_url, settings, until_ready=False) as wren:
        question = await ada.say(harbour, "<@BOT> hi")
        await until_says(slack, harbour, question, "All right.")
        await until_true(lambda: wren.adapter.trouble is None)
        assert wren.adapter.weakness == (
            "app tugboat: Slack does not say who we are: token_revoked"
        )
        assert not wren.adapter.is_connected
        # Mended, it is taken up without a restart.
        slack.oauth.revoked.discard(there.bot.token)
        await wren.adapter.wait_until_ready()
        await until_true(lambda: wren.adapter.weakness is None and wren.adapter.is_connected)


async def test_a_process_is_not_ready_before_slack_has_said_who_we_are(
    slack: FakeSlack, model: FakeModel, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adapters.slack.app.IDENTIFY_SECONDS_MIN", 0.1)
    fault = slack.fail_next("auth.test", hang=True)
    settings = slack_settings(slack)
    async with serving(slack, model, database_url, settings, until_ready=False) as wren:
        await fault.reached.wait()
        assert wren.adapter.trouble == ("the app without a name: Slack has not said yet who we are")
        fault.release()
        await wren.adapter.wait_until_ready()
        assert wren.adapter.trouble is None


async def test_a_process_whose_only_token_is_bad_says_so(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    slack.revoke(slack.bot.token)
    settings = slack_settings(slack)
    async with serving(slack, model, database_url, settings, until_ready=False) as wren:
        await until_true(lambda: "token_revoked" in (wren.adapter.trouble or ""))
        assert not wren.adapter.is_connected


async def test_a_reply_of_an_app_that_is_not_known_yet_waits_and_is_not_given_up() -> None:
    workspaces = AllWorkspaces(["", "tugboat"])
    with pytest.raises(Unavailable) as waits:
        await workspaces.find("T1@tugboat")
    assert not waits.value.outcome_unknown
    with pytest.raises(Denied):
        await workspaces.find("T1@gone")


async def test_a_reply_grows_on_while_another_app_comes_and_goes(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D3"""
    tugboat = slack.add_app("tugboat")
    there = tugboat.install_in(slack.team)
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Say("Half"), Gate("half"), Say(" and half.")])
    settings = two_apps(slack, tugboat=with_token(tugboat, there))
    async with serving(slack, model, database_url, settings):
        question = await ada.say(harbour, "<@BOT> hi")
        await until_growing(slack, harbour, question, "Half")
    # A deployment without the second app goes on.
    model.script([Say("Half and half.")])
    async with serving(slack, model, database_url, slack_settings(slack)):
        model.release("half")
        await until_says(slack, harbour, question, "Half and half.")
