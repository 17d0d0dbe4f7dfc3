"""Give Anthropic the files of a history as far as it takes them; the others are named. Pure.

A file that is too large is refused with the whole request and with every later one, since it stays
in the history. Where all together are too much, the newest stay.
"""

import base64
from collections.abc import Sequence
from typing import Any, Final

from engine.chat.content import FilePart
from engine.models.attachments import (
    REQUEST_BYTES_MAX,
    FileKind,
    Given,
    GivenFile,
    given_of,
)
from engine.models.model import ModelPrompt
from engine.models.true_files import named, true_file

IMAGE_BYTES_MAX: Final = 5 * 1024 * 1024 * 3 // 4
"""Of one image; the provider counts its base64, of which it takes 5 MiB."""

FILES_BYTES_MAX: Final = REQUEST_BYTES_MAX
"""Of all files of a request, one that came twice counted twice."""

FILES_MAX: Final = 100

_TOO_MANY: Final = "left out, for there are more files than fit into one request"


def given_files(prompt: ModelPrompt, groups: Sequence[Sequence[FilePart]]) -> list[list[Given]]:
    """What the model gets of the files of each message, oldest message first."""
    bytes_left, files_left = FILES_BYTES_MAX, FILES_MAX
    given: list[list[Given]] = []
    for group in reversed(groups):
        row: list[Given] = []
        for part in group:
            one = true_file(
                given_of(part, prompt.files, prompt.accepts), image_bytes_max=IMAGE_BYTES_MAX
            )
            if isinstance(one, GivenFile):
                bytes_left -= len(one.data)
                files_left -= 1
                if bytes_left < 0 or files_left < 0:
                    one = named(one, _TOO_MANY)
            row.append(one)
        given.append(row)
    return given[::-1]


def file_block(file: GivenFile) -> dict[str, Any]:
    """The content block of a file that was given."""
    source = {
        "type": "base64",
        "media_type": file.media_type,
        "data": base64.b64encode(file.data).decode(),
    }
    return {"type": "image" if file.kind is FileKind.IMAGE else "document", "source": source}
