"""How a stored file is sent to a browser (pure): nothing in it ever runs, whatever it is.

Pictures, PDF files and plain text are shown; everything else is kept on disk under its name.
"""

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from engine.chat.files import IMAGE_TYPES, FileInfo, is_text

_SHOWN: Final = IMAGE_TYPES | {"application/pdf", "text/plain"}
_ODD: Final = re.compile(r'[^ -~]|["\\%]')


def headers_of(info: FileInfo) -> Mapping[str, str]:
    """The headers that go with its bytes. A stored file never changes, so it is kept for a year."""
    charset = "; charset=utf-8" if is_text(info.media_type) else ""
    way = "inline" if info.media_type in _SHOWN else "attachment"
    plain, exact = _ODD.sub("_", info.name), quote(info.name, safe="")
    return {
        "Content-Type": f"{info.media_type}{charset}",
        "Content-Disposition": f"{way}; filename=\"{plain}\"; filename*=UTF-8''{exact}",
        "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
        "X-Content-Type-Options": "nosniff",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "private, max-age=31536000, immutable",
    }
