"""Servers that chaos needs beside the databases: a Slack workspace and a model provider per test."""

from collections.abc import AsyncIterator

import pytest

from tests.fakes.model_server import FakeModel
from tests.fakes.slack_server import FakeSlack


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack.start() as fake:
        yield fake


@pytest.fixture
async def model() -> AsyncIterator[FakeModel]:
    async with FakeModel.start() as fake:
        yield fake
