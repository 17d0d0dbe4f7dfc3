"""The endpoints of usage, limits and groups; all take an administrator's token."""

from typing import Final

from adapters.http import usage_reports
from adapters.http.auth import TokenRole
from adapters.http.call import Endpoint, Parameter
from engine.chat.usage import UsageBy

_TIME: Final = {"type": "string"}

SPENDING_ENDPOINTS: Final = (
    Endpoint(
        method="GET",
        path="/usage",
        name="reportUsage",
        summary="Sum up what models were used for and what it cost.",
        run=usage_reports.report,
        gives="Usage",
        other_kinds=(usage_reports.CSV_KIND,),
        problems=(422,),
        parameters=(
            Parameter(
                name="by",
                meaning="What a row stands for.",
                schema={"enum": [by.value for by in UsageBy], "default": UsageBy.USER.value},
            ),
            Parameter(name="since", meaning="A date or time; UTC without a zone.", schema=_TIME),
            Parameter(name="until", meaning="Before this date or time.", schema=_TIME),
            Parameter(
                name="format",
                meaning="Goes before the Accept header, which may ask for text/csv too.",
                schema={"enum": ["json", "csv"]},
            ),
        ),
        role=TokenRole.ADMIN,
        detail="Calls of deleted messages and chats are in it. A cost of null means that nothing was "
        "priced. In CSV, a name that a spreadsheet would take for a formula has an apostrophe before it.",
    ),
    Endpoint(
        method="GET",
        path="/limits",
        name="getLimits",
        summary="See the spend policy and all limits.",
        run=usage_reports.limits,
        gives="Limits",
        role=TokenRole.ADMIN,
    ),
    Endpoint(
        method="PUT",
        path="/limits",
        name="setLimitPolicy",
        summary="Replace the spend policy: period, the limit of everybody, the organization's.",
        run=usage_reports.set_policy,
        takes="LimitPolicy",
        gives="Limits",
        problems=(422,),
        role=TokenRole.ADMIN,
        detail="Both amounts are required; null is no limit. It holds on every replica within two seconds.",
    ),
    Endpoint(
        method="GET",
        path="/limits/status",
        name="getLimitStatus",
        summary="See what a person, a channel and the organization have spent, of what.",
        run=usage_reports.status,
        gives="LimitStatus",
        problems=(422,),
        parameters=(
            Parameter(name="identity", meaning="The person, as platform:installation:id."),
            Parameter(name="channel", meaning="The channel, as platform:installation:channel."),
        ),
        role=TokenRole.ADMIN,
    ),
    Endpoint(
        method="PUT",
        path="/limits/{scope}/{subject}",
        name="setLimit",
        summary="Give a person, a group's members each, or a channel a limit.",
        run=usage_reports.set_limit,
        takes="NewLimit",
        successes=(204,),
        problems=(422,),
        role=TokenRole.ADMIN,
    ),
    Endpoint(
        method="DELETE",
        path="/limits/{scope}/{subject}",
        name="clearLimit",
        summary="Take a limit away.",
        run=usage_reports.clear_limit,
        successes=(204,),
        problems=(422,),
        role=TokenRole.ADMIN,
    ),
    Endpoint(
        method="GET",
        path="/groups",
        name="listGroups",
        summary="List groups of people, with their members and limits.",
        run=usage_reports.groups,
        gives="Groups",
        role=TokenRole.ADMIN,
    ),
    Endpoint(
        method="DELETE",
        path="/groups/{group}",
        name="removeGroup",
        summary="Remove a group and its limit.",
        run=usage_reports.remove_group,
        successes=(204,),
        problems=(422,),
        role=TokenRole.ADMIN,
    ),
    Endpoint(
        method="PUT",
        path="/groups/{group}/members/{identity}",
        name="addGroupMember",
        summary="Put somebody into a group, which is made if it is not there.",
        run=usage_reports.add_member,
        successes=(204,),
        problems=(422,),
        role=TokenRole.ADMIN,
    ),
    Endpoint(
        method="DELETE",
        path="/groups/{group}/members/{identity}",
        name="removeGroupMember",
        summary="Take somebody out of a group.",
        run=usage_reports.remove_member,
        successes=(204,),
        problems=(422,),
        role=TokenRole.ADMIN,
    ),
)
