"""How people and channels are written where something is set for them, so that nothing is set for nobody (pure)."""

import re
from typing import Final

_API: Final = re.compile(r"api:(admin|token:[1-9][0-9]*)")
_CONSOLE: Final = re.compile(r"console:\S.*")
_ON_PLATFORM: Final = re.compile(r"(?!api:|console:)[a-z][a-z0-9_-]*:[^\s:]+:[^\s:]+")


def person_mistake(identity: str) -> str | None:
    """Why nobody can be called this; None where somebody may be."""
    if any(form.fullmatch(identity) for form in (_API, _CONSOLE, _ON_PLATFORM)):
        return None
    return (
        "must be an identity: platform:installation:id such as slack:T012:U345, "
        "api:token:7, api:admin, or console:NAME"
    )


def channel_mistake(channel: str) -> str | None:
    """Why no channel can be called this; None where one may be."""
    if _ON_PLATFORM.fullmatch(channel):
        return None
    return "must be a channel: platform:installation:channel such as slack:T012:C345"
