"""Owns the short-lived rights an interaction gives an app: trigger ids and response URLs."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from tests.fakes.slack_clock import SlackClock
from tests.fakes.slack_wire import SlackError

TRIGGER_LIFE_SECONDS = 3.0
RESPONSE_URL_LIFE_SECONDS = 1800.0
RESPONSE_URL_USES = 5


@dataclass(slots=True, kw_only=True, eq=False)
class Trigger:
    """The right to open one view for one person, for three seconds."""

    user_id: str
    team_id: str
    expires_at: float
    is_spent: bool = False


@dataclass(slots=True, kw_only=True, eq=False)
class ResponseUrl:
    """The right to answer where an interaction happened, without a token."""

    team_id: str
    user_id: str
    channel_id: str
    message_ts: str | None
    thread_ts: str | None
    expires_at: float
    uses_left: int = RESPONSE_URL_USES


class Triggers:
    """Issues and spends trigger ids and response URLs by the fake's clock."""

    def __init__(self, clock: SlackClock) -> None:
        self._clock = clock
        self._triggers: dict[str, Trigger] = {}
        self._urls: dict[str, ResponseUrl] = {}

    def issue(self, *, team_id: str, user_id: str) -> str:
        number = 10_518_733_222_661 + len(self._triggers)
        digest = hashlib.md5(f"{number}{user_id}".encode(), usedforsecurity=False).hexdigest()
        trigger_id = f"{number}.3901254001572.{digest}"
        self._triggers[trigger_id] = Trigger(
            user_id=user_id,
            team_id=team_id,
            expires_at=self._clock.now() + TRIGGER_LIFE_SECONDS,
        )
        return trigger_id

    def spend(self, trigger_id: str, *, team_id: str) -> Trigger:
        """Use a trigger up; raises SlackError when it is unknown, used or too old."""
        trigger = self._triggers.get(trigger_id)
        if trigger is None or trigger.team_id != team_id:
            raise SlackError("invalid_trigger_id")
        if trigger.is_spent:
            raise SlackError("exchanged_trigger_id")
        if trigger.expires_at < self._clock.now():
            raise SlackError("expired_trigger_id")
        trigger.is_spent = True
        return trigger

    def issue_url(
        self,
        *,
        team_id: str,
        user_id: str,
        channel_id: str,
        message_ts: str | None = None,
        thread_ts: str | None = None,
    ) -> str:
        """The path of a new response URL, below the fake's origin."""
        path = f"/response/{team_id}/{len(self._urls) + 1}/{user_id}"
        self._urls[path] = ResponseUrl(
            team_id=team_id,
            user_id=user_id,
            channel_id=channel_id,
            message_ts=message_ts,
            thread_ts=thread_ts,
            expires_at=self._clock.now() + RESPONSE_URL_LIFE_SECONDS,
        )
        return path

    def end_urls(self) -> None:
        """Let all response URLs be over, as after half an hour."""
        for url in self._urls.values():
            url.expires_at = 0.0

    def spend_url(self, path: str) -> ResponseUrl:
        url = self._urls.get(path)
        if url is None:
            raise SlackError("invalid_url")
        if url.expires_at < self._clock.now():
            raise SlackError("expired_url")
        if url.uses_left == 0:
            raise SlackError("used_url")
        url.uses_left -= 1
        return url
