"""Servers that a person's day needs: a Slack workspace and a model provider, one of each per test."""

from collections.abc import AsyncIterator

import pytest

from config.slack_stream_settings import SlackStreaming
from tests.acceptance.slack_house import grow_by
from tests.fakes.model_server import FakeModel
from tests.fakes.slack_server import FakeSlack


@pytest.fixture
async def slack(request: pytest.FixtureRequest) -> AsyncIterator[FakeSlack]:
    async with FakeSlack.start() as fake:
        grow_by(fake, getattr(request, "param", SlackStreaming.EDITS))
        yield fake


@pytest.fixture
async def model() -> AsyncIterator[FakeModel]:
    async with FakeModel.start() as fake:
        yield fake
