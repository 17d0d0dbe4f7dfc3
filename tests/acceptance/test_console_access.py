"""Who may come into the console, and what no other site can do to it."""

import asyncio
import re
from collections.abc import AsyncIterator
from uuid import uuid4

import aiohttp
import pytest
from yarl import URL

from adapters.console.sign_in_limit import FAILURES_MAX
from config.secret import Secret
from engine.chat.content import Author
from engine.chat.view import ShownStatus
from tests.acceptance.console_server import page, serve_console, submit, visit
from tests.fakes.model_server import FakeModel
from tests.fakes.replica import TestReplica

TOKEN = Secret("the admin's token")


@pytest.fixture
async def replica(database_url: str, model: FakeModel) -> AsyncIterator[TestReplica]:
    async with TestReplica.start(database_url, model.url) as started:
        yield started


@pytest.fixture
async def address(replica: TestReplica) -> AsyncIterator[str]:
    async with serve_console(replica.engine, bots=("wren", "robin")) as served:
        yield served


@pytest.fixture
async def browser(address: str) -> AsyncIterator[aiohttp.ClientSession]:
    async with visit(address) as session:
        yield session


@pytest.fixture
async def closed(replica: TestReplica) -> AsyncIterator[str]:
    """A console that nobody may enter without the token."""
    async with serve_console(replica.engine, admin_token=TOKEN, open_to_loopback=False) as served:
        yield served


async def test_pages_load_nothing_from_elsewhere_and_cannot_be_framed(
    browser: aiohttp.ClientSession,
) -> None:
    async with browser.get("/") as response:
        text, headers = await response.text(), response.headers
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert (headers["X-Frame-Options"], headers["Cache-Control"]) == ("DENY", "no-store")
    assert not re.findall(r'(?:src|href)="(?!/|\?|#)', text)
    assert not re.findall(r"<[^>]* (?:style|on\w+)=", text)
    assert not re.findall(r"<script(?![^>]*src=)", text)


async def test_static_files_are_kept_forever_by_their_version(
    browser: aiohttp.ClientSession,
) -> None:
    for address in re.findall(r'"(/static/[^"]+)"', await page(browser, "/")):
        async with browser.get(address) as response:
            assert response.status == 200
            assert "immutable" in response.headers["Cache-Control"]
        async with browser.get(address.partition("?")[0]) as response:
            assert response.headers["Cache-Control"] == "no-cache"
    for name in ("..%2Fadapter.py", "adapter.py", "."):
        async with browser.get(f"/static/{name}") as response:
            assert response.status == 404


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
    ],
)
async def test_form_from_another_site_is_refused(
    address: str, headers: dict[str, str], replica: TestReplica
) -> None:
    async with (
        aiohttp.ClientSession(address, headers=headers) as elsewhere,
        elsewhere.post("/chats", data={"content": "x"}) as response,
    ):
        assert response.status == 403
    assert await replica.engine.list_chats() == ()


async def test_form_from_a_page_of_the_console_is_taken_by_its_origin(address: str) -> None:
    async with aiohttp.ClientSession(address, headers={"Origin": address}) as browser:
        assert (await submit(browser, "/chats", content="x")).startswith("/chats/")


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example"},
        {"X-Forwarded-For": "203.0.113.7"},
        {"Forwarded": "for=203.0.113.7"},
    ],
)
async def test_open_console_is_closed_to_who_is_not_from_here(
    browser: aiohttp.ClientSession, headers: dict[str, str]
) -> None:
    """Neither a rebound name nor a proxy opens the demo."""
    async with browser.get("/", headers=headers, allow_redirects=False) as response:
        assert (response.status, response.headers["Location"]) == (303, "/sign-in")
    async with browser.get("/sign-in", headers=headers) as response:
        assert "nobody set a token" in await response.text()
    async with browser.post("/chats", data={"content": "x"}, headers=headers) as response:
        assert response.status == 401


async def test_signing_in_opens_the_page_that_was_asked_for(
    closed: str, replica: TestReplica
) -> None:
    chat_id = await replica.chat("Good morning")
    async with visit(closed) as browser:
        async with browser.get(f"/chats/{chat_id}", allow_redirects=False) as response:
            assert response.status == 303
            gate = response.headers["Location"]
        assert f'value="/chats/{chat_id}"' in await page(browser, gate)
        where = await submit(
            browser, "/sign-in", name="Ada", token=TOKEN.reveal(), next=f"/chats/{chat_id}"
        )
        assert where == f"/chats/{chat_id}"
        assert "Sign out Ada" in await page(browser, where)
        async with browser.get("/sign-in", allow_redirects=False) as response:
            assert response.headers["Location"] == "/"
        await submit(browser, f"{where}/messages", content="Hello")
        assert await submit(browser, "/sign-out") == "/sign-in"
        async with browser.get("/", allow_redirects=False) as response:
            assert response.status == 303
    await replica.until(chat_id, lambda view: view.status is ShownStatus.WAITING)
    authors = [message.author for message in await replica.messages(chat_id)]
    assert Author(identity="console:ada", name="Ada") in authors


