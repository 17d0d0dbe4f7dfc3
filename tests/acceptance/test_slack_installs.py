"""People install the app by a link: once each, safely, and it answers them wherever they did."""

import asyncio
from urllib.parse import parse_qs, urlsplit

import pytest
from yarl import URL

from adapters.slack.install_door import COOKIE
from config.secret import Secret
from config.slack_app_settings import InstallPolicy
from tests.acceptance.slack_house import until_says
from tests.acceptance.slack_installs import a_browser, install, installable, serving
from tests.fakes.model_server import FakeModel
from tests.fakes.postgres import PostgresServer
from tests.fakes.slack_server import CLIENT_ID, FakeSlack

both = pytest.mark.parametrize("over_sockets", [False, True], ids=["http", "socket"])


@both
async def test_two_workspaces_install_the_app_and_are_answered_by_their_own_bots(
    slack: FakeSlack, model: FakeModel, database_url: str, *, over_sockets: bool
) -> None:
    """D1 D2, slack-multi-workspace"""
    other = slack.add_team("T2", bot_name="Wren")
    settings = installable(slack, over_sockets=over_sockets)
    async with serving(slack, model, database_url, settings) as wren:
        if not over_sockets:
            slack.use_http(f"{wren.url}/slack/events")
        assert "Harbour T1" in await install(wren, slack, "T1")
        assert "Harbour T2" in await install(wren, slack, "T2")
        ada, harbour = slack.user("Ada"), slack.channel("harbour")
        bo, pier = other.user("Bo"), other.channel("pier")
        here = await ada.say(harbour, "<@BOT> hi")
        there = await bo.say(pier, "<@BOT> hi")
        await until_says(slack, harbour, here, "All right.")
        await slack.wait_until(
            lambda: [m.author_id for m in slack.replies(pier, there)] == [other.bot.user_id]
        )
        shown = ("chat.postMessage", "chat.startStream")
        posts = {(c.token, c.args["channel"]) for method in shown for c in slack.calls(method)}
        assert posts == {(slack.bot.token, harbour.id), (other.bot.token, pier.id)}
        # Who we are is known from the installation: nothing asks for it with every event.
        assert len(slack.calls("auth.test")) == 2


