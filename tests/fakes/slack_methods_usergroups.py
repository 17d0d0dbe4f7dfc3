"""Owns usergroups.*: the groups that people keep in a workspace, and who is in them."""

from __future__ import annotations

from typing import Any

from tests.fakes.slack_backend import Backend
from tests.fakes.slack_wire import Call, SlackError

Json = dict[str, Any]


def list_groups(_backend: Backend, call: Call) -> Json:
    groups = call.team.usergroups.items()
    return {
        "usergroups": [
            {"id": group_id, "team_id": call.team.id, "is_usergroup": True, "handle": handle}
            for group_id, (handle, _) in groups
        ]
    }


def list_users(_backend: Backend, call: Call) -> Json:
    group = call.team.usergroups.get(call.text("usergroup"))
    if group is None:
        raise SlackError("no_such_subteam")
    return {"users": list(group[1])}
