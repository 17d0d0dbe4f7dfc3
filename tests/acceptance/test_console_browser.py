"""The console in a real browser: what a person does and sees."""

import asyncio
from collections.abc import AsyncIterator
from uuid import UUID

import pytest
from playwright.async_api import Browser, Page, Route, expect

from engine.chat.ids import ChatId
from tests.acceptance.console_server import chromium, serve_console
from tests.fakes.model_script import Call, Gate, Say
from tests.fakes.model_server import FakeModel
from tests.fakes.replica import TestReplica

pytestmark = pytest.mark.browser

expect.set_options(timeout=15_000)


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as started:
        yield started


@pytest.fixture
async def replica(database_url: str, model: FakeModel) -> AsyncIterator[TestReplica]:
    async with TestReplica.start(database_url, model.url) as started:
        yield started


@pytest.fixture
async def address(replica: TestReplica) -> AsyncIterator[str]:
    async with serve_console(replica.engine) as served:
        yield served


@pytest.fixture
async def page(browser: Browser, address: str) -> AsyncIterator[Page]:
    """A page at the console. Nothing may go wrong in it that nobody sees."""
    context = await browser.new_context(viewport={"width": 1280, "height": 800})
    opened = await context.new_page()
    faults: list[str] = []
    opened.on("pageerror", lambda error: faults.append(str(error)))
    opened.on("console", lambda line: faults.append(line.text) if line.type == "error" else None)
    await opened.goto(address)
    yield opened
    # A refusal is said to the person; the browser logs its status as well.
    assert [fault for fault in faults if "409 (Conflict)" not in fault] == []
    await context.close()


async def start(page: Page, text: str = "Good morning") -> None:
    """Start a chat from the first page."""
    await page.fill("#text", text)
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/chats/*")


async def write(page: Page, text: str) -> None:
    """Write to the chat."""
    await page.fill("#text", text)
    await page.keyboard.press("Enter")
    await expect(page.locator("#text")).to_have_value("")


async def until(page: Page, status: str) -> None:
    """Wait until the page says that the chat has this status."""
    await expect(page.locator("#thread")).to_have_attribute("data-status", status)


async def test_answer_is_seen_to_grow(page: Page, model: FakeModel) -> None:
    model.script([Say("Good **morn"), Gate("middle"), Say("ing**, Ada.")])
    await start(page)
    growing = page.locator("#preview .prose")
    await expect(growing).to_have_text("Good **morn")
    model.release("middle")
    await expect(page.locator(".entry.bot:not(#preview) .prose")).to_have_text("Good morning, Ada.")
    await expect(page.locator(".entry.bot strong")).to_have_text("morning")
    await expect(page.locator("#preview")).to_be_hidden()
    await expect(page.locator(".entry")).to_have_count(3)  # Two, and the preview.


async def test_message_is_sent_without_leaving_the_page(page: Page, model: FakeModel) -> None:
    model.script([Say("Yes"), Gate("first"), Say("?")])
    await start(page)
    await expect(page.locator("#preview .prose")).to_have_text("Yes")
    model.release("first")
    await until(page, "waiting")
    model.script([Say("At "), Gate("middle"), Say("six.")])
    await write(page, "When?")
    await expect(page.locator("#preview .prose")).to_have_text("At")
    model.release("middle")
    await expect(page.locator(".entry.user .said").last).to_have_text("When?")
    await expect(page.locator(".entry.bot:not(#preview) .prose").last).to_have_text("At six.")


async def test_text_that_is_typed_while_a_message_is_sent_is_kept(page: Page) -> None:
    await start(page)
    await until(page, "waiting")
    sent, answer = asyncio.Event(), asyncio.Event()

    async def hold(route: Route) -> None:
        sent.set()
        await answer.wait()
        await route.continue_()

    await page.route("**/messages", hold)
    await page.fill("#text", "Who sails?")
    await page.keyboard.press("Enter")
    await sent.wait()
    await page.keyboard.type(" And when?")
    await page.keyboard.press("Enter")  # Not yet: one message at a time.
    answer.set()
    await expect(page.locator(".entry.user .said").last).to_have_text("Who sails?")
    await expect(page.locator("#text")).to_have_value(" And when?")
    await page.keyboard.press("Enter")
    await expect(page.locator(".entry.user .said").last).to_have_text("And when?")
    await expect(page.locator(".entry.user")).to_have_count(3)


