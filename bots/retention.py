"""What housekeeping does with old chats and recordings, as the settings say."""

from config.settings import Settings
from engine.api import Engine
from engine.worker.housekeeping import Chore
from engine.worker.retention_work import RetentionDays, RetentionWork


def retention_chores(settings: Settings, engine: Engine) -> tuple[Chore, ...]:
    """The chores. Chats are put away once a round, a thousand at most; the rest goes until it is done."""
    days = RetentionDays(
        archive=settings.retention.archive_days,
        delete=settings.retention.delete_days,
        recordings=settings.recording.days,
    )
    work = RetentionWork(engine.machine, engine.retention, engine.recordings, days)
    return (
        Chore(name="archive", work=work.archive_idle, is_repeated=False),
        Chore(name="delete", work=work.delete_archived),
        Chore(name="recordings", work=work.purge_recordings),
        Chore(name="unfinished recordings", work=work.end_recordings, is_repeated=False),
    )
