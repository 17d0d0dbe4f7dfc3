"""What requests about usage, limits and groups ask for (pure)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from adapters.http.errors import not_found
from adapters.http.fields import Mistakes, ObjectReader, misleads
from adapters.http.queries import Pairs
from engine.api import LIMIT_MICROS_MAX, LimitSubject
from engine.chat.spending import Period, SpendPolicy
from engine.chat.subjects import channel_mistake, person_mistake
from engine.chat.usage import UsageBy, usage_moment

NAME_MAX: Final = 400
JSON: Final = "json"
CSV: Final = "csv"
_BYS: Final = tuple(by.value for by in UsageBy)


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageQuery:
    """Which report is asked for. `kind`: json or csv; None: whatever the client takes."""

    by: UsageBy
    since: datetime | None
    until: datetime | None
    kind: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusQuery:
    """Whose standing is asked for."""

    identity: str | None
    channel: str | None


def usage_query(pairs: Pairs) -> UsageQuery:
    """The report, all mistakes told."""
    mistakes = Mistakes()
    given = known_pairs(pairs, ("by", "since", "until", "format"), mistakes)
    by = given.get("by", UsageBy.USER.value)
    if by not in _BYS:
        mistakes.add("by", f"must be one of {', '.join(_BYS)}")
    kind = given.get("format")
    if kind not in (None, JSON, CSV):
        mistakes.add("format", "must be json or csv")
    since, until = (moment_of(given.get(name), name, mistakes) for name in ("since", "until"))
    if since and until and since > until:
        mistakes.add("since", "is after until")
    mistakes.raise_if_any()
    return UsageQuery(by=UsageBy(by), since=since, until=until, kind=kind)


def status_query(pairs: Pairs) -> StatusQuery:
    """The person and the channel."""
    mistakes = Mistakes()
    given = known_pairs(pairs, ("identity", "channel"), mistakes)
    mistakes.raise_if_any()
    return StatusQuery(identity=given.get("identity"), channel=given.get("channel"))


def policy_of(body: Any) -> SpendPolicy:
    """The whole policy. Both amounts must be there: what was only forgotten would be unlimited."""
    mistakes = Mistakes()
    known = ("enabled", "period", "default_limit_micros", "organization_limit_micros")
    reader = ObjectReader(body, mistakes, known=known)
    for name in known[2:]:
        if isinstance(body, dict) and name not in reader:
            reader.wrong(name, "is required; null for no limit")
    policy = SpendPolicy(
        enabled=reader.flag("enabled", default=True),
        period=reader.choice("period", Period, default=Period.MONTH),
        default_limit_micros=reader.whole("default_limit_micros"),
        organization_limit_micros=reader.whole("organization_limit_micros"),
    )
    mistakes.raise_if_any()
    return policy


def limit_micros_of(body: Any) -> int:
    """The amount of a limit."""
    mistakes = Mistakes()
    reader = ObjectReader(body, mistakes, known=("limit_micros",))
    micros = reader.whole("limit_micros")
    if micros is None and mistakes.count == 0:
        reader.wrong("limit_micros", "is required")
    mistakes.raise_if_any()
    return min(micros or 0, LIMIT_MICROS_MAX)


def scope_of(path: Mapping[str, str]) -> LimitSubject:
    """What the path's limit is given to. Raises Problem 404."""
    try:
        return LimitSubject(path["scope"])
    except ValueError:
        raise not_found("scope; limits are of a user, a group or a channel") from None


def name_of(path: Mapping[str, str], part: str) -> str:
    """A name in the path. Raises Problem 422 for one that nobody could read in a list."""
    name = path[part]
    mistakes = Mistakes()
    if len(name) > NAME_MAX:
        mistakes.add(part, f"is longer than {NAME_MAX} characters")
    elif not name.strip() or misleads(name):
        mistakes.add(part, "must be printable")
    mistakes.raise_if_any()
    return name


def subject_of(path: Mapping[str, str], scope: LimitSubject, part: str = "subject") -> str:
    """Whom or what something is set for. Raises Problem 422 where there can be no such one."""
    subject = name_of(path, part)
    mistakes = Mistakes()
    match scope:
        case LimitSubject.USER:
            detail = person_mistake(subject)
        case LimitSubject.CHANNEL:
            detail = channel_mistake(subject)
        case LimitSubject.GROUP:
            detail = None
    if detail:
        mistakes.add(part, detail)
    mistakes.raise_if_any()
    return subject


def known_pairs(pairs: Pairs, known: Sequence[str], mistakes: Mistakes) -> dict[str, str]:
    """The parameters that are known; what else there is, and what is given twice, is a mistake."""
    given: dict[str, str] = {}
    for name, value in pairs:
        if name not in known:
            mistakes.add_unknown(name[:80], name, known)
        elif name in given:
            mistakes.add(name, "is given more than once")
        given[name] = value
    return given


def moment_of(text: str | None, name: str, mistakes: Mistakes) -> datetime | None:
    """A moment, or the beginning of a day; without a zone of UTC."""
    if text is None:
        return None
    try:
        # A plus sign in a query means a blank.
        return usage_moment(text.replace(" ", "+") if "T" in text else text)
    except ValueError:
        mistakes.add(name, "must be a date or time, such as 2026-12-31 or 2026-12-31T08:00:00Z")
        return None