async def test_text_that_is_shown_runs_nothing(page: Page, model: FakeModel) -> None:
    attack = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
    model.script([Say(attack), Gate("middle")])
    await start(page, attack)
    await expect(page.locator("#preview")).to_contain_text("<script>")
    await expect(page.locator(".entry.user .said")).to_have_text(attack)
    model.release("middle")
    await until(page, "waiting")
    assert "owned" not in (await page.title()).replace(attack, "").split(" · ")[-1]
    assert await page.locator(".entry img, .entry script").count() == 0


async def test_button_answers_the_question(page: Page, model: FakeModel) -> None:
    model.script(
        [Say("Let me ask."), Call("ask_people", {"question": "Tea?", "options": ["Yes", "No"]})],
        [Say("No tea, then.")],
    )
    await start(page)
    await page.click(".question.open .choice >> text=No")
    await expect(page.locator(".question.closed")).to_contain_text("answered by you")
    await expect(page.locator(".question.closed .chosen")).to_have_text("No")
    await expect(page.locator(".question.open")).to_have_count(0)
    await expect(page.locator(".entry.bot:not(#preview)")).to_have_count(2)
    await expect(page.locator(".entry.bot:not(#preview) .prose").last).to_have_text("No tea, then.")


async def test_running_answer_is_stopped_and_kept(page: Page, model: FakeModel) -> None:
    model.script([Say("Half"), Gate("held")])
    await start(page)
    await expect(page.locator("#preview .prose")).to_have_text("Half")
    await page.click("[data-stop]")
    await expect(page.locator(".broke")).to_have_text("Stopped here.")
    await expect(page.locator(".entry.bot:not(#preview) .prose")).to_have_text("Half")
    await expect(page.locator("[data-stop]")).to_be_hidden()


async def test_message_waits_can_be_dropped_and_can_go_first(page: Page, model: FakeModel) -> None:
    model.script([Say("Half"), Gate("held")])
    await start(page)
    await expect(page.locator("#preview .prose")).to_have_text("Half")
    for text in ("one", "two", "three"):
        await write(page, text)
    await expect(page.locator(".queue li .text")).to_have_text(["one", "two", "three"])
    await page.locator(".queue li").nth(0).get_by_role("button", name="Remove").click()
    await expect(page.locator(".queue li .text")).to_have_text(["two", "three"])
    await page.locator(".queue li").nth(1).get_by_role("button", name="Answer next").click()
    await expect(page.locator(".entry.user .said")).to_have_text(["Good morning", "three", "two"])
    await expect(page.locator(".queue")).to_have_count(0)


async def test_message_can_interrupt(page: Page, model: FakeModel) -> None:
    model.script([Say("Half"), Gate("held")])
    await start(page)
    await expect(page.locator("#preview .prose")).to_have_text("Half")
    await page.fill("#text", "Wait!")
    await page.get_by_role("button", name="Interrupt").click()
    await expect(page.locator(".entry.user .said")).to_have_text(["Good morning", "Wait!"])
    await expect(page.locator(".broke")).to_have_text("Stopped here.")


async def test_message_is_edited_and_answered_anew(page: Page, model: FakeModel) -> None:
    await start(page)
    await until(page, "waiting")
    model.say("Good evening, Ada.")
    await page.locator(".entry.user").hover()
    await page.click(".edit summary")
    await page.fill(".edit textarea", "Good evening")
    await page.click(".edit >> text=Save")
    await expect(page.locator(".entry.user .said")).to_have_text("Good evening")
    await expect(page.locator(".entry.bot:not(#preview) .prose")).to_have_text("Good evening, Ada.")
    await expect(page.locator(".entry:not(#preview)")).to_have_count(2)


async def test_chat_is_archived_and_taken_out(page: Page) -> None:
    await start(page, "Put me away")
    await until(page, "waiting")
    await page.get_by_role("button", name="Archive").click()
    await expect(page.locator("#composer")).to_be_hidden()
    await expect(page.locator("#chats .row")).to_have_count(0)
    await page.get_by_role("button", name="Take out").click()
    await expect(page.locator("#composer")).to_be_visible()
    await expect(page.locator("#chats .row")).to_have_count(1)


