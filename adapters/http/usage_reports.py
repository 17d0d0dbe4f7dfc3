"""Usage, limits and groups, for administrators: look, set, clear."""

from typing import Any, Final

from aiohttp import web

from adapters.http import usage_queries
from adapters.http.call import Answer, Call
from adapters.http.errors import not_found
from engine.api import LimitSubject, SpendLimit, SpendStatus
from engine.chat.spending import Account, SpendPolicy, period_end, period_start
from engine.chat.usage import COLUMNS, UsageReport, total_cost, usage_csv

Json = dict[str, Any]
CSV_KIND: Final = "text/csv"
_HEADERS: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


async def report(call: Call) -> Answer | web.StreamResponse:
    """What models were used for and what it cost."""
    query = usage_queries.usage_query(call.query)
    found = await call.engine.usage.report(query.by, since=query.since, until=query.until)
    wants_csv = CSV_KIND in call.request.headers.get("Accept", "")
    if query.kind == usage_queries.CSV or (query.kind is None and wants_csv):
        return _csv(found)
    times = {"since": query.since, "until": query.until}
    return Answer(body={"by": found.by.value, **times, **_report_view(found)})


async def limits(call: Call) -> Answer:
    """The policy and all limits."""
    return Answer(body=await _limits_view(call))


async def set_policy(call: Call) -> Answer:
    """Replace the policy; limits of people, groups and channels stay."""
    policy = usage_queries.policy_of(call.body)
    await call.engine.limits.change_policy(
        enabled=policy.enabled,
        period=policy.period,
        default_limit_micros=policy.default_limit_micros,
        organization_limit_micros=policy.organization_limit_micros,
    )
    return Answer(body=await _limits_view(call))


async def set_limit(call: Call) -> Answer:
    """Give a person, a group or a channel a limit of its own."""
    scope = usage_queries.scope_of(call.path)
    subject = usage_queries.subject_of(call.path, scope)
    micros = usage_queries.limit_micros_of(call.body)
    limit = SpendLimit(scope=scope, subject=subject, limit_micros=micros)
    if not await call.engine.limits.set_limit(limit):
        raise not_found(LimitSubject.GROUP.value)
    return Answer(status=204)


async def clear_limit(call: Call) -> Answer:
    """Take a limit away."""
    scope = usage_queries.scope_of(call.path)
    subject = usage_queries.name_of(call.path, "subject")
    if not await call.engine.limits.clear_limit(scope, subject):
        raise not_found("limit")
    return Answer(status=204)


async def status(call: Call) -> Answer:
    """How somebody stands in the present period."""
    query = usage_queries.status_query(call.query)
    found = await call.engine.spending.status(query.identity, channel=query.channel)
    return Answer(body=_status_view(found))


async def groups(call: Call) -> Answer:
    """All groups."""
    found = await call.engine.limits.list_groups()
    views = [
        {"name": group.name, "members": group.members, "limit_micros": group.limit_micros}
        for group in found
    ]
    return Answer(body={"groups": views})


async def add_member(call: Call) -> Answer:
    """Put somebody into a group; it is made if it is not there."""
    group = usage_queries.name_of(call.path, "group")
    identity = usage_queries.subject_of(call.path, LimitSubject.USER, "identity")
    await call.engine.limits.add_members(group, [identity])
    return Answer(status=204)


async def remove_member(call: Call) -> Answer:
    """Take somebody out of a group."""
    group = usage_queries.name_of(call.path, "group")
    identity = usage_queries.name_of(call.path, "identity")
    if not await call.engine.limits.remove_members(group, [identity]):
        raise not_found("member of this group")
    return Answer(status=204)


async def remove_group(call: Call) -> Answer:
    """Remove a group and its limit."""
    if not await call.engine.limits.remove_group(usage_queries.name_of(call.path, "group")):
        raise not_found("group")
    return Answer(status=204)


def _csv(report: UsageReport) -> web.Response:
    name = f'attachment; filename="usage-by-{report.by.value}.csv"'
    return web.Response(
        text=usage_csv(report),
        content_type=CSV_KIND,
        charset="utf-8",
        headers={**_HEADERS, "Content-Disposition": name},
    )


def _report_view(report: UsageReport) -> Json:
    rows = [
        {"key": row.key, **{column: getattr(row, column) for column in COLUMNS}}
        for row in report.rows
    ]
    return {"rows": rows, "total_cost_micros": total_cost(report.rows), "is_cut": report.is_cut}


async def _limits_view(call: Call) -> Json:
    policy = await call.engine.limits.read_policy() or SpendPolicy(enabled=False)
    found = await call.engine.limits.list_limits()
    limits = [
        {"scope": limit.scope.value, "subject": limit.subject, "limit_micros": limit.limit_micros}
        for limit in found
    ]
    return {
        "enabled": policy.enabled,
        "period": policy.period.value,
        "default_limit_micros": policy.default_limit_micros,
        "organization_limit_micros": policy.organization_limit_micros,
        "limits": limits,
    }


def _status_view(found: SpendStatus) -> Json:
    standing = found.standing
    return {
        "enabled": found.enabled,
        "period": standing.period.value,
        "period_start": period_start(standing.period, standing.now),
        "resets_at": period_end(standing.period, standing.now),
        "source": found.source.value,
        "person": _account_view(standing.person),
        "channel": _account_view(standing.channel),
        "organization": _account_view(standing.organization),
    }


def _account_view(account: Account | None) -> Json | None:
    if account is None:
        return None
    return {"spent_micros": account.spent_micros, "limit_micros": account.limit_micros}
