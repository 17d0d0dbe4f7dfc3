"""Which installation a delivery of Slack's is for (pure).

Events say it in their first authorization, whoever's event it is. What people press says it by the message
that they pressed it on, or by the team that is in the view or the body; an organization that has installed
the app as a whole has no team there. Slack Connect shows why the order matters: the team of whoever acts
may be another than the one that has the app.
"""

from collections.abc import Iterator

from adapters.slack.identity import installation_of
from adapters.slack.wire import Json, objects_at, text_at


def keys_of(body: Json, app: str) -> tuple[str, ...]:
    """The installations that it may be for, the likeliest first; empty where it says nothing."""
    said = next(iter(objects_at(body, "authorizations")), None)
    is_organization = _flag(body if said is None else said)
    enterprise = text_at(said, "enterprise_id") or _enterprise_of(body)
    teams = list(_teams_of(body)) if said is None else [text_at(said, "team_id")]
    if is_organization:
        teams = []
    elif is_organization is False and any(teams):
        enterprise = ""
    found = dict.fromkeys(team for team in (*teams, enterprise) if team)
    return tuple(installation_of(team, app) for team in found)


def _flag(said: Json) -> bool | None:
    """Whether the app is installed in the whole organization; None where that is not said."""
    match said.get("is_enterprise_install"):
        case True | "true":
            return True
        case False | "false":
            return False
        case _:
            return None


def _teams_of(body: Json) -> Iterator[str]:
    yield text_at(body, "view", "app_installed_team_id")
    # Only our own messages have our controls, whoever presses them.
    yield text_at(body, "message", "team")
    yield text_at(body, "team", "id")
    yield text_at(body, "team")
    yield text_at(body, "team_id")
    yield text_at(body, "user", "team_id")
    yield text_at(body, "view", "team_id")


def _enterprise_of(body: Json) -> str:
    return (
        text_at(body, "enterprise", "id")
        or text_at(body, "enterprise_id")
        or text_at(body, "team", "enterprise_id")
    )
