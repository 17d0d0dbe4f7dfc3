"""How long an answer may be where nobody has said it, by what is known of a model's name (pure).

Anthropic wants a limit with every request and refuses one that is too high for the model; all others choose
well themselves, and refuse what a small model cannot do.
"""

import re
from typing import Final

from engine.models.provider import Wire

OUTPUT_TOKENS_DEFAULT: Final = 32_000
_OLD_CLAUDE: Final = re.compile(r"claude-(?:2|instant|3-(?:opus|sonnet|haiku))")
_CLAUDE_3_5: Final = re.compile(r"claude-3-5-")


def default_output_limit(wire: Wire, model: str) -> int | None:
    """The most tokens of one answer; None leaves it to the provider."""
    if wire is not Wire.ANTHROPIC:
        return None
    if _OLD_CLAUDE.search(model):
        return 4_096
    if _CLAUDE_3_5.search(model):
        return 8_192
    return OUTPUT_TOKENS_DEFAULT
