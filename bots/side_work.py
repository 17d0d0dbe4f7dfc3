"""Builds the work beside the turns: who is named and told, and how often it is looked for."""

from collections.abc import Callable
from functools import partial

from adapters.slack.identity import PLATFORM as SLACK
from adapters.slack.notices import is_told_of
from config.settings import Settings
from engine.agent.brain import Brains
from engine.api import Engine
from engine.worker.notice_work import NoticeMaker
from engine.worker.side_work import SidePace, SideWork
from engine.worker.title_work import TitleMaker


def make_side_work(settings: Settings, engine: Engine, brains: Brains) -> SideWork:
    """The side work of one replica."""
    titles = TitleMaker(
        brains=brains,
        rows=engine.rows,
        side=engine.side_work,
        set_title=partial(engine.details.set_title, by_human=False),
    )
    notices = NoticeMaker(
        brains=brains,
        rows=engine.rows,
        side=engine.side_work,
        notifications=engine.notifications,
        is_wanted=_wanted_by(settings),
    )
    return SideWork(
        titles=titles,
        notices=notices,
        side=engine.side_work,
        notifications=engine.notifications,
        pace=SidePace(
            poll_seconds=settings.notifications.poll_seconds,
            makes_titles=settings.titles.enabled,
        ),
    )


def notify_after_seconds(settings: Settings) -> float | None:
    """How long a turn takes that owners are told of; None: they are never told."""
    notifications = settings.notifications
    return notifications.after_seconds if notifications.enabled else None


def _wanted_by(settings: Settings) -> Callable[[str], bool]:
    """Whether a notifier would say anything, so that no model is asked for words that nobody reads."""

    def is_wanted(channel: str) -> bool:
        platform, _, place = channel.partition(":")
        _installation, _, channel_id = place.partition(":")
        return platform == SLACK and is_told_of(channel_id, settings.slack.notify)

    return is_wanted
