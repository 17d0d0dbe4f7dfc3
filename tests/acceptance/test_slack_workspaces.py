"""Installations come, go and come back; tokens are renewed in time, once, whichever replica does it."""

import pytest

from tests.acceptance.slack_house import until_growing, until_says, until_true
from tests.acceptance.slack_installs import install, installable, serving, until_ended
from tests.fakes.model_server import FakeModel, Gate, Say
from tests.fakes.postgres import PostgresServer
from tests.fakes.replica import eventually
from tests.fakes.slack_server import FakeSlack

SOON = 0.2


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """What replicas know of each other's installations is young, and little is put off for long."""
    monkeypatch.setattr("adapters.slack.stored_workspaces.KNOWN_SECONDS", SOON)
    monkeypatch.setattr("adapters.slack.stored_workspaces.UNKNOWN_SECONDS", SOON)
    monkeypatch.setattr("adapters.slack.token_renewal.LOOK_SECONDS", SOON)
    monkeypatch.setattr("adapters.delivery.pump.RETRY_SECONDS_MIN", SOON)


def actions(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [str(getattr(record, "action", "")) for record in caplog.records]


async def test_an_uninstalled_app_is_over_and_says_so_in_the_log(
    slack: FakeSlack, model: FakeModel, database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(slack, model, database_url, installable(slack)) as wren:
        slack.use_http(f"{wren.url}/slack/events")
        await install(wren, slack, "T1")
        slack.uninstall(slack.team)
        assert await until_ended(wren, "T1") == "token_revoked"
        await slack.wait_until_settled()
        assert all(delivery.is_acked for delivery in slack.deliveries)
        assert "slack_installation_ended" in actions(caplog)
        assert len([call for call in slack.calls("auth.test") if call.error]) <= 2


async def test_an_end_that_nobody_told_of_is_found_at_the_next_call_and_a_new_installation_revives_it(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Gate("slow"), Say("Late, but here.")])
    async with serving(slack, model, database_url, installable(slack)) as wren:
        slack.use_http(f"{wren.url}/slack/events")
        await install(wren, slack, "T1")
        question = await ada.say(harbour, "<@BOT> hi")
        await until_true(lambda: model.streamed)
        slack.uninstall(slack.team, tells=False)
        model.release("slow")
        assert await until_ended(wren, "T1") == "token_revoked"
        before = len(slack.calls("chat.postMessage"))
        assert "Harbour T1" in await install(wren, slack, "T1")
        await until_says(slack, harbour, question, "Late, but here.")
        # Nothing was tried in between, since nothing could come of it.
        refused = [call for call in slack.calls("chat.postMessage") if call.error]
        assert len(refused) <= before


async def test_an_end_that_is_told_late_ends_nothing_that_was_installed_since(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with serving(slack, model, database_url, installable(slack)) as wren:
        slack.use_http(f"{wren.url}/slack/events")
        await install(wren, slack, "T1")
        slack.uninstall(slack.team)
        await until_ended(wren, "T1")
        await install(wren, slack, "T1")
        told = [d for d in slack.deliveries if d.event["type"] == "app_uninstalled"]
        asked = len(slack.calls("auth.test"))
        await slack.replay(told[0], with_new_event_id=True)
        await until_true(lambda: len(slack.calls("auth.test")) > asked)
        question = await ada.say(harbour, "<@BOT> hi")
        await until_says(slack, harbour, question, "All right.")


async def test_revoked_tokens_of_a_person_are_none_of_ours(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with serving(slack, model, database_url, installable(slack)) as wren:
        slack.use_http(f"{wren.url}/slack/events")
        await install(wren, slack, "T1")
        asked = len(slack.calls("auth.test"))
        await slack.emit({"type": "tokens_revoked", "tokens": {"oauth": [ada.id], "bot": []}})
        question = await ada.say(harbour, "<@BOT> hi")
        await until_says(slack, harbour, question, "All right.")
        assert len(slack.calls("auth.test")) == asked


async def test_a_word_of_slacks_that_was_wrong_ends_nothing(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with serving(slack, model, database_url, installable(slack)) as wren:
        slack.use_http(f"{wren.url}/slack/events")
        await install(wren, slack, "T1")
        slack.fail_next("chat.postMessage", error="invalid_auth")
        question = await ada.say(harbour, "<@BOT> hi")
        await until_says(slack, harbour, question, "All right.")


async def test_what_is_for_nobody_is_acknowledged_and_dropped_and_told_in_the_log(
    slack: FakeSlack,
    model: FakeModel,
    database_url: str,
    postgres: PostgresServer,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """D1"""
    slack.http.retry_delays_seconds = (SOON,) * 60  # type: ignore[assignment]
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with serving(slack, model, database_url, installable(slack)) as wren:
        slack.use_http(f"{wren.url}/slack/events")
        await ada.say(harbour, "<@BOT> hi")
        await slack.wait_until_settled()
        assert all(delivery.is_acked for delivery in slack.deliveries)
        assert "slack_not_installed" in actions(caplog)
        assert model.streamed == []
        # Without the database nobody knows whom it is for: Slack shall send it again.
        postgres.stop()

        async def is_kept() -> bool:
            await ada.say(harbour, "<@BOT> hi")
            delivery = slack.deliveries[-1]
            await delivery.tried.wait()
            return not delivery.is_acked

        await eventually(is_kept)
        postgres.start()
        await slack.wait_until_settled()


async def test_another_replica_hears_of_an_installation_and_of_its_end(
    slack: FakeSlack, model: FakeModel, database_url: str, redis_url: str
) -> None:
    """D2"""
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    settings = installable(slack)
    async with (
        serving(slack, model, database_url, settings, redis_url=redis_url) as first,
        serving(slack, model, database_url, settings, redis_url=redis_url) as second,
    ):
        slack.use_http(f"{second.url}/slack/events")
        await ada.say(harbour, "<@BOT> too early")
        await slack.wait_until_settled()
        await install(first, slack, "T1")

        async def is_heard() -> bool:
            question = await ada.say(harbour, "<@BOT> hi")
            await slack.wait_until_settled()
            backlog = await second.engine.inbox.waiting_count()
            return bool(backlog) or bool(slack.replies(harbour, question))

        await eventually(is_heard)
        # The first replica knows by the database what the second one was told.
        slack.uninstall(slack.team)
        await until_ended(second, "T1")
        slack.use_http(f"{first.url}/slack/events")

        async def is_dropped() -> bool:
            asked = len(model.streamed)
            await ada.say(harbour, "<@BOT> are you there?")
            await slack.wait_until_settled()
            return not await first.engine.inbox.waiting_count() and len(model.streamed) == asked

        await eventually(is_dropped)


async def test_tokens_are_renewed_ahead_of_their_end_once_for_all_replicas(
    slack: FakeSlack, model: FakeModel, database_url: str, redis_url: str
) -> None:
    slack.oauth.rotates = True
    slack.oauth.token_seconds = 3
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    settings = installable(slack)
    async with (
        serving(slack, model, database_url, settings, redis_url=redis_url) as first,
        serving(slack, model, database_url, settings, redis_url=redis_url) as second,
    ):
        slack.use_http(f"{second.url}/slack/events")
        await install(first, slack, "T1")

        async def is_third() -> bool:
            stored = await first.engine.installations.read("slack", "T1")
            return stored is not None and stored.token_version >= 3

        for number in range(6):
            question = await ada.say(harbour, f"<@BOT> hi {number}")
            await until_says(slack, harbour, question, "All right.")
        await eventually(is_third)
        stored = await first.engine.installations.read("slack", "T1")
        assert stored is not None
        renewals = [
            call
            for call in slack.calls("oauth.v2.access")
            if call.args.get("grant_type") == "refresh_token"
        ]
        assert not any(call.error for call in renewals)
        assert len(renewals) in (stored.token_version - 1, stored.token_version)


async def test_a_renewal_that_fails_leaves_the_tokens_and_is_tried_again(
    slack: FakeSlack,
    model: FakeModel,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("adapters.slack.token_renewal.AWAY_SECONDS", SOON)
    slack.oauth.rotates = True
    slack.oauth.token_seconds = 1
    async with serving(slack, model, database_url, installable(slack)) as wren:
        is_refresh = {"when": lambda args: args.get("grant_type") == "refresh_token"}
        fault = slack.fail_next("oauth.v2.access", status=503, times=2, **is_refresh)  # type: ignore[arg-type]
        await install(wren, slack, "T1")
        before = await wren.engine.installations.open("slack", "T1")
        await fault.reached.wait()

        async def is_renewed() -> bool:
            stored = await wren.engine.installations.read("slack", "T1")
            return stored is not None and stored.token_version == 2

        await eventually(is_renewed)
        after = await wren.engine.installations.open("slack", "T1")
        assert before is not None
        assert after is not None
        assert after.token != before.token
        assert actions(caplog).count("slack_token_not_renewed") == 2


async def test_a_renewal_that_slack_refuses_is_told_once_and_shown(
    slack: FakeSlack,
    model: FakeModel,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("adapters.slack.token_renewal.REFUSED_SECONDS", SOON)
    slack.oauth.rotates = True
    slack.oauth.token_seconds = 1
    async with serving(slack, model, database_url, installable(slack)) as wren:
        await install(wren, slack, "T1")
        slack.oauth.refresh_tokens.clear()
        await until_true(lambda: len([c for c in slack.calls("oauth.v2.access") if c.error]) >= 3)
        stored = await wren.engine.installations.read("slack", "T1")
        assert stored is not None
        assert (stored.trouble, stored.token_version) == ("invalid_refresh_token", 1)
        errors = [r for r in caplog.records if r.levelname == "ERROR"]
        assert [getattr(r, "action", "") for r in errors] == ["slack_needs_reinstall"]
        # A new installation mends it.
        slack.oauth.token_seconds = 3600
        await install(wren, slack, "T1")
        stored = await wren.engine.installations.read("slack", "T1")
        assert stored is not None
        assert stored.trouble is None


async def test_a_token_that_ran_out_while_nobody_ran_is_renewed_before_it_is_used(
    slack: FakeSlack, model: FakeModel, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    slack.oauth.rotates = True
    slack.oauth.token_seconds = 1
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    async with serving(slack, model, database_url, installable(slack)) as wren:
        await install(wren, slack, "T1")
        stored = await wren.engine.installations.read("slack", "T1")
    assert stored is not None

    async def is_past() -> bool:
        return slack.clock.now() > stored.installed_at.timestamp() + 1.5

    await eventually(is_past)
    slack.oauth.token_seconds = 3600
    # Nothing but the need for it renews.
    monkeypatch.setattr("adapters.slack.token_renewal.TokenRenewal.renew_due", _nothing)
    async with serving(slack, model, database_url, installable(slack)) as wren:
        slack.use_http(f"{wren.url}/slack/events")
        question = await ada.say(harbour, "<@BOT> hi")
        await until_says(slack, harbour, question, "All right.")
    assert not any(call.error == "token_expired" for call in slack.calls())


async def _nothing(*_arguments: object) -> None:
    pass


async def test_a_reply_under_way_goes_on_with_the_new_token(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    """D3"""
    slack.oauth.rotates = True
    slack.oauth.token_seconds = 2
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    model.script([Say("Half"), Gate("half"), Say(" and half.")])
    async with serving(slack, model, database_url, installable(slack)) as wren:
        slack.use_http(f"{wren.url}/slack/events")
        await install(wren, slack, "T1")
        question = await ada.say(harbour, "<@BOT> hi")
        await until_growing(slack, harbour, question, "Half")

        async def is_renewed() -> bool:
            stored = await wren.engine.installations.read("slack", "T1")
            return stored is not None and stored.token_version >= 3

        await eventually(is_renewed)
        model.release("half")
        await until_says(slack, harbour, question, "Half and half.")


async def test_a_token_that_cannot_be_opened_is_told_and_nothing_is_lost(
    slack: FakeSlack,
    model: FakeModel,
    database_url: str,
    postgres: PostgresServer,
    caplog: pytest.LogCaptureFixture,
) -> None:
    slack.http.retry_delays_seconds = (SOON,) * 60  # type: ignore[assignment]
    ada, harbour = slack.user("Ada"), slack.channel("harbour")
    database = database_url.partition("?")[0].rpartition("/")[2]
    async with serving(slack, model, database_url, installable(slack)) as wren:
        slack.use_http(f"{wren.url}/slack/events")
        await install(wren, slack, "T1")
        spoil = "UPDATE installations SET token_key_id = '{}'"
        key_id = postgres.sql("SELECT token_key_id FROM installations", database=database)
        postgres.sql(spoil.format("lost"), database=database)
        question = await ada.say(harbour, "<@BOT> hi")
        await until_true(lambda: "slack_token_unreadable" in actions(caplog))
        tried = slack.deliveries[-1]
        await tried.tried.wait()
        assert {attempt.status for attempt in tried.attempts if attempt.status} == {503}
        postgres.sql(spoil.format(key_id), database=database)
        await until_says(slack, harbour, question, "All right.")
