"""Reads what is to be set of a provider or model out of raw JSON values, and says all that is wrong (pure).

The API, the command line and the providers file are checked here alike. A field that is left out keeps
its value, or takes the default of a new entry.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from decimal import Decimal
from typing import Any, Final, TypeVar

from config.address import is_address
from config.providers_file import USUAL_ADDRESSES, FileWire
from engine.chat.subjects import person_mistake
from engine.store.catalog_entries import Flaw, ModelSpec, ProviderSpec, Rejection, invalid
from engine.store.catalog_options import flaw_in_options

WIRES: Final = ("chat_completions", "responses", "anthropic")
ACCEPTS: Final = ("image", "pdf")
KEY_BYTES_MAX: Final = 10_240
NAME_MAX: Final = 200
IDENTITY_MAX: Final = 300
ADDRESS_MAX: Final = 2000
OPTIONS_MAX: Final = 100
PRICE_MAX: Final = Decimal(1_000_000)
TOKENS_MAX: Final = 2**31 - 1
CONTEXT_MIN: Final = 1024
"""As the setting of the window has it; nothing of a chat fits into less."""
RESERVED_NAMES: Final = ("auto", "demo")
"""Names that the settings have for something else than a provider that can be configured."""
HEADERS_MAX: Final = 50
PROVIDER_OPTIONS: Final[Mapping[str, str]] = {
    "needs_key": "true or false: whether asking without a key is pointless",
    "output_limit_field": "max_tokens or max_completion_tokens",
    "connect_timeout_seconds": "seconds",
    "first_token_timeout_seconds": "seconds",
    "silence_timeout_seconds": "seconds, 0 for no limit",
}
"""How a provider is asked; each can be left out."""
PROVIDER_FIELDS: Final = tuple(each.name for each in fields(ProviderSpec))
MODEL_FIELDS: Final = tuple(each.name for each in fields(ModelSpec))
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_HEADER: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}")
_UNFIT: Final = re.compile(
    r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
"""What breaks lines, turns the direction of writing, or is no character."""
_SECONDS_MAX: Final = 86_400
_PRICES: Final = ("input_price", "output_price", "cache_read_price", "cache_write_price")
T = TypeVar("T")
Reader = Callable[[Any], Any]


class _Unfit(ValueError):
    """A value cannot be taken; the message says what can."""


def read_provider(
    raw: Mapping[str, Any], base: ProviderSpec | None = None
) -> ProviderSpec | Rejection:
    """The provider that these fields make, or make of `base`."""
    values, flaws = _read(raw, _PROVIDER_READERS)
    if base is None:
        flaws += [
            Flaw(field=name, detail="is required") for name in ("name", "wire") if name not in raw
        ]
        usual = USUAL_ADDRESSES[FileWire(values["wire"])] if "wire" in values else ""
        base = ProviderSpec(name="", wire="", base_url=usual)
    spec = replace(base, **values)
    if not (spec.central_key_enabled or spec.user_key_allowed):
        flaws.append(
            Flaw(
                field="central_key_enabled",
                detail="and user_key_allowed cannot both be false, or no key could ever be used",
            )
        )
    elif spec.central_key_fallback and not (spec.central_key_enabled and spec.user_key_allowed):
        flaws.append(
            Flaw(
                field="central_key_fallback",
                detail="needs both central_key_enabled and user_key_allowed",
            )
        )
    return invalid(tuple(flaws)) if flaws else spec


def read_model(raw: Mapping[str, Any], base: ModelSpec | None = None) -> ModelSpec | Rejection:
    """The model that these fields make, or make of `base`."""
    values, flaws = _read(raw, _MODEL_READERS)
    if base is None:
        flaws += [Flaw(field=name, detail="is required") for name in ("name", "context_limit")
                  if name not in raw]  # fmt: skip
        base = ModelSpec(name="", context_limit=0)
    elif base.is_default and values.get("is_default") is False and values.get("enabled", True):
        flaws.append(
            Flaw(field="is_default", detail="of one model is always true; set it on another one")
        )
    spec = replace(base, **values)
    if spec.is_default and not spec.enabled:
        if raw.get("is_default"):
            flaws.append(Flaw(field="is_default", detail="cannot be true of a disabled model"))
        spec = replace(spec, is_default=False)
    flaws += _flaws_of_prices(raw, spec)
    if spec.max_output_tokens and 0 < spec.context_limit <= spec.max_output_tokens:
        flaws.append(Flaw(field="max_output_tokens", detail="must be less than context_limit"))
    return invalid(tuple(flaws)) if flaws else spec


def flaws_of_key(key: Any, field: str = "api_key") -> tuple[Flaw, ...]:
    """What is wrong with a key. Never quotes it."""
    if not isinstance(key, str) or not key.strip():
        return (Flaw(field=field, detail="must be text that is not empty"),)
    if len(key.encode(errors="replace")) > KEY_BYTES_MAX:
        return (Flaw(field=field, detail=f"is longer than {KEY_BYTES_MAX} bytes"),)
    if not key.strip().isascii() or _UNFIT.search(key.strip()):
        return (Flaw(field=field, detail="holds characters that cannot be sent in a header"),)
    return ()


def flaws_of_headers(headers: Any) -> tuple[Flaw, ...]:
    """What is wrong with a provider's further headers. Never quotes a value."""
    if not isinstance(headers, Mapping):
        return (Flaw(field="headers", detail="must be an object of texts"),)
    if len(headers) > HEADERS_MAX:
        return (Flaw(field="headers", detail=f"has more than {HEADERS_MAX} headers"),)
    flaws = []
    for name, value in headers.items():
        if not _HEADER.fullmatch(name):
            flaws.append(Flaw(field="headers", detail="has a name that no header can have"))
        elif flaws_of_key(value):
            flaws.append(Flaw(field=f"headers.{name}", detail="must be text fit for a header"))
    return tuple(flaws)


