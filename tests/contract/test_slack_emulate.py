"""Our calls against a Slack that others wrote: npm's `emulate`, a second opinion beside our own fake.

It runs where `npm install emulate@0.12.2 node@22` was done in var/emulate, or in the folder that
THREADWRIGHT_EMULATE names. It has no streams, sockets or limits, and of what the SDK sends it reads
only JSON and forms, so threads are read here without the SDK.
"""

import asyncio
import json
import os
import re
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import aiohttp
import pytest

from adapters.errors import Denied, Gone
from adapters.slack.client import SlackClient, web_client
from adapters.slack.oauth import Credentials, SlackOAuth, consent_address
from config.secret import Secret

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("THREADWRIGHT_EMULATE") or ROOT / "var" / "emulate") / "node_modules"
NODE = FOLDER / "node" / "bin" / "node"
PROGRAM = FOLDER / "emulate" / "dist" / "index.js"
START_SECONDS_MAX = 30.0

REDIRECT = "http://127.0.0.1:1/slack/oauth_redirect"
SCOPES = ("chat:write", "channels:read", "channels:history", "channels:join")
SEED = {
    "slack": {
        "team": {"name": "Harbour", "domain": "harbour"},
        "users": [{"name": "ada", "real_name": "Ada", "email": "ada@example.com"}],
        "channels": [{"name": "harbour"}],
        "oauth_apps": [
            {
                "client_id": "11.22",
                "client_secret": "harbour-client-secret",
                "name": "Wren",
                "bot_name": "wren",
                "redirect_uris": [REDIRECT],
                "scopes": list(SCOPES),
            }
        ],
    }
}

pytestmark = pytest.mark.skipif(
    not (NODE.exists() and PROGRAM.exists()), reason="emulate and node 22 are not in var/emulate"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Emulated:
    """The running double, and how to look at it without our own code."""

    session: aiohttp.ClientSession
    origin: str

    @property
    def credentials(self) -> Credentials:
        return Credentials(
            name="",
            client_id="11.22",
            client_secret=Secret("harbour-client-secret"),
            api_url=f"{self.origin}/api/",
        )

    def client(self, token: Secret) -> SlackClient:
        api_url = self.credentials.api_url
        return SlackClient(web_client(token.reveal(), api_url=api_url, session=self.session))

    async def ask(self, method: str, token: Secret, **arguments: str) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {token.reveal()}"}
        url = f"{self.origin}/api/{method}"
        async with self.session.post(url, json=arguments, headers=headers) as answer:
            found: dict[str, Any] = await answer.json()
        assert found["ok"], found
        return found

    async def consent(self) -> str:
        """Say yes as Ada does in her browser, and return the code that comes back."""
        asked = consent_address(
            self.credentials, scopes=SCOPES, state="tide", redirect_uri=REDIRECT
        )
        async with self.session.get(asked) as page:
            shown = await page.text()
        # The page has a form for each person of the workspace; the last one is Ada.
        form = re.findall(r"<form.*?</form>", shown, re.DOTALL)[-1]
        fields = dict(re.findall(r'name="([^"]+)" value="([^"]*)"', form))
        url = f"{self.origin}/oauth/v2/authorize/callback"
        async with self.session.post(url, data=fields, allow_redirects=False) as back:
            query = parse_qs(urlsplit(back.headers["Location"]).query)
        assert query["state"] == ["tide"]
        return query["code"][0]


@pytest.fixture
async def emulated(tmp_path: Path) -> AsyncIterator[Emulated]:
    seed = tmp_path / "seed.json"
    seed.write_text(json.dumps(SEED), encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        NODE, PROGRAM, "start", "-s", "slack", "-p", str(port), "--seed", seed,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        async with aiohttp.ClientSession() as session:
            found = Emulated(session=session, origin=f"http://127.0.0.1:{port}")
            async with asyncio.timeout(START_SECONDS_MAX):
                while not await _is_up(found):
                    assert process.returncode is None, "emulate ended by itself"
                    await asyncio.sleep(0.05)
            yield found
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def _is_up(emulated: Emulated) -> bool:
    try:
        async with emulated.session.get(f"{emulated.origin}/oauth/v2/authorize"):
            return True
    except aiohttp.ClientConnectionError:
        return False


async def test_a_persons_consent_becomes_tokens_that_post_and_edit(emulated: Emulated) -> None:
    """oauth.v2.access, auth.test, chat.postMessage and chat.update."""
    oauth = SlackOAuth(emulated.credentials, emulated.session)
    installed = await oauth.exchange(await emulated.consent(), REDIRECT)
    assert installed.name == "Harbour"
    assert set(SCOPES) <= set(installed.scopes)
    assert installed.identity["bot_user_id"]
    token = installed.tokens.token
    wren = emulated.client(token)
    who = await wren.identify()
    assert who["team_id"] == installed.installation
    assert who["user_id"] == installed.identity["bot_user_id"]

    channels = (await emulated.ask("conversations.list", token))["channels"]
    (harbour,) = [c["id"] for c in channels if c["name"] == "harbour"]
    await emulated.ask("conversations.join", token, channel=harbour)
    root = await wren.post_message({"channel": harbour, "text": "The tide turns."})
    half = {"channel": harbour, "thread_ts": root, "text": "Half"}
    reply = await wren.post_message(half)
    await wren.update_message({"channel": harbour, "ts": reply, "text": "Half and half."})
    thread = (await emulated.ask("conversations.replies", token, channel=harbour, ts=root))[
        "messages"
    ]
    assert [m["text"] for m in thread] == ["The tide turns.", "Half and half."]


async def test_refusals_of_another_double_mean_the_same(emulated: Emulated) -> None:
    """A code that was spent, and an edit of what is not there."""
    oauth = SlackOAuth(emulated.credentials, emulated.session)
    code = await emulated.consent()
    token = (await oauth.exchange(code, REDIRECT)).tokens.token
    with pytest.raises(Denied, match="invalid_code"):
        await oauth.exchange(code, REDIRECT)
    channels = (await emulated.ask("conversations.list", token))["channels"]
    (harbour,) = [c["id"] for c in channels if c["name"] == "harbour"]
    await emulated.ask("conversations.join", token, channel=harbour)
    with pytest.raises(Gone, match="message_not_found"):
        await emulated.client(token).update_message(
            {"channel": harbour, "ts": "1700000000.000001", "text": "x"}
        )
