"""`threadwright limits`: see, set and clear what may be spent in a period, and by whom."""

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from bots.cli_organization_option import organization_option, with_organization
from bots.cli_store import Run
from bots.cli_table import table_lines
from bots.errors import OperatorError
from engine.chat.decision import LimitScope
from engine.chat.ids import OrganizationId
from engine.chat.spending import MICROS, Account, Period, SpendPolicy, amount, period_end
from engine.chat.subjects import channel_mistake, person_mistake

if TYPE_CHECKING:
    from engine.store.pool import Pool
    from engine.store.spend_limits import SpendLimits
    from engine.store.spending import SpendStatus

SUBJECTS: Final = ("user", "group", "channel")
DEFAULT: Final = "default"
ORGANIZATION: Final = LimitScope.ORGANIZATION.value
PERIOD: Final = "period"
NAME_LENGTH_MAX: Final = 400
UNPRICED_SHOWN_MAX: Final = 10
MICROS_MAX: Final = 2**63 - 1
T = TypeVar("T", str, tuple[str, ...])


def limit_commands(run: Run) -> click.Group:
    """The group, given what loads the settings and runs a coroutine with them."""

    @click.group(
        epilog="\b\nExamples:\n  threadwright limits set default 5.00\n"
        "  threadwright limits set user slack:T012:U345 20\n"
        "  threadwright limits set period week\n  threadwright limits clear organization"
    )
    def limits() -> None:
        """See and set what may be spent in a period.

        A person's own limit goes before the lowest of their groups', and that before the default.
        Channels and the organization have limits beside. A change holds within two seconds.
        """

    @limits.command()
    @click.option("--identity", help="How this person stands.", metavar="IDENTITY")
    @click.option("--channel", help="How this channel stands.", metavar="CHANNEL")
    @organization_option
    @click.pass_obj
    def show(
        environ: dict[str, str],
        *,
        identity: str | None,
        channel: str | None,
        organization: str | None,
    ) -> None:
        """Show all limits; with --identity or --channel, what is spent of them."""
        work = (
            partial(_show_status, identity=identity, channel=channel)
            if identity or channel
            else _show
        )
        run(environ, lambda settings: with_organization(settings, organization, work))

    # An amount below 0 is told as such, not as an option that there is not.
    @limits.command("set", context_settings={"ignore_unknown_options": True})
    @click.argument("scope", type=click.Choice([DEFAULT, ORGANIZATION, *SUBJECTS, PERIOD]))
    @click.argument("words", nargs=-1, required=True, metavar="[SUBJECT] AMOUNT")
    @organization_option
    @click.pass_obj
    def set_(
        environ: dict[str, str], *, scope: str, words: tuple[str, ...], organization: str | None
    ) -> None:
        """Set a limit, in dollars or whatever currency the prices are in.

        The SUBJECT of a user is an identity such as slack:T012:U345, of a group its name, of a
        channel platform:installation:channel. The period is day, week or month of UTC.
        """
        work = _setting(scope, words)
        run(environ, lambda settings: with_organization(settings, organization, work))

    @limits.command()
    @click.argument("scope", type=click.Choice([DEFAULT, ORGANIZATION, *SUBJECTS]))
    @click.argument("subject", required=False, callback=checked_name)
    @organization_option
    @click.pass_obj
    def clear(
        environ: dict[str, str], *, scope: str, subject: str | None, organization: str | None
    ) -> None:
        """Take a limit away."""
        if (subject is not None) != (scope in SUBJECTS):
            raise click.UsageError(_how_many(scope))
        work = partial(_clear, scope=scope, subject=subject)
        run(environ, lambda settings: with_organization(settings, organization, work))

    for word, enabled in (("on", True), ("off", False)):
        limits.add_command(_switch(run, word, enabled=enabled))
    return limits