def flaws_of_identity(identity: str) -> tuple[Flaw, ...]:
    """What is wrong with the name of a person."""
    if not identity.strip() or len(identity) > IDENTITY_MAX or _UNFIT.search(identity):
        detail = f"must be text of 1 to {IDENTITY_MAX} characters, such as slack:T1:U1"
        return (Flaw(field="identity", detail=detail),)
    if mistake := person_mistake(identity):
        return (Flaw(field="identity", detail=mistake),)
    return ()


def _flaws_of_prices(raw: Mapping[str, Any], spec: ModelSpec) -> list[Flaw]:
    """With a price for one kind of token only, the other kind would be used for nothing."""
    prices = {name: getattr(spec, name) for name in _PRICES}
    missing = [name for name in ("input_price", "output_price") if prices[name] is None]
    is_priced = any(price is not None for price in prices.values())
    if not is_priced or not any(name in raw for name in _PRICES):
        return []
    detail = "is needed beside another price, or its tokens would never count; 0 if they are free"
    return [Flaw(field=name, detail=detail) for name in missing]


def _read(
    raw: Mapping[str, Any], readers: Mapping[str, Reader]
) -> tuple[dict[str, Any], list[Flaw]]:
    values: dict[str, Any] = {}
    flaws: list[Flaw] = []
    for name, value in raw.items():
        reader = readers.get(name)
        if reader is None:
            flaws.append(Flaw(field=name, detail="is not known here"))
            continue
        try:
            values[name] = reader(value)
        except _Unfit as unfit:
            flaws.append(Flaw(field=name, detail=str(unfit)))
    return values, flaws


def _slug(raw: Any) -> str:
    if isinstance(raw, str) and _NAME.fullmatch(raw):
        if raw in RESERVED_NAMES:
            raise _Unfit(f"cannot be {raw}, which is built in; choose another")
        return raw
    raise _Unfit("must be 1 to 63 of a-z, 0-9, - and _, the first a letter or a digit")


def _model_name(raw: Any) -> str:
    name = _line(raw)
    if not name or name != name.strip():
        raise _Unfit("must be text that is not empty, with no space around it")
    return name


def _line(raw: Any) -> str:
    if not isinstance(raw, str) or len(raw) > NAME_MAX or _UNFIT.search(raw):
        raise _Unfit(f"must be one line of at most {NAME_MAX} visible characters")
    return raw


def _wire(raw: Any) -> str:
    if isinstance(raw, str) and raw in WIRES:
        return raw
    raise _Unfit(f"must be one of {', '.join(WIRES)}")


