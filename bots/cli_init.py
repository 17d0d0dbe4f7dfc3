"""`threadwright init`: print what another system needs to know about us. Changes nothing."""

import json
import re

import click

_SOCKET_MODE_STEPS = """
Slack in five steps:

1. Open https://api.slack.com/apps, press "Create New App", "From a manifest", choose the workspace,
   and paste the manifest above (tab JSON).
2. "Basic Information" > "App-Level Tokens" > "Generate Token and Scopes": add the scope
   connections:write, generate, copy the token:          SLACK_APP_TOKEN=xapp-...
3. "Basic Information" > "App Credentials": copy the signing secret:
                                                         SLACK_SIGNING_SECRET=...
4. "Install App" > "Install to Workspace", allow, copy the bot token:
                                                         SLACK_BOT_TOKEN=xoxb-...
5. Set the three variables, run `threadwright doctor`, then `threadwright serve` (or `demo`).
   In Slack: /invite @{name} in a channel, and mention it.
"""

_HTTP_STEPS = """
Slack over HTTP in five steps:

1. Set THREADWRIGHT_SERVER_PUBLIC_URL={public_url} and start `threadwright serve`, reachable there:
   Slack checks the address when the app is made.
2. Open https://api.slack.com/apps, press "Create New App", "From a manifest", choose the workspace,
   and paste the manifest above (tab JSON).
3. "Basic Information" > "App Credentials": copy the signing secret:
                                                         SLACK_SIGNING_SECRET=...
4. "Install App" > "Install to Workspace", allow, copy the bot token:
                                                         SLACK_BOT_TOKEN=xoxb-...
5. Set the two variables, run `threadwright doctor`, restart `threadwright serve`, and if Slack shows
   the request address as unverified, press "Retry". In Slack: /invite @{name}, and mention it.
"""


_DISTRIBUTED_STEPS = """
A Slack app for many workspaces in five steps:

1. Set THREADWRIGHT_SERVER_PUBLIC_URL={public_url} and start `threadwright serve`, reachable there:
   Slack checks the address when the app is made.
2. Open https://api.slack.com/apps, press "Create New App", "From a manifest", choose the workspace,
   and paste the manifest above (tab JSON).
3. "Basic Information" > "App Credentials": copy three of them:
                                                         SLACK_CLIENT_ID=...
                                                         SLACK_CLIENT_SECRET=...
                                                         SLACK_SIGNING_SECRET=...
4. "Manage Distribution" > "Activate Public Distribution", for workspaces other than your own.
5. Set the three variables, leave SLACK_BOT_TOKEN out, restart `threadwright serve`, and give
   people the address {public_url}/slack/install
"""


@click.group()
def init() -> None:
    """Print what a platform needs to know about Threadwright."""


@init.command(
    epilog="\b\nExamples:\n  threadwright init slack\n  threadwright init slack --manifest-only > manifest.json"
)
@click.option("--name", default="Threadwright", show_default=True, help="Name of the app and bot.")
@click.option(
    "--public-url",
    help="Receive events over HTTP at this address instead of Socket Mode.",
    metavar="URL",
)
@click.option(
    "--features",
    default="all",
    show_default=True,
    help="agent, channels, private, groups, commands, home, notifications, files, uploads, "
    "reactions, usergroups; several with commas.",
    metavar="FEATURES",
)
@click.option("--command", default="/agent", show_default=True, help="The slash command.")
@click.option(
    "--distribute",
    is_flag=True,
    help="An app that any workspace installs by a link; needs --public-url.",
)
@click.option("--manifest-only", is_flag=True, help="Only the manifest, for a file or a pipe.")
def slack(
    *,
    name: str,
    public_url: str | None,
    features: str,
    command: str,
    distribute: bool,
    manifest_only: bool,
) -> None:
    """Print a Slack app manifest, and where to click.

    Fewer features ask for fewer permissions; mentions and direct messages always work.
    """
    from adapters.slack.manifest import FEATURES, slack_manifest

    chosen = list(FEATURES) if features == "all" else [part.strip() for part in features.split(",")]
    if unknown := [feature for feature in chosen if feature not in FEATURES]:
        raise click.BadParameter(
            f"{', '.join(unknown)}: choose from {', '.join(FEATURES)}", param_hint="--features"
        )

    if public_url and not public_url.startswith("https://"):
        raise click.BadParameter(
            "Slack needs an address that starts with https://", param_hint="--public-url"
        )
    if distribute and not public_url:
        raise click.BadParameter("needs --public-url", param_hint="--distribute")
    if not re.fullmatch(r"/[a-z0-9_-]{1,31}", command):
        raise click.BadParameter(
            "a command is a slash and up to 31 small letters, digits, - or _",
            param_hint="--command",
        )
    try:
        manifest = slack_manifest(
            name=name,
            features=chosen,
            public_url=public_url,
            command=command,
            is_distributed=distribute,
        )
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--name") from error
    click.echo(json.dumps(manifest, indent=2))
    if not manifest_only:
        steps = _HTTP_STEPS if public_url else _SOCKET_MODE_STEPS
        if distribute:
            steps = _DISTRIBUTED_STEPS
        click.echo(steps.format(name=name, public_url=public_url), nl=False)
