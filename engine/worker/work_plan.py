"""What a runner must do when its chat changes: go on, stop for an interrupt, or let go. Pure."""

from enum import StrEnum

from engine.chat.changes import ChatChange
from engine.chat.ids import RunnerId
from engine.chat.snapshot import ChatStatus


class Plan(StrEnum):
    """The one thing that a runner does next."""

    GO_ON = "go_on"
    INTERRUPT = "interrupt"
    ABANDON = "abandon"


def plan_for(change: ChatChange, runner_id: RunnerId) -> Plan:
    """Plan by the newest state of the chat. Only its owner may work on it, only while it works."""
    if change.runner_id != runner_id:
        return Plan.ABANDON
    match change.status:
        case ChatStatus.RUNNING:
            return Plan.GO_ON
        case ChatStatus.INTERRUPTING:
            return Plan.INTERRUPT
        case ChatStatus.WAITING | ChatStatus.REQUIRES_ACTION | ChatStatus.ERROR:
            return Plan.ABANDON
