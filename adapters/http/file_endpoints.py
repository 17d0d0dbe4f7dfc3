"""Files: store one for a message to come, get one, see those of a chat."""

import asyncio
from typing import Final

from aiohttp import web

from adapters.file_sending import TooManyDownloads
from adapters.http.call import Answer, Call, Endpoint, Parameter
from adapters.http.errors import Problem, ProblemCode, not_found
from adapters.http.files import file_id_of, name_of_upload, problem_of_file, shown
from adapters.http.request_body import read_bytes
from engine.chat.files import FileRefusal, NewFile

UPLOADS_MAX = 16
"""Uploads that one process reads at a time: what they hold in memory is bounded."""


async def upload(call: Call) -> Answer:
    """Store the body as a file."""
    request = call.request
    name = name_of_upload(call.query, request.headers.get("Content-Disposition"))
    around = call.around
    try:
        async with asyncio.timeout(around.body_seconds):
            await around.uploads.acquire()
    except TimeoutError:
        sentence = "Too many files are being stored; nothing was done. Try again."
        raise Problem(ProblemCode.UNAVAILABLE, sentence, headers={"Retry-After": "5"}) from None
    try:
        data = await read_bytes(
            request, bytes_max=call.engine.file_bytes_max, seconds=around.body_seconds
        )
        claim = request.headers.get("Content-Type", "")
        file = NewFile(name=name, data=data, media_type=claim)
        stored = await call.engine.store_file(file, by=call.caller.author)
    finally:
        around.uploads.release()
    if isinstance(stored, FileRefusal):
        raise problem_of_file(stored)
    where = {"Location": f"/api/v1/files/{stored.id}"}
    return Answer(status=201, body=shown(stored), headers=where)


async def download(call: Call) -> web.StreamResponse:
    """The bytes of a file."""
    try:
        sent = await call.around.files.send(call.request, file_id_of(call.path))
    except TooManyDownloads:
        sentence = "Too many files are being sent. Try again."
        raise Problem(ProblemCode.UNAVAILABLE, sentence, headers={"Retry-After": "5"}) from None
    if sent is None:
        raise not_found("file")
    return sent


async def list_(call: Call) -> Answer:
    """The files of a chat, oldest first."""
    await call.require_chat()
    files = await call.engine.list_files(call.chat_id)
    return Answer(body={"files": [shown(info) for info in files]})


FILE_ENDPOINTS: Final = (
    Endpoint(
        method="GET",
        path="/chats/{chat_id}/files",
        name="listFiles",
        summary="See the files of a chat, oldest first.",
        run=list_,
        gives="Files",
    ),
    Endpoint(
        method="POST",
        path="/files",
        name="storeFile",
        summary="Store the body as a file, for a message to name it by its file_id.",
        run=upload,
        takes_file=True,
        gives="File",
        successes=(201,),
        problems=(422, 507),
        parameters=(
            Parameter(name="name", meaning="What it is called; else Content-Disposition says it."),
            Parameter(
                name="Content-Disposition", meaning="May hold the file's name.", place="header"
            ),
        ),
        detail="png, jpeg, gif, webp, pdf and text in UTF-8 are taken. The bytes must be what "
        "Content-Type says; without one they speak for themselves. A file that no message names "
        "within a day is removed.",
    ),
    Endpoint(
        method="GET",
        path="/files/{file_id}",
        name="getFile",
        summary="Get the bytes of a file.",
        run=download,
        gives_file=True,
    ),
)
