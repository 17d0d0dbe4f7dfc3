"""What tests of the API do again and again: chats that are answered, held up, or asking."""

from typing import Any

from tests.acceptance.api_client import ApiClient, until
from tests.fakes.model_script import Call, Gate, Say
from tests.fakes.model_server import FakeModel


async def texts(api: ApiClient, chat_id: str) -> list[tuple[str, str]]:
    """Who said what."""
    page = await api.get(f"/chats/{chat_id}/messages")
    return [
        (message["role"], "".join(p["text"] for p in message["content"] if p["type"] == "text"))
        for message in page["messages"]
    ]


async def start(api: ApiClient, text: str = "Good morning", **fields: Any) -> str:
    """A chat that has been answered."""
    chat = await api.post("/chats", {"content": text, **fields})
    await until(api, chat["id"], "waiting")
    return str(chat["id"])


async def hold(api: ApiClient, model: FakeModel, *, gate: str = "held") -> str:
    """A chat whose answer stands still in the middle."""
    model.script([Say("Half"), Gate(gate), Say(" and half.")])
    chat = await api.post("/chats", {"content": "Good morning"})
    await model.reached(gate)
    return str(chat["id"])


async def ask(api: ApiClient, model: FakeModel, *calls: Call, **fields: Any) -> str:
    """A chat that waits for answers from outside."""
    model.script(list(calls))
    chat = await api.post("/chats", {"content": "Ask somebody", **fields})
    await until(api, chat["id"], "requires_action")
    return str(chat["id"])
