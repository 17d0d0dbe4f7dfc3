"""Files over HTTP: stored, named by messages, given back; what is no good is refused with a sentence."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import aiohttp
import pytest

from adapters.file_sending import FileSender
from tests.acceptance.api_client import API, ApiClient, Reply, serve_api
from tests.fakes.replica import TestReplica, eventually, soon

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
MEBIBYTE = 1024 * 1024
LARGE = b"herring\n" * (MEBIBYTE * 9 // 8)
"""More than what the system holds between a server and a client that does not read."""


@pytest.fixture
async def replica(database_url: str) -> AsyncIterator[TestReplica]:
    async with TestReplica.start(database_url, works=False) as started:
        yield started


@pytest.fixture
async def api(replica: TestReplica) -> AsyncIterator[ApiClient]:
    async with serve_api(replica.engine) as client:
        yield client


async def upload(
    api: ApiClient,
    data: bytes,
    kind: str | None = "text/plain",
    name: str = "note.txt",
    **more: str,
) -> Reply:
    headers = {} if kind is None else {"Content-Type": kind}
    headers.update({key.replace("_", "-"): value for key, value in more.items()})
    params = [("name", name)] if name else []
    return await api.call("POST", "/files", data=data, headers=headers, params=params)


async def stored(api: ApiClient, data: bytes = b"cod,3\n", **options: str) -> Any:
    reply = await upload(api, data, **options)
    assert reply.status == 201, reply
    return reply.body


async def download(api: ApiClient, file_id: str, method: str = "GET") -> tuple[int, bytes, Any]:
    url = api.url(f"/files/{file_id}")
    async with api.session.request(method, url, headers=api.authorization) as response:
        return response.status, await response.read(), response.headers


async def test_file_is_stored_and_given_back(api: ApiClient) -> None:
    reply = await upload(api, PNG, "image/png", "harbour.png")
    assert reply.status == 201
    assert reply.headers["Location"] == f"{API}/files/{reply.body['id']}"
    file = {key: reply.body[key] for key in ("name", "media_type", "size")}
    assert file == {"name": "harbour.png", "media_type": "image/png", "size": len(PNG)}
    status, data, headers = await download(api, reply.body["id"])
    assert (status, data, headers["Content-Type"]) == (200, PNG, "image/png")
    assert headers["Content-Disposition"].startswith('inline; filename="harbour.png"')
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in headers["Content-Security-Policy"]
    assert headers["Cache-Control"] == "private, max-age=31536000, immutable"
    status, data, headers = await download(api, reply.body["id"], "HEAD")
    assert (status, data, headers["Content-Length"]) == (200, b"", str(len(PNG)))


async def test_page_is_never_shown_in_the_browser(api: ApiClient) -> None:
    file = await stored(api, b"<script>alert(1)</script>", kind="text/html", name="a.html")
    _, data, headers = await download(api, file["id"])
    assert data == b"<script>alert(1)</script>"
    assert headers["Content-Disposition"].startswith("attachment;")
    assert headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    ("disposition", "name"),
    [
        ('attachment; filename="fish.csv"', "fish.csv"),
        ("attachment; filename*=UTF-8''f%C3%A6re%20b%C3%A5t.csv", "fære båt.csv"),
        ('attachment; filename="../../etc/passwd"', "passwd"),
        ('attachment; filename="..\\\\..\\\\boot.ini"', "boot.ini"),
        ("attachment; filename*=UTF-8''a%0D%0AX-Evil:%201.csv", "aX-Evil: 1.csv"),
        ("attachment; filename*=UTF-8''x%E2%80%AEcsv.exe", "xcsv.exe"),
        ("attachment; filename*=nonsense''%ff", "ÿ"),
        ("attachment", "file"),
        (";;;===", "file"),
    ],
)
async def test_name_comes_from_content_disposition(
    api: ApiClient, disposition: str, name: str
) -> None:
    reply = await upload(api, b"cod", name="", Content_Disposition=disposition)
    assert (reply.status, reply.body["name"]) == (201, name)
    _, _, headers = await download(api, reply.body["id"])
    assert "X-Evil" not in headers


async def test_hostile_name_cannot_break_out_of_its_header(api: ApiClient) -> None:
    file = await stored(api, name='a"; filename=evil.exe\r\nSet-Cookie: a=b\x00.csv')
    assert file["name"] == 'a"; filename=evil.exeSet-Cookie: a=b.csv'
    _, _, headers = await download(api, file["id"])
    assert "Set-Cookie" not in headers
    plain = headers["Content-Disposition"].partition('filename="')[2].partition('"')[0]
    assert plain == "a_; filename=evil.exeSet-Cookie: a=b.csv"


@pytest.mark.parametrize(
    ("data", "kind", "status", "said"),
    [
        (b"", "text/plain", 422, "empty"),
        (PNG, "image/jpeg", 422, "image/jpeg, but its bytes are image/png"),
        (b"cod", "image/png", 422, "image/png, but its bytes are text"),
        (b"GIF89a=1;%PDF-1.7 alert(1)", "application/pdf", 422, "bytes are image/gif"),
        (b"%PDF-1.7 <script>", "text/html", 422, "bytes are application/pdf"),
        (b"cod\x00herring", "text/plain", 422, "neither text nor a known type"),
        (b"\xff\xfec\x00o\x00d\x00", "text/csv", 422, "UTF-8"),
        (b"PK\x03\x04zip", "application/zip", 415, "application/zip"),
        (b"\x7fELF\x00", "application/octet-stream", 415, "unknown type"),
        (b"cod", "nonsense", 415, "'nonsense' is no media type"),
    ],
)
async def test_file_that_is_not_what_it_says_is_refused(
    api: ApiClient, data: bytes, kind: str, status: int, said: str
) -> None:
    reply = await upload(api, data, kind)
    assert reply.status == status, reply
    assert said in reply.body["detail"]


async def test_claim_is_not_needed(api: ApiClient) -> None:
    form = "application/x-www-form-urlencoded"
    for name, data, kind in (
        ("a.csv", b"cod,3", "text/csv"),
        ("a", PNG, "image/png"),
        ("a.md", b"# Cod", "text/markdown"),
        ("a.png", b"cod", "text/plain"),
    ):
        assert (await stored(api, data, kind=form, name=name))["media_type"] == kind


async def test_unknown_query_is_refused(api: ApiClient) -> None:
    reply = await api.call("POST", "/files", data=b"cod", params=[("nome", "a")])
    assert (reply.status, reply.fields) == (400, ["nome"])
    reply = await api.call("POST", "/files", data=b"cod", params=[("name", "a"), ("name", "b")])
    assert (reply.status, reply.fields) == (422, ["name"])


async def test_ten_mebibytes_are_taken_and_one_byte_more_is_not(api: ApiClient) -> None:
    data = b"a" * (10 * MEBIBYTE)
    assert (await stored(api, data))["size"] == 10 * MEBIBYTE
    reply = await upload(api, data + b"a")
    assert (reply.status, reply.body["code"]) == (413, "body_too_large")
    assert str(10 * MEBIBYTE) in reply.body["detail"]


async def test_upload_that_is_too_large_is_refused_before_it_is_sent(api: ApiClient) -> None:
    host, port = api.base.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(
        f"POST {API}/files HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {api.token}\r\n"
        f"Content-Type: text/plain\r\nContent-Length: {11 * MEBIBYTE}\r\n\r\n".encode()
    )
    async with asyncio.timeout(10):
        assert b" 413 " in await reader.readline()
    writer.close()


async def test_upload_without_a_length_is_cut_off(api: ApiClient) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while sent < 100 * MEBIBYTE:
            sent += MEBIBYTE
            yield b"a" * MEBIBYTE

    url, headers = api.url("/files"), {**api.authorization, "Content-Type": "text/plain"}
    try:
        async with api.session.post(url, data=endless(), headers=headers) as response:
            assert response.status == 413
    except aiohttp.ClientConnectionError:
        pass  # The server hung up on us, which is as good.
    assert sent < 100 * MEBIBYTE


async def test_message_names_a_file(api: ApiClient) -> None:
    file = await stored(api, kind="text/csv", name="catch.csv")
    part = {"type": "file", "file_id": file["id"]}
    said = {"type": "text", "text": "What did we catch?"}
    chat = await api.post("/chats", {"content": [said, part]})
    path = f"/chats/{chat['id']}"
    shown = {**part, "name": "catch.csv", "media_type": "text/csv", "size": 6}
    (message,) = (await api.get(f"{path}/messages"))["messages"]
    assert message["content"] == [said, shown]
    assert await api.get(f"{path}/files") == {"files": [file]}
    # What a message showed can be sent back as it is; what is said of a stored file does not count.
    lie = {**shown, "name": "lie.png", "media_type": "image/png", "size": 1}
    other = await stored(api, b"other", kind="text/plain")
    await api.post(f"{path}/messages", {"content": [lie]})
    (waiting,) = (await api.get(f"{path}/queue"))["queued_messages"]
    assert waiting["content"] == [shown]
    edit = {"content": [{"type": "file", "file_id": other["id"]}]}
    reply = await api.call("PATCH", f"{path}/queue/{waiting['id']}", edit)
    assert reply.status == 200
    reply = await api.call("PATCH", f"{path}/messages/{message['id']}", edit)
    assert reply.status == 200
    (message,) = (await api.get(f"{path}/messages"))["messages"]
    assert [item["name"] for item in message["content"]] == ["note.txt"]
    assert await api.get(f"{path}/files") == {"files": [file, other]}


async def test_message_with_a_file_that_is_not_there_is_refused_whole(api: ApiClient) -> None:
    chat = await api.post("/chats", {"content": "Good morning"})
    path = f"/chats/{chat['id']}"
    nobodys = str(uuid4())
    content = [{"type": "text", "text": "look"}, {"type": "file", "file_id": nobodys}]
    for method, where in (("POST", "/chats"), ("POST", f"{path}/messages")):
        reply = await api.call(method, where, {"content": content})
        assert (reply.status, reply.body["code"]) == (422, "unfit_content"), reply
        assert (reply.fields, nobodys in reply.body["detail"]) == (["content"], True)
    assert await api.get(f"{path}/queue") == {"queued_messages": []}
    bad = [{"type": "file", "file_id": "catch.csv"}]
    reply = await api.call("POST", f"{path}/messages", {"content": bad})
    assert (reply.status, reply.fields) == (422, ["content[0].file_id"])


async def test_message_with_a_file_is_sent_once_for_one_key(api: ApiClient) -> None:
    file = await stored(api)
    chat = await api.post("/chats", {"content": "Good morning"})
    path = f"/chats/{chat['id']}/messages"
    body = {"content": [{"type": "file", "file_id": file["id"]}]}
    first = await api.call("POST", path, body, headers={"Idempotency-Key": "k"})
    again = await api.call("POST", path, body, headers={"Idempotency-Key": "k"})
    assert (first.status, again.status) == (202, 200)
    assert again.body["queued_id"] == first.body["queued_id"]


async def test_file_that_is_not_there_is_404(api: ApiClient) -> None:
    for path in (f"/files/{uuid4()}", "/files/catch.csv", f"/chats/{uuid4()}/files"):
        reply = await api.call("GET", path)
        assert (reply.status, reply.body["code"]) == (404, "not_found"), path


async def test_file_needs_a_token(api: ApiClient) -> None:
    file = await stored(api)
    nobody = api.as_caller(None)
    assert (await upload(nobody, b"cod")).status == 401
    assert (await nobody.call("GET", f"/files/{file['id']}")).status == 401


async def test_upload_that_waits_too_long_for_others_is_told_to_come_back(
    replica: TestReplica, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adapters.http.adapter.UPLOADS_MAX", 1)
    async with serve_api(replica.engine, body_seconds=0.3) as api:
        host, port = api.base.removeprefix("http://").split(":")
        _, writer = await asyncio.open_connection(host, int(port))
        writer.write(
            f"POST {API}/files HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {api.token}\r\n"
            f"Content-Type: text/plain\r\nContent-Length: 3\r\n\r\n".encode()
        )
        replies = await asyncio.gather(*(upload(api, b"cod") for _ in range(3)))
        writer.close()
        assert {reply.status for reply in replies} <= {201, 503}
        assert (await upload(api, b"cod")).status == 201


async def test_downloads_wait_for_each_other_and_too_many_are_told_to_come_back(
    replica: TestReplica,
) -> None:
    files = FileSender(replica.engine, at_once=1, wait_seconds=0.3)
    async with serve_api(replica.engine, files=files) as api:
        big = await stored(api, LARGE, name="large.txt")
        async with idle_reader(api, big["id"]):
            reply = await api.call("GET", f"/files/{big['id']}")
            assert (reply.status, reply.body["code"]) == (503, "unavailable")
            assert int(reply.headers["Retry-After"]) > 0

        async def is_free() -> bool:
            return (await download(api, big["id"]))[:2] == (200, LARGE)

        assert await eventually(is_free)


async def test_client_that_does_not_read_its_file_is_cut_off(replica: TestReplica) -> None:
    files = FileSender(replica.engine, at_once=1, wait_seconds=10.0, send_seconds=0.3)
    async with serve_api(replica.engine, files=files) as api:
        big = await stored(api, LARGE, name="large.txt")
        async with idle_reader(api, big["id"]) as reader:
            assert (await download(api, big["id"]))[:2] == (200, LARGE)
            with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                await soon(reader.readexactly(len(LARGE)))


@asynccontextmanager
async def idle_reader(api: ApiClient, file_id: str) -> AsyncIterator[asyncio.StreamReader]:
    """A client that has asked for a file, has seen that it comes, and reads no further."""
    host, port = api.base.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port), limit=1024)
    writer.write(
        f"GET {API}/files/{file_id} HTTP/1.1\r\nHost: h\r\n"
        f"Authorization: Bearer {api.token}\r\n\r\n".encode()
    )
    assert b" 200 " in await soon(reader.readline())
    try:
        yield reader
    finally:
        writer.transport.abort()