def _switch(run: Run, word: str, *, enabled: bool) -> click.Command:
    said = "Have the limits hold again." if enabled else "Let nothing be limited; all is kept."

    @click.command(word, help=said)
    @organization_option
    @click.pass_obj
    def switch(environ: dict[str, str], *, organization: str | None) -> None:
        work = partial(_change, told=f"Limits are {word}.", enabled=enabled)
        run(environ, lambda settings: with_organization(settings, organization, work))

    return switch


def limits_of(pool: "Pool", organization_id: OrganizationId) -> "SpendLimits":
    """The limits of an organization."""
    from engine.store.configuration import ConfigurationVersion
    from engine.store.spend_limits import SpendLimits

    return SpendLimits(pool, ConfigurationVersion(pool), organization_id=organization_id)


def checked_name(_context: click.Context, _parameter: click.Parameter, names: T) -> T:
    """One name or several that can be read in a list. Raises BadParameter."""
    for name in (names,) if isinstance(names, str) else names or ():
        if not name.strip() or not name.isprintable():
            raise click.BadParameter("a name has letters, and no control characters")
        if len(name) > NAME_LENGTH_MAX:
            raise click.BadParameter(f"a name has at most {NAME_LENGTH_MAX} characters")
    return names


def checked_subject(scope: str, subject: str) -> str:
    """The name of somebody or something that there may be. Raises OperatorError."""
    mistake = {"user": person_mistake, "channel": channel_mistake}.get(scope)
    if mistake and (detail := mistake(subject)):
        what, _, mend = detail.partition(": ")
        raise OperatorError(f"{subject} is not right: it {what}", mend=f"write {mend}")
    return subject


def micros_of(text: str) -> int:
    """An amount such as 5, 0.25 or $1,000 in millionths. Raises BadParameter."""
    try:
        value = Decimal(text.removeprefix("$").replace(",", ""))
        micros = value * MICROS
    except InvalidOperation:
        raise click.BadParameter(f"{text!r} is not an amount such as 5 or 0.25") from None
    if not micros.is_finite() or not 0 <= micros <= MICROS_MAX:
        raise click.BadParameter(f"{text!r} is not an amount between 0 and {MICROS_MAX // MICROS}")
    if micros != int(micros):
        raise click.BadParameter(f"{text!r} has more than six decimals")
    return int(micros)


def _setting(scope: str, words: Sequence[str]) -> Any:
    """The work that sets what the words say. Raises UsageError."""
    if len(words) != (2 if scope in SUBJECTS else 1):
        raise click.UsageError(_how_many(scope))
    if scope == PERIOD:
        if words[0] not in tuple(Period):
            raise click.UsageError(f"the period is one of {', '.join(Period)}")
        return partial(_change, told=f"Limits are for a {words[0]}.", period=Period(words[0]))
    micros = micros_of(words[-1])
    told = f"{' '.join((scope, *words[:-1]))}: {amount(micros, exact=True)}"
    if scope == DEFAULT:
        return partial(_change, told=told, default_limit_micros=micros)
    if scope == ORGANIZATION:
        return partial(_change, told=told, organization_limit_micros=micros)
    subject = checked_name(click.get_current_context(), click.Argument(["subject"]), words[0])
    checked_subject(scope, subject)
    return partial(_set, scope=scope, subject=subject, micros=micros, told=told)


def _how_many(scope: str) -> str:
    if scope in SUBJECTS:
        return f"{scope} needs to be told which"
    return f"{scope} takes no subject"


async def _change(
    pool: "Pool", organization_id: OrganizationId, *, told: str, **changes: Any
) -> None:
    await limits_of(pool, organization_id).change_policy(**changes)
    click.echo(told)
    await _warn_of_unpriced(pool)


async def _set(
    pool: "Pool",
    organization_id: OrganizationId,
    *,
    scope: str,
    subject: str,
    micros: int,
    told: str,
) -> None:
    from engine.store.spend_limits import LimitSubject, SpendLimit

    limit = SpendLimit(scope=LimitSubject(scope), subject=subject, limit_micros=micros)
    if not await limits_of(pool, organization_id).set_limit(limit):
        mend = f"make it with `threadwright groups add {subject} IDENTITY`"
        raise OperatorError(f"there is no group {subject!r}", mend=mend)
    click.echo(told)
    await _warn_of_unpriced(pool)