def _address(raw: Any) -> str:
    if isinstance(raw, str) and len(raw) <= ADDRESS_MAX and is_address(raw, ("http", "https")):
        if "@" in raw or "?" in raw or "#" in raw:
            raise _Unfit("must hold no password and no query; keys go into api_key and headers")
        return raw.rstrip("/")
    raise _Unfit("must be an absolute address that starts with http:// or https://")


def _flag(raw: Any) -> bool:
    if isinstance(raw, bool):
        return raw
    raise _Unfit("must be true or false")


def _whole(low: int, high: int) -> Callable[[Any], int]:
    def read(raw: Any) -> int:
        if isinstance(raw, bool) or not isinstance(raw, int) or not low <= raw <= high:
            raise _Unfit(f"must be a whole number from {low} to {high}")
        return raw

    return read


def _number(low: float, high: float) -> Callable[[Any], float]:
    def read(raw: Any) -> float:
        if isinstance(raw, bool) or not isinstance(raw, int | float) or not low <= raw <= high:
            raise _Unfit(f"must be a number from {low:g} to {high:g}")
        return float(raw)

    return read


def _optional(read: Callable[[Any], T]) -> Callable[[Any], T | None]:
    return lambda raw: None if raw is None else read(raw)


def _price(raw: Any) -> Decimal:
    if isinstance(raw, int | float | Decimal) and not isinstance(raw, bool) and math.isfinite(raw):
        # By its text, or 0.15 would become 0.1499999999999999944...
        price = raw if isinstance(raw, Decimal) else Decimal(str(raw))
        if 0 <= price <= PRICE_MAX:
            return price
    raise _Unfit(f"must be a number from 0 to {PRICE_MAX}, or null")


def _kinds(raw: Any) -> tuple[str, ...]:
    if isinstance(raw, list | tuple) and all(each in ACCEPTS for each in raw):
        return tuple(dict.fromkeys(raw))
    raise _Unfit(f"must be an array of any of {', '.join(ACCEPTS)}")


def _object(raw: Any) -> dict[str, Any]:
    if not isinstance(raw, Mapping):
        raise _Unfit("must be an object")
    if len(raw) > OPTIONS_MAX:
        raise _Unfit(f"has more than {OPTIONS_MAX} fields")
    return dict(raw)


def _model_options(raw: Any) -> dict[str, Any]:
    options = _object(raw)
    if flaw := flaw_in_options(options):
        raise _Unfit(flaw)
    return options


def _provider_options(raw: Any) -> dict[str, Any]:
    options = _object(raw)
    for name, value in options.items():
        if name not in PROVIDER_OPTIONS:
            raise _Unfit(f"may hold {', '.join(PROVIDER_OPTIONS)} only")
        try:
            _OPTION_READERS[name](value)
        except _Unfit as unfit:
            raise _Unfit(f"has {name}, which {unfit}") from unfit
    return options


def _output_limit_field(raw: Any) -> str:
    if raw in ("max_tokens", "max_completion_tokens"):
        return str(raw)
    raise _Unfit("must be max_tokens or max_completion_tokens")


_OPTION_READERS: Final[Mapping[str, Reader]] = {
    "needs_key": _flag,
    "output_limit_field": _output_limit_field,
    "connect_timeout_seconds": _number(0.1, _SECONDS_MAX),
    "first_token_timeout_seconds": _number(0.1, _SECONDS_MAX),
    "silence_timeout_seconds": _number(0, _SECONDS_MAX),
}
_PROVIDER_READERS: Final[Mapping[str, Reader]] = {
    "name": _slug,
    "wire": _wire,
    "base_url": _address,
    "display_name": _line,
    "enabled": _flag,
    "central_key_enabled": _flag,
    "user_key_allowed": _flag,
    "central_key_fallback": _flag,
    "options": _provider_options,
}
_MODEL_READERS: Final[Mapping[str, Reader]] = {
    "name": _model_name,
    "display_name": _line,
    "enabled": _flag,
    "is_default": _flag,
    "context_limit": _whole(CONTEXT_MIN, TOKENS_MAX),
    "compaction_threshold": _whole(1, 100),
    "max_output_tokens": _optional(_whole(1, TOKENS_MAX)),
    "temperature": _optional(_number(0, 2)),
    "accepts": _kinds,
    "options": _model_options,
    "input_price": _optional(_price),
    "output_price": _optional(_price),
    "cache_read_price": _optional(_price),
    "cache_write_price": _optional(_price),
}
