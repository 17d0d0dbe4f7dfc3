"""The command line: `threadwright demo | serve | migrate | doctor | check-config | init`.

Exit codes: 0 done, 1 could not do it, 2 wrong usage or configuration, 130 interrupted. Errors are
one line each: what, where, how to mend it. Modules that take long to load are loaded by the
command that needs them, so that `--help` answers at once.
"""

import json
import os
import socket
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NoReturn

import click

from bots.cli_chats import chats_commands
from bots.cli_feedback import feedback_command
from bots.cli_groups import group_commands
from bots.cli_inbox import inbox_commands
from bots.cli_init import init
from bots.cli_keys import key_commands, secret_commands
from bots.cli_limits import limit_commands
from bots.cli_models import model_commands
from bots.cli_organizations import organization_commands
from bots.cli_providers import provider_commands
from bots.cli_slack import slack_commands
from bots.cli_token import token_commands
from bots.cli_usage import usage_command
from config.display import effective_values
from config.errors import ConfigInvalid, Problem
from config.load import CONFIG_ENV_NAME, Loaded, load_settings
from config.settings import Settings

if TYPE_CHECKING:
    from engine.store.catalog_file import FileEntry

EXIT_FAILED: Final = 1
EXIT_MISCONFIGURED: Final = 2
EXIT_INTERRUPTED: Final = 130

_ADDRESS_OPTIONS: Final = (
    click.option("--host", help="Address to listen on.", metavar="ADDRESS"),
    click.option("--port", help="Port to listen on; 0 lets the system choose.", metavar="PORT"),
)