async def _warn_of_unpriced(pool: "Pool") -> None:
    """Say which models cost nothing as far as limits are concerned."""
    from engine.store.catalog import Catalog

    enabled = [each for each in await Catalog(pool).list_models() if each.spec.enabled]
    unpriced = [each.reference for each in enabled if each.spec.input_price is None]
    if not enabled:
        unpriced = ["that of the settings"]
    if unpriced:
        shown = ", ".join(unpriced[:UNPRICED_SHOWN_MAX])
        more = len(unpriced) - UNPRICED_SHOWN_MAX
        shown += f" and {more} more" if more > 0 else ""
        click.echo(f"Models without a price never count towards a limit: {shown}.", err=True)


async def _clear(
    pool: "Pool", organization_id: OrganizationId, *, scope: str, subject: str | None
) -> None:
    from engine.store.spend_limits import LimitSubject

    limits = limits_of(pool, organization_id)
    if subject is None:
        await limits.change_policy(**{f"{scope}_limit_micros": None})
    elif not await limits.clear_limit(LimitSubject(scope), subject):
        what = f"{scope} {subject!r} has no limit of its own"
        raise OperatorError(what, mend="see `threadwright limits show`")
    click.echo(f"{' '.join(filter(None, (scope, subject)))}: no limit")


async def _show(pool: "Pool", organization_id: OrganizationId) -> None:
    limits = limits_of(pool, organization_id)
    policy = await limits.read_policy()
    if policy is None:
        click.echo("Nothing is limited. Set a limit with `threadwright limits set`.")
        return
    rows = [
        (DEFAULT, "everybody", _shown(policy.default_limit_micros)),
        (ORGANIZATION, "", _shown(policy.organization_limit_micros)),
    ]
    rows += [
        (limit.scope.value, limit.subject, _shown(limit.limit_micros))
        for limit in await limits.list_limits()
    ]
    click.echo(_standing(policy))
    click.echo("\n".join(table_lines(("scope", "subject", "limit"), rows, texts=2)))
    await _warn_of_unpriced(pool)


async def _show_status(
    pool: "Pool", organization_id: OrganizationId, *, identity: str | None, channel: str | None
) -> None:
    from engine.store.configuration import ConfigurationVersion
    from engine.store.spending import Spending

    spending = Spending(pool, ConfigurationVersion(pool))
    status = await spending.status(identity, organization_id=organization_id, channel=channel)
    click.echo("\n".join(_status_lines(status, identity, channel)))


def _status_lines(status: "SpendStatus", identity: str | None, channel: str | None) -> list[str]:
    standing = status.standing
    of = (
        ("user", identity, standing.person, status.source.value),
        ("channel", channel, standing.channel, ""),
        (ORGANIZATION, "", standing.organization, ""),
    )
    rows = [
        (scope, subject or "", source, *_amounts(account))
        for scope, subject, account, source in of
        if account is not None
    ]
    resets_at = period_end(standing.period, standing.now)
    header = ("scope", "subject", "limit from", "spent", "limit")
    return [
        *table_lines(header, rows, texts=3),
        f"The {standing.period.value} ends at {resets_at:%Y-%m-%d %H:%M} UTC.",
    ]


def _amounts(account: Account) -> tuple[str, str]:
    return amount(account.spent_micros), _shown(account.limit_micros)


def _standing(policy: SpendPolicy) -> str:
    if policy.enabled:
        return f"Limits are for a {policy.period.value} of UTC."
    return "Limits are off; `threadwright limits on` has them hold again."


def _shown(micros: int | None) -> str:
    return "no limit" if micros is None else amount(micros, exact=True)
