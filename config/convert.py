"""Turn one raw value into the type its setting declares, or say what would be accepted (pure)."""

import math
from enum import StrEnum
from typing import Final

from config.address import is_address
from config.schema import SettingSpec
from config.secret import Secret

_TRUE: Final = frozenset({"1", "true", "yes", "on"})
_FALSE: Final = frozenset({"0", "false", "no", "off"})


class ValueInvalid(ValueError):
    """The value does not fit its setting. The message says what is accepted, never the value."""


def convert(spec: SettingSpec, raw: object, *, from_text: bool) -> object:
    """Return the typed value, or raise `ValueInvalid`.

    `from_text` is true for environment values, which are always text; TOML values carry a type.
    """
    try:
        value = _parse(spec, raw, from_text=from_text)
    except ValueError as error:
        raise ValueInvalid(accepted(spec)) from error
    if not _within_limits(spec, value):
        raise ValueInvalid(accepted(spec))
    return value


def accepted(spec: SettingSpec) -> str:
    """Say in words which values a setting takes."""
    if spec.item is not None:
        return "a list of " + _choices(spec.item, "any of", otherwise="texts")
    if spec.limits.schemes:
        return "an address that starts with " + " or ".join(f"{s}://" for s in spec.limits.schemes)
    if spec.kind is bool:
        return "true or false"
    if spec.kind in {int, float}:
        return _number_words(spec)
    return _choices(spec.kind, "one of", otherwise="text that is not empty")


def _number_words(spec: SettingSpec) -> str:
    noun = "a whole number" if spec.kind is int else "a number"
    low, high = spec.limits.at_least, spec.limits.at_most
    if low is None:
        return noun
    if high is None:
        return f"{noun} of at least {_plain(low)}"
    return f"{noun} from {_plain(low)} to {_plain(high)}"


def _plain(number: float) -> str:
    return str(int(number)) if number == int(number) else str(number)


def _choices(kind: type, lead: str, *, otherwise: str) -> str:
    if issubclass(kind, StrEnum):
        return f"{lead} " + ", ".join(member.value for member in kind)
    return otherwise


def _parse(spec: SettingSpec, raw: object, *, from_text: bool) -> object:
    if spec.item is not None:
        return tuple(_parse_text(spec.item, part) for part in _parts(raw, from_text=from_text))
    if spec.kind is bool:
        return _parse_bool(raw, from_text=from_text)
    if spec.kind is int or spec.kind is float:
        return _parse_number(spec.kind, raw, from_text=from_text)
    return _parse_text(spec.kind, raw)


def _parts(raw: object, *, from_text: bool) -> list[object]:
    if from_text:
        return [part.strip() for part in str(raw).split(",") if part.strip()]
    if not isinstance(raw, list):
        raise ValueInvalid
    return raw


def _parse_bool(raw: object, *, from_text: bool) -> bool:
    if isinstance(raw, bool):
        return raw
    if from_text and str(raw).lower() in _TRUE | _FALSE:
        return str(raw).lower() in _TRUE
    raise ValueInvalid


def _parse_number(kind: type, raw: object, *, from_text: bool) -> int | float:
    if isinstance(raw, bool) or (isinstance(raw, str) and not from_text):
        raise ValueInvalid
    if not isinstance(raw, int | float | str):
        raise ValueInvalid
    if kind is int:
        if isinstance(raw, float):
            raise ValueInvalid
        return int(raw)
    number = float(raw)
    if not math.isfinite(number):
        raise ValueInvalid
    return number


def _parse_text(kind: type, raw: object) -> object:
    if not isinstance(raw, str) or not raw.strip():
        raise ValueInvalid
    return kind(raw.strip())


def _within_limits(spec: SettingSpec, value: object) -> bool:
    if isinstance(value, int | float) and not isinstance(value, bool):
        low, high = spec.limits.at_least, spec.limits.at_most
        return (low is None or value >= low) and (high is None or value <= high)
    if spec.limits.schemes:
        address = value.reveal() if isinstance(value, Secret) else str(value)
        return is_address(address, spec.limits.schemes)
    return True
