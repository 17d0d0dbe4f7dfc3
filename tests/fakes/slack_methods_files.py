"""Owns uploads to fake Slack: an address for the bytes, the bytes, and the message that shows them in a thread."""

from __future__ import annotations

import json
from typing import Any

from aiohttp import web

from tests.fakes.slack_backend import Backend
from tests.fakes.slack_methods_chat import find_channel, require_writable, thread_of
from tests.fakes.slack_shapes import file_json
from tests.fakes.slack_state import FileRecord, Message
from tests.fakes.slack_uploads import Share, Upload
from tests.fakes.slack_wire import Call, SlackError, invalid_arguments

Json = dict[str, Any]

UPLOAD = "files.upload (bytes)"
"""What the sending of bytes is called in the log of calls and for faults."""
FILE_BYTES_MAX = 1024**3


def get_upload_url(backend: Backend, call: Call) -> Json:
    length = call.text("length")
    if not length.isdecimal() or int(length) == 0:
        raise invalid_arguments("length must be a positive number [json-pointer:/length]")
    if int(length) > FILE_BYTES_MAX:
        raise SlackError("file_upload_size_restricted")
    file_id = backend.world.new_id("F")
    backend.uploads.pending[file_id] = Upload(
        team=call.team, bot=call.install, name=call.text("filename"), length=int(length)
    )
    return {"upload_url": f"{backend.origin}/upload/v1/{file_id}", "file_id": file_id}


async def take_bytes(backend: Backend, request: web.Request) -> web.StreamResponse:
    """The bytes themselves. The address is the key; no token is asked for, and none should be sent."""
    file_id = request.match_info["file_id"]
    upload = backend.uploads.pending.get(file_id)
    content = await request.read()
    call = Call(method=UPLOAD, at=backend.clock.now(), http_method="POST", args={"file": file_id})
    call.token = request.headers.get("Authorization")
    backend.calls.append(call)
    fault = backend.faults.take(UPLOAD, call.args)
    call.status = 200
    if upload is None:
        call.status = 404
    elif fault is not None and fault.status is not None:
        call.status = fault.status
    elif len(content) != upload.length:
        call.status = 400
    else:
        upload.content = content
    return web.Response(status=call.status, text=f"OK - {len(content)}")


def complete_upload(backend: Backend, call: Call) -> Json:
    wanted = _files_of(call)
    uploads = [backend.uploads.pending.get(file["id"]) for file in wanted]
    for upload in uploads:
        if upload is None or upload.content is None or upload.bot is not call.install:
            raise SlackError("file_not_found")
    channel = find_channel(backend, call, "channel_id")
    require_writable(call, channel)
    thread_ts = thread_of(backend, call, channel)
    records = []
    for file in wanted:
        upload = backend.uploads.pending.pop(file["id"])
        record = _record(backend, upload, file["id"], str(file.get("title") or upload.name))
        records.append(record)
    message = Message(
        ts="",
        channel_id=channel.id,
        team_id=call.team.id,
        user=call.install.user_id,
        text=call.text("initial_comment"),
        thread_ts=thread_ts,
        bot=call.install,
        subtype="file_share",
        files=records,
    )
    share = Share(team=call.team, channel=channel, message=message)
    if backend.uploads.holds_shares:
        backend.uploads.held.append(share)
    else:
        _show(backend, share)
    return {"files": [file_json(record, call.team.domain) for record in records]}


def show_held(backend: Backend) -> None:
    """Show the files that were held back, and hold back no more."""
    backend.uploads.holds_shares = False
    for share in backend.uploads.held:
        _show(backend, share)
    backend.uploads.held.clear()


def _files_of(call: Call) -> list[Json]:
    files = call.args.get("files")
    try:
        files = json.loads(files) if isinstance(files, str) else files
    except ValueError:
        files = None
    if not isinstance(files, list) or not files or not all("id" in file for file in files):
        raise invalid_arguments("files must be a list of objects with an id [json-pointer:/files]")
    return files


def _record(backend: Backend, upload: Upload, file_id: str, title: str) -> FileRecord:
    record = FileRecord(
        id=file_id,
        name=upload.name,
        mimetype="text/plain",
        content=upload.content or b"",
        user=upload.bot.user_id,
        created=int(backend.clock.now()),
        url_private=f"{backend.origin}/files-pri/{upload.team.id}-{file_id}/{upload.name}",
        shown={"title": title},
    )
    upload.team.files[file_id] = record
    return record


def _show(backend: Backend, share: Share) -> None:
    message = share.message
    message.ts = backend.world.new_ts()
    for record in message.files:
        told = {
            "ts": message.ts,
            "thread_ts": message.thread_ts,
            "channel_name": share.channel.name,
        }
        record.shown["shares"] = {"public": {share.channel.id: [told]}}
    backend.publish(share.team, message)