async def test_refusal_is_said_and_the_text_is_kept(
    page: Page, replica: TestReplica, model: FakeModel
) -> None:
    model.script([Say("Half"), Gate("held")])
    await start(page)
    await model.reached("held")
    chat_id = ChatId(UUID(page.url[-36:]))
    for number in range(20):
        await replica.send(chat_id, f"Message {number}")
    await page.fill("#text", "One more")
    await page.keyboard.press("Enter")
    await expect(page.locator("#toast")).to_contain_text("Too many messages wait")
    await expect(page.locator("#text")).to_have_value("One more")


async def test_another_page_shows_the_answer_that_is_under_way(
    page: Page, browser: Browser, model: FakeModel
) -> None:
    model.script([Say("Half"), Gate("held"), Say(" and half.")])
    await start(page)
    await model.reached("held")
    context = await browser.new_context(viewport={"width": 390, "height": 844}, is_mobile=True)
    other = await context.new_page()
    await other.goto(page.url)
    await expect(other.locator("#preview .prose")).to_have_text("Half")
    model.release("held")
    for shown in (page, other):
        await expect(shown.locator(".entry.bot:not(#preview) .prose")).to_have_text(
            "Half and half."
        )
    width = await other.locator("html").evaluate_handle(
        "element => element.scrollWidth - element.clientWidth"
    )
    assert await width.json_value() == 0
    await context.close()


async def test_page_that_is_hidden_and_shown_again_misses_nothing(
    page: Page, replica: TestReplica
) -> None:
    await start(page)
    await until(page, "waiting")
    url = page.url
    await page.goto("about:blank")
    await replica.send(ChatId(UUID(url[-36:])), "Meanwhile")
    await page.go_back()
    await expect(page.locator(".entry.user .said")).to_have_text(["Good morning", "Meanwhile"])


async def test_reader_who_scrolled_up_is_left_alone(page: Page, model: FakeModel) -> None:
    long = "\n\n".join(f"Paragraph {number}" for number in range(60))
    model.script([Say(long), Gate("held"), Say("\n\nThe end.")])
    await start(page)
    await expect(page.locator("#preview")).to_contain_text("Paragraph 59")
    top = page.locator("#scroll")
    await top.evaluate_handle("element => { element.scrollTop = 0; }")
    model.release("held")
    await expect(page.locator(".entry.bot:not(#preview)")).to_contain_text("The end.")
    place = await top.evaluate_handle("element => element.scrollTop")
    assert await place.json_value() == 0
    await page.click("#to-end")
    await expect(page.locator(".entry.bot:not(#preview) .block").last).to_be_in_viewport()


async def test_console_is_used_by_keyboard_alone(page: Page, model: FakeModel) -> None:
    model.script([Call("ask_people", {"question": "Tea?", "options": ["Yes", "No"]})])
    await page.keyboard.type("Good")
    await page.keyboard.press("Shift+Enter")
    await page.keyboard.type("morning")
    await page.keyboard.press("Enter")
    await expect(page.locator(".entry.user .said")).to_have_text("Good\nmorning")
    choice = page.locator(".question.open .choice").first
    await expect(choice).to_be_visible()
    for _ in range(30):
        await page.keyboard.press("Tab")
        focused = page.locator(".choice:focus")
        if await focused.count():
            break
    await page.keyboard.press("Enter")
    await expect(page.locator(".question.closed .chosen")).to_have_text("Yes")


async def test_console_works_without_a_script(
    browser: Browser, address: str, model: FakeModel
) -> None:
    context = await browser.new_context(java_script_enabled=False)
    page = await context.new_page()
    await page.goto(address)
    model.script([Call("ask_people", {"question": "Tea?", "options": ["Yes", "No"]})])
    await page.fill("#text", "Good morning")
    await page.get_by_role("button", name="Start").click()
    await page.wait_for_url("**/chats/*")
    await page.reload()
    await page.click(".choice >> text=Yes")
    await expect(page.locator(".question.closed .chosen")).to_have_text("Yes")
    await context.close()
