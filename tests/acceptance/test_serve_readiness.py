"""`/readyz` of a real process: not ready before Slack has said who we are, and it says what is wrong."""

from pathlib import Path
from typing import Any

import aiohttp

from tests.chaos.serving import Replica, serving, until_true
from tests.fakes.model_server import FakeModel
from tests.fakes.slack_server import FakeSlack


async def readiness(replica: Replica) -> tuple[int, Any]:
    address = f"{replica.url}/readyz"
    async with aiohttp.ClientSession() as session, session.get(address) as answer:
        return answer.status, await answer.json()


async def test_a_process_is_ready_once_slack_has_said_who_we_are(
    slack: FakeSlack, model: FakeModel, database_url: str
) -> None:
    fault = slack.fail_next("auth.test", hang=True)
    async with serving(slack, model, database_url) as house:
        replica = await house.start(waits=False)
        await fault.reached.wait()
        status, said = await readiness(replica)
        assert status == 503
        assert said["problems"] == {
            "slack": "the app without a name: Slack has not said yet who we are"
        }
        fault.release()

        async def is_ready() -> bool:
            return await readiness(replica) == (200, {"status": "ready", "problems": {}})

        await until_true(is_ready)


async def test_an_app_that_is_broken_is_named_and_the_others_are_served(
    slack: FakeSlack, model: FakeModel, database_url: str, tmp_path: Path
) -> None:
    file = tmp_path / "threadwright.toml"
    file.write_text("[slack.apps.tugboat]\nbot_token = 'xoxb-bad'\nsigning_secret = 's'\n")
    more = {"THREADWRIGHT_CONFIG": str(file)}
    async with serving(slack, model, database_url, **more) as house:
        replica = await house.start()

        async def is_told() -> bool:
            status, said = await readiness(replica)
            return (status, said.get("notes")) == (
                200,
                {"slack": "app tugboat: Slack does not say who we are: invalid_auth"},
            )

        await until_true(is_told)