async def test_session_cookie_is_kept_from_scripts_and_other_sites(closed: str) -> None:
    async with visit(closed) as browser:
        data = {"name": "Ada", "token": TOKEN.reveal()}
        async with browser.post("/sign-in", data=data, allow_redirects=False) as response:
            cookie = response.headers["Set-Cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Lax" in cookie
        assert TOKEN.reveal() not in cookie
        https = {"X-Forwarded-Proto": "https"}
        async with browser.post(
            "/sign-in", data=data, headers=https, allow_redirects=False
        ) as response:
            assert "Secure" in response.headers["Set-Cookie"]


async def test_guessing_the_token_is_slowed_down_and_its_owner_is_not(closed: str) -> None:
    async with visit(closed) as browser:
        for _ in range(FAILURES_MAX):
            said = await submit(browser, "/sign-in", status=401, name="Ada", token="guess")
            assert "That is not the token." in said
        async with browser.post(
            "/sign-in", data={"name": "Mallory", "token": "guess"}, allow_redirects=False
        ) as response:
            assert response.status == 429
            assert int(response.headers["Retry-After"]) > 0
        assert await submit(browser, "/sign-in", name="Ada", token=TOKEN.reveal()) == "/"


async def test_guesses_that_are_held_back_and_sent_at_once_are_counted_too(closed: str) -> None:
    """A guess counts when it is evaluated: the last bytes of all forms come together."""
    url = URL(closed)
    body = b"name=Mallory&token=guess"
    head = (
        f"POST /sign-in HTTP/1.1\r\nHost: {url.authority}\r\nSec-Fetch-Site: same-origin\r\n"
        "Content-Type: application/x-www-form-urlencoded\r\nConnection: close\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode()
    assert url.host is not None
    assert url.port is not None
    ends = await asyncio.gather(
        *(asyncio.open_connection(url.host, url.port) for _ in range(3 * FAILURES_MAX))
    )
    for _, writer in ends:
        writer.write(head + body[:-1])
        await writer.drain()
    # Answered after all the forms before it have begun.
    async with visit(closed) as browser:
        await page(browser, "/sign-in")
    for _, writer in ends:
        writer.write(body[-1:])
        await writer.drain()
    answers = [await reader.read() for reader, _ in ends]
    for _, writer in ends:
        writer.close()
        await writer.wait_closed()
    statuses = [answer.split()[1] for answer in answers]
    assert statuses.count(b"401") == FAILURES_MAX
    assert statuses.count(b"429") == 2 * FAILURES_MAX


async def test_sign_in_needs_a_name(closed: str) -> None:
    async with visit(closed) as browser:
        said = await submit(browser, "/sign-in", status=422, name=" ", token=TOKEN.reveal())
        assert "who you are" in said


async def test_served_console_is_closed_even_here(closed: str) -> None:
    async with visit(closed) as browser:
        for path in ("/sidebar", f"/chats/{uuid4()}/live"):
            async with browser.get(path) as response:
                assert response.status == 401


async def test_address_that_leads_nowhere_is_said_by_the_console(
    browser: aiohttp.ClientSession, closed: str
) -> None:
    async with browser.get("/chat/1", headers={"Accept": "text/html"}) as response:
        assert response.status == 404
        assert response.content_type == "text/html"
        assert "There is no such page." in await response.text()
        assert "frame-ancestors" in response.headers["Content-Security-Policy"]
    async with (
        visit(closed) as stranger,
        stranger.get("/nowhere", headers={"Accept": "text/html"}) as response,
    ):
        assert response.status == 404


@pytest.mark.parametrize(
    "path",
    ["/api", "/api/v1/nothing", "/hooks/x", "/slack/x", "/healthz", "/readyz", "/metrics"],
)
async def test_addresses_of_others_are_not_the_consoles(
    browser: aiohttp.ClientSession, path: str
) -> None:
    async with browser.get(path, headers={"Accept": "text/html"}) as response:
        assert (response.status, await response.text()) == (404, "404: Not Found")


async def test_programs_are_not_shown_a_page(browser: aiohttp.ClientSession) -> None:
    async with browser.get("/nowhere") as response:
        assert (response.status, await response.text()) == (404, "404: Not Found")
