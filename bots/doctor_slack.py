"""Checks of Slack: tokens, scopes, the app's settings, the clock. Nothing there is changed."""

from dataclasses import replace
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
from config.slack_app_settings import InstallPolicy, SlackAppSettings
from config.slack_apps import slack_apps

_PASTE: Final = (
    "paste the manifest of `threadwright init slack` into the app (app settings > App Manifest), and "
    "install it again (Install App > Reinstall to Workspace)"
)
_HOW_TO_LOOK: Final = (
    "for this check set SLACK_CONFIG_TOKEN: api.slack.com/apps > Your App Configuration Tokens > "
    "Generate Token; it lasts twelve hours and only doctor reads it"
)


async def check_slack(settings: Settings) -> list[Finding]:
    """Check each app: both tokens, the scopes of the installation, the app's settings, and the clock."""
    apps = slack_apps(settings.slack)
    if not apps:
        return [ok("slack", "not configured")]
    found: list[Finding] = []
    for name, own in apps.items():
        of_app = await _check_app(settings, own)
        found += [_named(finding, name) for finding in of_app] if name else of_app
    return found


def _named(finding: Finding, app: str) -> Finding:
    return replace(finding, message=f"{app}: {finding.message}")


async def _check_app(settings: Settings, own: SlackAppSettings) -> list[Finding]:
    api_url = settings.slack.api_url
    if own.bot_token is None:
        whose = "anybody" if own.install is InstallPolicy.OPEN else "listed workspaces"
        return [ok("slack", f"{whose} may install it"), *await _socket_findings(api_url, own)]
    bot = await probe_bot_token(api_url=api_url, token=own.bot_token.reveal())
    if bot.is_unreachable:
        message = f"no answer from {api_url} ({bot.failure})"
        return [fail("slack", message, mend="check the network and the proxy")]
    if bot.failure:
        mend = "copy the bot token (xoxb-) again: app settings > Install App"
        return [fail("slack", f"bot token: {bot.failure}", mend=mend)]
    return [
        ok("slack", f"bot {bot.bot} in {bot.team}"),
        *_scope_findings(bot),
        *await _socket_findings(api_url, own),
        *await _settings_findings(settings, own, bot, own.bot_token),
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


async def _socket_findings(api_url: str, own: SlackAppSettings) -> list[Finding]:
    if own.app_token is None:
        return []
    app = await probe_app_token(api_url=api_url, token=own.app_token.reveal())
    if not app.failure:
        return [ok("slack socket", f"opens; each replica holds {own.sockets}")]
    mend = (
        "make an app-level token (xapp-) with the scope connections:write (app settings > Basic "
        "Information > App-Level Tokens), and switch Socket Mode on"
    )
    return [fail("slack socket", f"app token: {app.failure}", mend=mend)]


async def _settings_findings(
    settings: Settings, own: SlackAppSettings, bot: TokenProbe, bot_token: Secret
) -> list[Finding]:
    api_url = settings.slack.api_url
    if own.config_token is None:
        return [warn("slack app", "events and Socket Mode not looked at", mend=_HOW_TO_LOOK)]
    app_id = None if own.app_token is None else app_id_of(own.app_token.reveal())
    if app_id is None:
        app_id = await probe_app_id(api_url=api_url, token=bot_token.reveal(), bot_id=bot.bot_id)
    if app_id is None:
        mend = "grant users:read, or look at Event Subscriptions and Socket Mode by yourself"
        return [warn("slack app", "Slack does not tell which app the bot is of", mend=mend)]
    probe = await probe_manifest(
        api_url=api_url, config_token=own.config_token.reveal(), app_id=app_id
    )
    if probe.failure:
        message = f"the settings of {app_id} cannot be read: {probe.failure}"
        return [warn("slack app", message, mend=_HOW_TO_LOOK)]
    is_http = own.app_token is None
    wanted = Wanted(
        scopes=bot.scopes,
        public_url=settings.server.public_url if is_http else None,
        is_over_http=is_http,
        command=own.command,
    )
    flaws = flaws_of(probe.manifest, wanted)
    return [
        (fail if flaw.is_essential else warn)("slack app", flaw.what, mend=flaw.mend)
        for flaw in flaws
    ] or [ok("slack app", "events, interactivity and surfaces are set as needed")]
