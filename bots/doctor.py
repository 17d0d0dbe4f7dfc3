"""`threadwright doctor`: run every check, show each finding as it comes, say what to do about it."""

import json
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Final

import click

from bots.catalog import bots_of_apps, load_bots, names_of
from bots.doctor_installations import check_installations
from bots.doctor_local import (
    check_discord,
    check_port,
    check_python,
    check_secrets,
    check_state_dir,
)
from bots.doctor_providers import check_providers
from bots.doctor_remote import (
    check_database,
    check_model,
    check_redis,
)
from bots.doctor_slack import check_slack
from bots.finding import Finding, Status, fail, ok, warn
from bots.logs import redact
from bots.providers_file import read_providers_file
from config.errors import ConfigInvalid
from config.load import load_settings
from config.settings import Settings

Check = Callable[[Settings], Coroutine[object, object, list[Finding]]]

_SLOW_CHECKS: Final[tuple[Check, ...]] = (
    check_database,
    check_redis,
    check_model,
    check_providers,
    check_slack,
    check_installations,
    check_port,
)
_COLOURS: Final = {Status.OK: "green", Status.WARN: "yellow", Status.FAIL: "red"}


async def run_doctor(environ: Mapping[str, str], *, as_json: bool) -> int:
    """Print what was found and return the exit code: 1 when anything failed, else 0."""
    findings: list[Finding] = []
    async for found in _examine(environ):
        finding = replace(found, message=redact(found.message))
        findings.append(finding)
        if not as_json:
            _show(finding)
    failed = sum(finding.status is Status.FAIL for finding in findings)
    if as_json:
        listed = [finding.as_dict() for finding in findings]
        click.echo(json.dumps({"ok": failed == 0, "findings": listed}, indent=2))
    else:
        warned = sum(finding.status is Status.WARN for finding in findings)
        click.echo(f"\n{failed} failed, {warned} to look at, {len(findings)} findings in all")
    return 1 if failed else 0


async def _examine(environ: Mapping[str, str]) -> AsyncIterator[Finding]:
    """Yield the findings in a fixed order, each as soon as it is known."""
    yield check_python()
    try:
        loaded = load_settings(environ)
        settings = loaded.settings
        bots = load_bots(settings.bots_dir)
        bots_of_apps(settings.slack, names_of(bots))
    except ConfigInvalid as invalid:
        for problem in invalid.problems:
            yield fail("configuration", f"{problem.where}: {problem.what}", mend=problem.mend)
        return
    yield ok("configuration", f"every setting is understood; bots: {', '.join(bots)}")
    for notice in loaded.notices:
        yield warn("configuration", f"{notice.where}: {notice.what}", mend=notice.mend)
    for finding in (
        *check_state_dir(settings),
        *check_secrets(settings),
        *check_providers_file(settings, environ),
        *check_discord(settings),
    ):
        yield finding
    for check in _SLOW_CHECKS:
        for finding in await _guarded(check, settings):
            yield finding


def check_providers_file(settings: Settings, environ: Mapping[str, str]) -> list[Finding]:
    """Check the providers file with the keys that it names, as a start would read it."""
    if settings.providers_file is None:
        return []
    try:
        entries = read_providers_file(settings.providers_file, environ)
    except ConfigInvalid as invalid:
        return [
            fail("providers file", f"{problem.where}: {problem.what}", mend=problem.mend)
            for problem in invalid.problems
        ]
    return [ok("providers file", f"{settings.providers_file}: {len(entries)} providers")]


async def _guarded(check: Check, settings: Settings) -> list[Finding]:
    """Turn a check's own failure into a finding, so that the other checks still run."""
    try:
        return await check(settings)
    except Exception as error:  # noqa: BLE001 - the root of one check
        name = check.__name__.removeprefix("check_")
        what = f"the check itself failed: {type(error).__name__}: {error}"
        return [fail(name, redact(what), mend="report this as a bug")]


def _show(finding: Finding) -> None:
    mark = click.style(f"{finding.status.value:>4}", fg=_COLOURS[finding.status])
    click.echo(f"{mark}  {finding.check:14} {finding.message}")
    if finding.mend:
        click.echo(f"{'':21}-> {finding.mend}")