def _address_options(command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(_ADDRESS_OPTIONS):
        command = option(command)
    return command


@click.group(
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="\b\nStart here:\n  threadwright demo          chat with an agent in the browser, nothing to set up\n"
    "  threadwright init slack    bring it into Slack",
)
@click.version_option(package_name="threadwright", prog_name="threadwright")
@click.option("--config", help=f"TOML file (else {CONFIG_ENV_NAME}).", metavar="FILE")
@click.pass_context
def cli(context: click.Context, *, config: str | None) -> None:
    """Agents for the threads where teams already talk."""
    environ = dict(os.environ)
    if config:
        environ[CONFIG_ENV_NAME] = config
    context.obj = environ


@cli.command(
    epilog="\b\nExamples:\n  threadwright demo\n  OPENAI_API_KEY=... threadwright demo --port 9000"
)
@_address_options
@click.pass_obj
def demo(environ: dict[str, str], *, host: str | None, port: str | None) -> None:
    """Run everything in one process, with an embedded database.

    The model is a scripted one unless OPENAI_API_KEY, OPENAI_BASE_URL or ANTHROPIC_API_KEY is set. Chats are kept and
    are there again at the next start. A database or Redis that is configured is left alone. Ctrl-C
    stops it.
    """
    loaded = _load(environ, host=host, port=port)
    _tell(loaded.notices)
    settings = _with_own_database(loaded)
    _check_host(settings)
    from bots.wiring import run_demo

    _run(settings, run_demo(settings, _providers(environ, settings)))


@cli.command(
    epilog="\b\nExamples:\n  DATABASE_URL=... REDIS_URL=... threadwright serve\n"
    "  threadwright serve --roles api,slack --host 0.0.0.0"
)
@click.option(
    "--roles",
    help="api, worker, slack; several with commas.",
    metavar="ROLES",
)
@_address_options
@click.pass_obj
def serve(
    environ: dict[str, str], *, roles: str | None, host: str | None, port: str | None
) -> None:
    """Run one replica; start as many as you like on one database and Redis.

    Without --roles it does all that is configured. SIGTERM lets running work go to another
    replica and exits.
    """
    loaded = _load(environ, roles=roles, host=host, port=port)
    _tell(loaded.notices)
    settings = loaded.settings
    _check_host(settings)
    from bots.wiring import run_serve

    _run(settings, run_serve(settings, _providers(environ, settings)))


@cli.command()
@click.pass_obj
def migrate(environ: dict[str, str]) -> None:
    """Bring the database's schema up to date.

    Safe at any time and from several machines at once: it runs under a lock, and replicas of the
    previous version go on working.
    """
    settings = _load(environ).settings
    from bots.wiring import run_migrate

    _run(settings, run_migrate(settings))


@cli.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of lines.")
@click.pass_obj
def doctor(environ: dict[str, str], *, as_json: bool) -> None:
    """Try out everything that is configured, and say how to mend what fails.

    Checks Python, configuration, database, Redis, providers and their keys, the bots' models, Slack
    tokens and scopes, the clock and the port. Exit code 1 if anything fails; nothing is changed.
    """
    from bots.doctor import run_doctor
    from bots.event_loop import run

    raise SystemExit(run(run_doctor(environ, as_json=as_json)))


@cli.command("check-config")
@click.option("--json", "as_json", is_flag=True, help="One JSON object instead of lines.")
@click.pass_obj
def check_config(environ: dict[str, str], *, as_json: bool) -> None:
    """Print the effective settings and where each came from, secrets masked.

    Reads the bots' files and the providers file too; they are not printed.
    """
    from bots.catalog import bots_of_apps, load_bots, names_of

    loaded = _load(environ)
    try:
        bots_of_apps(loaded.settings.slack, names_of(load_bots(loaded.settings.bots_dir)))
    except ConfigInvalid as invalid:
        _refuse(invalid)
    _providers(environ, loaded.settings)
    _tell(loaded.notices)
    rows = list(effective_values(loaded.settings, loaded.origins))
    if as_json:
        found = {path: {"value": value, "origin": origin} for path, value, origin in rows}
        click.echo(json.dumps(found, indent=2))
        return
    paths, values = (max(len(row[column]) for row in rows) for column in (0, 1))
    for path, value, origin in rows:
        click.echo(f"{path:{paths}}  {value:{values}}  {origin}")


cli.add_command(init)


def _load(environ: dict[str, str], **options: str | None) -> Loaded:
    """Load the settings, options of the command line included, or exit with every mistake named."""
    paths = {"roles": "roles", "host": "server.host", "port": "server.port"}
    overrides = {paths[name]: text for name, text in options.items() if text is not None}
    try:
        return load_settings(environ, overrides=overrides)
    except ConfigInvalid as invalid:
        _refuse(invalid)


def _providers(environ: dict[str, str], settings: Settings) -> "tuple[FileEntry, ...] | None":
    """Read the providers file, if there is one, or exit with every mistake named."""
    if settings.providers_file is None:
        return None
    from bots.providers_file import read_providers_file

    try:
        return read_providers_file(settings.providers_file, environ)
    except ConfigInvalid as invalid:
        _refuse(invalid)


def _with_own_database(loaded: Loaded) -> Settings:
    """Return the settings without database and Redis, and say which were set and are not used.

    Whoever tries the demo must not write into the database that some other program is set up for.
    """
    settings = loaded.settings
    if set_ones := [
        loaded.origins[path] for path in ("database.url", "redis.url") if path in loaded.origins
    ]:
        verb = "is" if len(set_ones) == 1 else "are"
        click.echo(
            f"threadwright: {' and '.join(set_ones)} {verb} ignored: the demo has a database of its "
            "own; `threadwright serve` uses what is configured",
            err=True,
        )
    return replace(
        settings,
        database=replace(settings.database, url=None),
        redis=replace(settings.redis, url=None),
    )


def _check_host(settings: Settings) -> None:
    """Refuse an address to listen on that does not exist, before anything is started."""
    host = settings.server.host
    try:
        socket.getaddrinfo(host, settings.server.port, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError):
        problem = Problem(
            where="server.host",
            what=f"{host} is no address that is known here",
            mend="choose one of this machine with --host, such as 127.0.0.1 or 0.0.0.0",
        )
        _refuse(ConfigInvalid([problem]))


def _tell(notices: Iterable[Problem]) -> None:
    for notice in notices:
        click.echo(f"threadwright: warning: {notice}", err=True)


def _refuse(invalid: ConfigInvalid) -> NoReturn:
    from bots.logs import redact

    for problem in invalid.problems:
        # A token that was put where a file's name belongs is quoted as that name.
        click.echo(f"threadwright: {redact(str(problem))}", err=True)
    raise SystemExit(EXIT_MISCONFIGURED) from invalid


def _run(settings: Settings, work: Coroutine[object, object, None]) -> None:
    """Run a command to its end; what a person can mend is one line, not a traceback."""
    from asyncio import CancelledError

    from bots.errors import as_operator_error
    from bots.event_loop import run
    from bots.logs import configure_logs, redact

    configure_logs(settings.log)
    try:
        run(work)
    except (KeyboardInterrupt, CancelledError):
        # A second signal cancels the command while it puts its work away.
        raise SystemExit(EXIT_INTERRUPTED) from None
    except ConfigInvalid as invalid:
        # The bots' own files are read by the command.
        _refuse(invalid)
    except BaseException as fault:
        error = as_operator_error(fault)
        if error is None:
            raise
        click.echo(f"threadwright: {redact(str(error))}", err=True)
        raise SystemExit(EXIT_FAILED) from fault


def _run_with(
    environ: dict[str, str], work: Callable[[Settings], Coroutine[object, object, None]]
) -> None:
    settings = _load(environ).settings
    _run(settings, work(settings))


cli.add_command(token_commands(_run_with))
cli.add_command(slack_commands(_run_with))
cli.add_command(organization_commands(_run_with))
cli.add_command(inbox_commands(_run_with))
cli.add_command(provider_commands(_run_with))
cli.add_command(model_commands(_run_with))
cli.add_command(key_commands(_run_with))
cli.add_command(secret_commands(_run_with))
cli.add_command(usage_command(_run_with))
cli.add_command(feedback_command(_run_with))
cli.add_command(limit_commands(_run_with))
cli.add_command(group_commands(_run_with))
cli.add_command(chats_commands(_run_with))


def main() -> None:
    """Run the command line."""
    cli(prog_name="threadwright")
