"""The secret key of an installation with the embedded database: made once, in the state directory.

Whoever can read the directory can read the database in it, so a key beside it gives nothing away.
"""

import contextlib
import os
import secrets
from dataclasses import replace
from pathlib import Path
from typing import Final

from bots.errors import OperatorError
from config.secret import Secret
from config.settings import Settings

_FILE: Final = "secret-key"
_BYTES: Final = 32


def with_secret_key(settings: Settings) -> Settings:
    """The settings with a secret key where the embedded database is used. Raises OperatorError.

    One that is set is left alone, and several processes that start at once get the same one.
    """
    if settings.secret_key is not None or settings.database.url is not None:
        return settings
    file = Path(settings.state_dir).expanduser().absolute() / _FILE
    try:
        return replace(settings, secret_key=Secret(_read_or_make(file)))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        what = f"the secret key {file} cannot be read or made: {reason}"
        mend = "mend its rights, or set THREADWRIGHT_SECRET_KEY"
        raise OperatorError(what, mend=mend) from error


def _read_or_make(file: Path) -> str:
    try:
        return _read(file)
    except FileNotFoundError:
        pass
    file.parent.mkdir(parents=True, exist_ok=True)
    # Written apart and linked into place: nobody ever reads half a key, and the first one wins.
    draft = file.with_name(f"{_FILE}.{os.getpid()}.{secrets.token_hex(4)}")
    opened = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(opened, "w", encoding="ascii") as out:
            out.write(secrets.token_hex(_BYTES) + "\n")
            out.flush()
            os.fsync(out.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(draft, file)
    finally:
        draft.unlink()
    return _read(file)


def _read(file: Path) -> str:
    text = file.read_text(encoding="ascii").strip()
    if not text:
        raise OSError(0, "it is empty", str(file))
    return text
