"""What a runner does when its chat changes."""

from uuid import UUID

import pytest

from engine.chat.changes import ChatChange
from engine.chat.ids import ChatId, RunnerId
from engine.chat.snapshot import ChatStatus
from engine.worker.work_plan import Plan, plan_for

MINE, OTHER = RunnerId(UUID(int=1)), RunnerId(UUID(int=2))


def change(status: ChatStatus, runner_id: RunnerId | None) -> ChatChange:
    return ChatChange(
        chat_id=ChatId(UUID(int=9)),
        snapshot_version=5,
        history_version=1,
        queue_version=0,
        retry_version=0,
        generation_attempt=1,
        status=status,
        runner_id=runner_id,
    )


@pytest.mark.parametrize("status", ChatStatus)
def test_whoever_lost_the_chat_lets_go(status: ChatStatus) -> None:
    for runner_id in (OTHER, None):
        assert plan_for(change(status, runner_id), MINE) is Plan.ABANDON


@pytest.mark.parametrize("status", ChatStatus)
def test_the_holder_works_stops_or_lets_go(status: ChatStatus) -> None:
    plans = {ChatStatus.RUNNING: Plan.GO_ON, ChatStatus.INTERRUPTING: Plan.INTERRUPT}
    assert plan_for(change(status, MINE), MINE) is plans.get(status, Plan.ABANDON)
