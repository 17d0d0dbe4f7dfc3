"""The settings of a test's replica: short leases, a fake model, nothing that a test did not ask for."""

from dataclasses import replace

from config.secret import Secret, SecretUrl
from config.settings import ModelProvider, Settings, ToolsSettings, WorkerSettings
from config.side_settings import NotificationsSettings, TitlesSettings

FAST = WorkerSettings(lease_seconds=1.0, heartbeat_seconds=0.2, poll_seconds=0.1)
SECRET_KEY = Secret("the secret key of the harbour, for tests")


def settings_for(
    *,
    redis_url: str | None = None,
    worker: WorkerSettings = FAST,
    action_seconds: float = 86_400.0,
    makes_titles: bool = False,
    notify_after: float | None = None,
    show_reasoning: bool = True,
) -> Settings:
    """Settings of a test's replica: short leases, the provider of the fake model.

    New chats are not named and nobody is told of long turns unless the test asks for it, so that the
    model sees no request that a test did not cause.
    """
    settings = replace(
        Settings(), worker=worker, tools=ToolsSettings(action_timeout_seconds=action_seconds)
    )
    settings = replace(
        settings,
        titles=TitlesSettings(enabled=makes_titles),
        notifications=NotificationsSettings(
            enabled=notify_after is not None, after_seconds=notify_after or 0.0, poll_seconds=0.1
        ),
    )
    model = replace(settings.model, provider=ModelProvider.OPENAI, name="test-model")
    model = replace(model, show_reasoning=show_reasoning)
    settings = replace(settings, model=model, secret_key=SECRET_KEY)
    if redis_url is None:
        return settings
    return replace(settings, redis=replace(settings.redis, url=SecretUrl(redis_url)))
