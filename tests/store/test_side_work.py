"""Work beside the turns: one read tells whether there is any that nobody has claimed."""

from uuid import UUID

from engine.chat.commands import FinishTurn
from engine.store.chat_machine import ChatMachine
from engine.store.notifications import Notifications
from engine.store.pool import Pool
from engine.store.side_work import SideSurvey, SideWorkRows
from tests.store.story import answer, fence_of, force_running, harbour, new_chat, sql, submit

CLAIM = UUID(int=1)
NOTHING = SideSurvey(has_title_requests=False, has_notifications=False)
TITLES = SideSurvey(has_title_requests=True, has_notifications=False)
NOTICES = SideSurvey(has_title_requests=False, has_notifications=True)


async def test_survey_tells_of_a_title_that_was_asked_for_and_that_nobody_makes(
    machine: ChatMachine, pool: Pool
) -> None:
    side = SideWorkRows(pool)
    chat_id = await new_chat(machine)
    assert await side.survey() == NOTHING
    await side.request_title(chat_id)
    assert await side.survey() == TITLES

    await side.claim_title_requests(CLAIM, 10, 60)
    assert await side.survey() == NOTHING

    await sql(pool, "UPDATE title_requests SET claimed_until = now()")
    assert await side.survey() == TITLES
    assert await side.finish_title_request(chat_id, CLAIM)
    assert await side.survey() == NOTHING


async def test_survey_tells_of_a_notification_that_lacks_words(
    machine: ChatMachine, pool: Pool
) -> None:
    """E36 (store part)"""
    side, notifications = SideWorkRows(pool), Notifications(pool)
    chat_id = await new_chat(machine, binding=harbour())
    held = await force_running(pool, chat_id)
    assert await side.survey() == NOTHING
    finish = FinishTurn(fence=fence_of(held), messages=(answer("hi"),), notify=True)
    await submit(machine, chat_id, finish)
    assert await side.survey() == NOTICES

    (item,) = await notifications.claim_new(CLAIM, 10, 60)
    assert await side.survey() == NOTHING

    await sql(pool, "UPDATE notifications SET claimed_until = now()")
    assert await side.survey() == NOTICES
    assert await notifications.put_text(item.id, CLAIM, "It is done.")
    assert await side.survey() == NOTHING
