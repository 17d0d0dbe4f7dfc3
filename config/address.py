"""Addresses with passwords in them: which can be used, and what of them may be shown (pure).

What is shown never holds a password, however malformed the address is: where it cannot be told
which part is secret, nothing is shown but the mask.
"""

import re
from typing import Final
from urllib.parse import urlsplit

MASK: Final = "********"
ESCAPING_HINT: Final = "write @ / ? # [ ] in a password as %40 %2F %3F %23 %5B %5D"
_HOST = r"(?:\[[0-9A-Fa-f:.]+(?:%25?\w+)?\]|[\w.%-]*)(?::\d{1,5})?"
_HOSTS: Final = re.compile(rf"{_HOST}(?:,{_HOST})*")
_SHOWN: Final = re.compile(
    rf"(?P<place>{_HOST}(?:,{_HOST})*(?:/[^?#\s]*)?)(?:\?(?P<query>[^?#\s]*))?"
)
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*", re.IGNORECASE)
_PARAMETER: Final = re.compile(r"(?P<name>[\w.-]+)=(?P<value>.*)")
# Parameters whose values are shown; every other one may be a password under some other name.
_OPEN_PARAMETERS: Final = frozenset(
    {
        "application_name",
        "connect_timeout",
        "db",
        "dbname",
        "host",
        "hostaddr",
        "port",
        "sslmode",
        "target_session_attrs",
    }
)
_WITHOUT_HOST: Final = frozenset({"postgresql", "postgres", "redis", "rediss", "unix"})


def masked_address(address: str) -> str:
    """Return an address that may be shown: user, password and values of the query are masked.

    Host, path and the values of a few harmless parameters stay. A malformed one is only the mask.
    """
    scheme, separator, rest = address.partition("://")
    if not separator or not _SCHEME.fullmatch(scheme):
        return MASK
    person, at, place = rest.rpartition("@")
    # Such a mark before the last @ stands in a password, or the @ in a value of the query.
    if re.search(r"[?#&=\s]", person):
        return MASK
    match = _SHOWN.fullmatch(place)
    if match is None:
        return MASK
    shown = f"{scheme}://{MASK}@{match['place']}" if at else f"{scheme}://{match['place']}"
    if match["query"] is None:
        return shown
    return f"{shown}?" + "&".join(map(_masked_parameter, re.split("[&;]", match["query"])))


def is_address(address: str, schemes: tuple[str, ...]) -> bool:
    """Whether an address has one of the schemes and can be taken apart without guessing."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    if parts.scheme not in schemes or "://" not in address or re.search(r"[\s\x00-\x1f]", address):
        return False
    place = parts.netloc.rpartition("@")[2]
    if not _HOSTS.fullmatch(place) or not _ports_fit(place):
        return False
    if parts.scheme not in _WITHOUT_HOST:
        return bool(parts.hostname)
    # Neither mark has a meaning behind the host here, so the host was cut short by a password.
    return not parts.fragment and "@" not in parts.path + parts.query


def _ports_fit(place: str) -> bool:
    return all(int(port) <= 65_535 for port in re.findall(r":(\d{1,5})(?=,|$)", place))


def _masked_parameter(parameter: str) -> str:
    match = _PARAMETER.fullmatch(parameter)
    if match is None:
        return MASK
    name = match["name"]
    return parameter if name.lower() in _OPEN_PARAMETERS else f"{name}={MASK}"