async def test_the_question_names_the_app_its_scopes_and_where_to_come_back_to(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    settings = installable(slack, scopes=("chat:write", "app_mentions:read"))
    async with serving(slack, model, database_url, settings) as wren, a_browser() as browser:
        address = f"{wren.url}/slack/install?to=slack"
        async with browser.get(address, allow_redirects=False) as answer:
            asked = parse_qs(urlsplit(answer.headers["Location"]).query)
            cookie = answer.headers["Set-Cookie"]
        assert asked["client_id"] == [CLIENT_ID]
        assert asked["scope"] == ["chat:write,app_mentions:read"]
        assert asked["redirect_uri"] == [f"{wren.url}/slack/oauth_redirect"]
        assert len(asked["state"][0]) == 43
        assert "HttpOnly" in cookie
        assert "SameSite=Lax" in cookie
        assert "Path=/slack" in cookie
        # On loopback there is no https, and a secure cookie would not come back.
        assert "Secure" not in cookie


async def test_who_says_no_gets_a_page_and_nothing_is_stored(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    slack.oauth.consents = False
    async with serving(slack, model, database_url, installable(slack)) as wren:
        assert "Not installed" in await install(wren, slack, "T1")
        assert await wren.engine.installations.list_all("slack") == ()
        assert slack.calls("oauth.v2.access") == []


async def test_an_installation_comes_back_once(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    async with serving(slack, model, database_url, installable(slack)) as wren:
        async with a_browser() as browser:
            await install(wren, slack, "T1", browser=browser)
            state = slack.oauth.questions[-1]["state"]
            code = slack.oauth.new_code(CLIENT_ID, f"{wren.url}/slack/oauth_redirect")
            back = f"{wren.url}/slack/oauth_redirect?state={state}&code={code}"
            async with browser.get(back) as answer:
                assert answer.status == 400
                assert "This link is used up" in await answer.text()
        assert len(slack.calls("oauth.v2.access")) == 1


async def test_another_browser_cannot_end_what_one_has_begun(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    async with serving(slack, model, database_url, installable(slack)) as wren:
        async with a_browser() as victim, a_browser() as attacker:
            start = f"{wren.url}/slack/install?to=slack"
            async with attacker.get(start, allow_redirects=False) as answer:
                question = answer.headers["Location"]
            async with attacker.get(question, allow_redirects=False) as answer:
                lure = answer.headers["Location"]
            for cookies in ({}, {COOKIE: "x" * 43}):
                victim.cookie_jar.update_cookies(cookies, URL(wren.url))
                async with victim.get(lure) as answer:
                    assert answer.status == 400
                    text = await answer.text()
                    assert "another browser" in text or "used up" in text
        assert slack.calls("oauth.v2.access") == []


async def test_two_tabs_of_one_browser_may_both_end(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    slack.add_team("T2")
    async with (
        serving(slack, model, database_url, installable(slack)) as wren,
        a_browser() as browser,
    ):
        start = f"{wren.url}/slack/install?to=slack"
        questions = []
        for _ in range(2):
            async with browser.get(start, allow_redirects=False) as answer:
                questions.append(answer.headers["Location"])
        for team, question in zip(("T1", "T2"), questions, strict=True):
            slack.oauth.team_id = team
            async with browser.get(question) as answer:
                assert f"Harbour {team}" in await answer.text()


@pytest.mark.parametrize(
    ("faults", "status", "said"),
    [
        ({"error": "invalid_code"}, 400, "Slack does not know this installation"),
        ({"error": "code_already_used"}, 400, "Slack does not know this installation"),
        ({"error": "bad_redirect_uri"}, 500, "not set up right"),
        ({"error": "bad_client_secret"}, 500, "not set up right"),
        ({"status": 503}, 502, "Slack does not answer"),
        ({"status": 429, "retry_after": 3}, 502, "Slack does not answer"),
        ({"drop_connection_after_handling": True}, 502, "Slack does not answer"),
    ],
)
async def test_what_goes_wrong_with_a_code_is_said_in_plain_words(
    slack: FakeSlack,
    model: FakeModel,
    database_url: str,
    *,
    faults: dict[str, object],
    status: int,
    said: str,
) -> None:
    slack.fail_next("oauth.v2.access", **faults)  # type: ignore[arg-type]
    async with serving(slack, model, database_url, installable(slack)) as wren:
        async with (
            a_browser() as browser,
            browser.get(f"{wren.url}/slack/install?to=slack") as last,
        ):
            assert (last.status, said in await last.text()) == (status, True)
        assert await wren.engine.installations.list_all("slack") == ()
        # It can be begun anew.
        assert "Harbour T1" in await install(wren, slack, "T1")


async def test_pages_escape_all_and_repeat_nothing_of_the_address(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    slack.team.workspace.name = "<script>alert(1)</script>"
    async with serving(slack, model, database_url, installable(slack)) as wren:
        page = await install(wren, slack, "T1")
        assert "<script>" not in page
        assert "&lt;script&gt;" in page
        async with a_browser() as browser:
            for query in (
                "error=<script>1</script>&state=hush-hush",
                "code=hush-hush&state=<script>",
                "state=" + "x" * 5000,
                "",
                "error=access_denied&error_description=<b>hush-hush</b>",
            ):
                async with browser.get(f"{wren.url}/slack/oauth_redirect?{query}") as answer:
                    text = await answer.text()
                    assert answer.status in (400, 403)
                    assert "hush-hush" not in text
                    assert "<script>" not in text
                    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
                    assert answer.headers["Referrer-Policy"] == "no-referrer"
                    assert answer.headers["Cache-Control"] == "no-store"


async def test_only_listed_workspaces_keep_the_app(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    slack.add_team("T2")
    settings = installable(slack, install=InstallPolicy.LISTED, install_teams=("T2",))
    async with serving(slack, model, database_url, settings) as wren:
        assert "Not open to this workspace" in await install(wren, slack, "T1")
        assert await wren.engine.installations.list_all("slack") == ()
        (given_back,) = slack.calls("auth.revoke")
        assert given_back.token == slack.bot.token
        assert "Harbour T2" in await install(wren, slack, "T2")
        (kept,) = await wren.engine.installations.list_all("slack")
        assert (kept.installation, kept.installed_by) == ("T2", "slack:T2:UINSTALLER")


async def test_an_installation_that_gives_no_bot_is_none(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    slack.bot.user_id = ""
    async with serving(slack, model, database_url, installable(slack)) as wren:
        assert "not set up right" in await install(wren, slack, "T1")
        assert await wren.engine.installations.list_all("slack") == ()


async def test_without_the_database_nothing_is_begun_or_ended(
    slack: FakeSlack, model: FakeModel, database_url: str, postgres: PostgresServer
) -> None:
    async with (
        serving(slack, model, database_url, installable(slack)) as wren,
        a_browser() as browser,
    ):
        start = f"{wren.url}/slack/install?to=slack"
        async with browser.get(start, allow_redirects=False) as answer:
            question = answer.headers["Location"]
        postgres.stop()
        for address in (start, question):
            async with browser.get(address) as answer:
                assert answer.status == 503
                assert "The database does not answer" in await answer.text()
        postgres.start()
        async with browser.get(question) as answer:
            assert "Harbour T1" in await answer.text()


async def test_secrets_of_an_installation_are_in_no_log(
    slack: FakeSlack, model: FakeModel, database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    slack.oauth.rotates = True
    async with serving(slack, model, database_url, installable(slack)) as wren:
        slack.fail_next("oauth.v2.access", error="bad_client_secret")
        await install(wren, slack, "T1")
        await install(wren, slack, "T1")
        stored = await wren.engine.installations.open("slack", "T1")
        assert stored is not None
        assert stored.refresh_token is not None
    said = "\n".join(str(vars(record)) for record in caplog.records)
    hidden: list[Secret] = [stored.token, stored.refresh_token]
    assert "slack_installed" in said
    for secret in (*(each.reveal() for each in hidden), *slack.oauth.codes):
        assert secret not in said


async def test_an_organization_installs_the_app_as_a_whole(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """events_org_apps"""
    slack.team.workspace.enterprise_id = "E1"
    slack.team.workspace.is_org_install = True
    settings = installable(slack, install=InstallPolicy.LISTED, install_teams=("E1",))
    async with serving(slack, model, database_url, settings) as wren:
        slack.use_http(f"{wren.url}/slack/events")
        assert "Harbours E1" in await install(wren, slack, "T1")
        (kept,) = await wren.engine.installations.list_all("slack")
        assert (kept.installation, kept.identity["team_id"]) == ("E1", "E1")
        ada, harbour = slack.user("Ada"), slack.channel("harbour")
        question = await ada.say(harbour, "<@BOT> hi")
        await until_says(slack, harbour, question, "All right.")


async def test_five_people_of_one_workspace_at_once_install_it_once(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    async with serving(slack, model, database_url, installable(slack)) as wren:
        pages = await asyncio.gather(*(install(wren, slack, "T1") for _ in range(5)))
        assert all("Harbour T1" in page for page in pages)
        (kept,) = await wren.engine.installations.list_all("slack")
        assert kept.token_version == 5
