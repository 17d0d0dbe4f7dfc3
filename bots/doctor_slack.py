"""Checks of Slack: tokens, scopes, the app's settings, the clock. Nothing there is changed."""

from typing import Final

from adapters.slack.app_settings import Wanted, flaws_of
from adapters.slack.doctor import (
    TokenProbe,
    app_id_of,
    missing_essentials,
    missing_features,
    probe_app_id,
    probe_app_token,
    probe_bot_token,
    probe_manifest,
)
from bots.doctor_local import clock_findings
from bots.finding import Finding, fail, ok, warn
from config.secret import Secret
from config.settings import Settings

_PASTE: Final = (
    "paste the manifest of `threadwright init slack` into the app (app settings > App Manifest), and "
    "install it again (Install App > Reinstall to Workspace)"
)
_HOW_TO_LOOK: Final = (
    "for this check set SLACK_CONFIG_TOKEN: api.slack.com/apps > Your App Configuration Tokens > "
    "Generate Token; it lasts twelve hours and only doctor reads it"
)


async def check_slack(settings: Settings) -> list[Finding]:
    """Check both Slack tokens, the scopes of the installation, the app's settings, and the clock."""
    slack = settings.slack
    if slack.bot_token is None:
        return [ok("slack", "not configured")]
    bot = await probe_bot_token(api_url=slack.api_url, token=slack.bot_token.reveal())
    if bot.is_unreachable:
        message = f"no answer from {slack.api_url} ({bot.failure})"
        return [fail("slack", message, mend="check the network and the proxy")]
    if bot.failure:
        mend = "copy the bot token (xoxb-) again: app settings > Install App"
        return [fail("slack", f"bot token: {bot.failure}", mend=mend)]
    return [
        ok("slack", f"bot {bot.bot} in {bot.team}"),
        *_scope_findings(bot),
        *await _socket_findings(settings),
        *await _settings_findings(settings, bot, slack.bot_token),
        *clock_findings(bot.server_date, "Slack"),
    ]


def _scope_findings(bot: TokenProbe) -> list[Finding]:
    found = []
    if essential := missing_essentials(bot.scopes):
        found.append(fail("slack scopes", f"missing: {', '.join(essential)}", mend=_PASTE))
    for purpose, scopes in missing_features(bot.scopes).items():
        message = f"no {purpose}: {', '.join(scopes)} missing"
        found.append(warn("slack scopes", message, mend=_PASTE))
    return found


async def _socket_findings(settings: Settings) -> list[Finding]:
    slack = settings.slack
    if slack.app_token is None:
        return []
    app = await probe_app_token(api_url=slack.api_url, token=slack.app_token.reveal())
    if not app.failure:
        return [ok("slack socket", f"opens; each replica holds {slack.sockets}")]
    mend = (
        "make an app-level token (xapp-) with the scope connections:write (app settings > Basic "
        "Information > App-Level Tokens), and switch Socket Mode on"
    )
    return [fail("slack socket", f"app token: {app.failure}", mend=mend)]


async def _settings_findings(
    settings: Settings, bot: TokenProbe, bot_token: Secret
) -> list[Finding]:
    slack = settings.slack
    if slack.config_token is None:
        return [warn("slack app", "events and Socket Mode not looked at", mend=_HOW_TO_LOOK)]
    app_id = None if slack.app_token is None else app_id_of(slack.app_token.reveal())
    if app_id is None:
        app_id = await probe_app_id(
            api_url=slack.api_url, token=bot_token.reveal(), bot_id=bot.bot_id
        )
    if app_id is None:
        mend = "grant users:read, or look at Event Subscriptions and Socket Mode by yourself"
        return [warn("slack app", "Slack does not tell which app the bot is of", mend=mend)]
    probe = await probe_manifest(
        api_url=slack.api_url, config_token=slack.config_token.reveal(), app_id=app_id
    )
    if probe.failure:
        message = f"the settings of {app_id} cannot be read: {probe.failure}"
        return [warn("slack app", message, mend=_HOW_TO_LOOK)]
    is_http = slack.app_token is None
    wanted = Wanted(
        scopes=bot.scopes,
        public_url=settings.server.public_url if is_http else None,
        is_over_http=is_http,
        command=slack.command,
    )
    flaws = flaws_of(probe.manifest, wanted)
    return [
        (fail if flaw.is_essential else warn)("slack app", flaw.what, mend=flaw.mend)
        for flaw in flaws
    ] or [ok("slack app", "events, interactivity and surfaces are set as needed")]
