"""Says what the further fields of a model's requests may not be: what we set, and secrets (pure)."""

import re
from collections.abc import Mapping
from typing import Any, Final

_OUTPUT_LIMIT: Final = "set max_output_tokens of the model instead"
_OURS: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("model", "messages", "input", "instructions", "system", "stream", "stream_options"),
        "every request sets it",
    ),
    **dict.fromkeys(("max_tokens", "max_completion_tokens", "max_output_tokens"), _OUTPUT_LIMIT),
}
_SECRET: Final = re.compile(
    r"(^|[_-])(x?[_-]?api[_-]?key|authorization|bearer|passwords?|passwd|secret([_-]?key)?|token"
    r"|access[_-]?key|credentials?|cookie)$"
)
_DEPTH_MAX: Final = 64


def flaw_in_options(options: Mapping[str, Any]) -> str | None:
    """Why these cannot be fields of a request, without quoting a value; None where they can."""
    for name in options:
        if name in _OURS:
            return f"may not hold {name}: {_OURS[name]}"
    return _secret_in(options, 0)


def _secret_in(value: Any, depth: int) -> str | None:
    if depth > _DEPTH_MAX:
        return f"are nested deeper than {_DEPTH_MAX} levels"
    if isinstance(value, Mapping):
        for name in value:
            if _SECRET.search(_snake(str(name))):
                return (
                    f"may not hold {name}: options are shown as they are; "
                    "secrets go into the provider's api_key and headers"
                )
        value = list(value.values())
    if isinstance(value, list | tuple):
        return next((flaw for each in value if (flaw := _secret_in(each, depth + 1))), None)
    return None


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
