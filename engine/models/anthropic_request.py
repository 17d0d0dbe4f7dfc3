"""Turn any history into an Anthropic Messages request that is never refused for its shape.

Pure. The same history gives the same bytes; marks tell the provider what of it to keep in its cache.
"""

from collections.abc import Mapping
from typing import Any, Final

from engine.models.anthropic_messages import THINKING, wire_history
from engine.models.anthropic_tools import tool_definitions
from engine.models.model import ModelPrompt
from engine.models.surrogates import encoded

OUTPUT_TOKENS_DEFAULT: Final = 32_000
"""The provider wants a limit; most of its models can write this much."""

TOP_P_MIN_WITH_THINKING: Final = 0.95
_MARK: Final = {"type": "ephemeral"}
_MARKABLE: Final = frozenset({"text", "image", "document", "tool_use", "tool_result"})
_MARKED_MESSAGES: Final = 2


def messages_body(prompt: ModelPrompt, *, provider: str, is_streamed: bool = True) -> bytes:
    """Return the JSON body. `provider` gets back what only it understands."""
    history = wire_history(prompt, provider)
    thinking = _thinking(prompt, history.messages)
    body: dict[str, Any] = {
        "model": prompt.model,
        "max_tokens": _max_tokens(prompt, thinking),
        "messages": history.messages,
    }
    system = [text for text in (prompt.system, history.system) if text.strip()]
    if system:
        body["system"] = [{"type": "text", "text": text} for text in system]
    _add_tools(body, prompt)
    _add_sampling(body, prompt, is_thinking=bool(thinking))
    _mark(body)
    if thinking or _is_off(prompt.options.get("thinking")):
        body["thinking"] = prompt.options["thinking"]
    body["stream"] = is_streamed
    for name, value in prompt.options.items():
        if name not in ("thinking", "tools", "tool_choice", "top_p", "top_k", "temperature"):
            body.setdefault(name, value)
    return encoded(body)


# -- thinking ------------------------------------------------------------------------------------


def _thinking(prompt: ModelPrompt, messages: list[dict[str, Any]]) -> Mapping[str, Any] | None:
    """How the model is to think; None where it may not or does not.

    With a budget, a turn that goes on must have begun with thinking: one that another model began,
    or this one before it was told to think, goes on without.
    """
    thinking = prompt.options.get("thinking")
    if not isinstance(thinking, Mapping) or thinking.get("type") not in ("enabled", "adaptive"):
        return None
    if thinking["type"] == "enabled" and not _began_with_thinking(messages):
        return None
    return thinking


def _is_off(thinking: Any) -> bool:
    return isinstance(thinking, Mapping) and thinking.get("type") == "disabled"


def _began_with_thinking(messages: list[dict[str, Any]]) -> bool:
    """Whether every part of the turn that this request goes on with begins with thinking."""
    last = len(messages) - 1
    if messages[last]["role"] == "user":
        if not _has_results(messages[last]):
            return True
        last -= 1
    for place in range(last, 0, -2):
        asked = messages[place - 1]
        is_begin = any(block["type"] != "tool_result" for block in asked["content"])
        if is_begin and messages[place]["content"][0]["type"] not in THINKING:
            return False
        if not _has_results(asked):
            break
    return True


def _has_results(message: Mapping[str, Any]) -> bool:
    return any(block["type"] == "tool_result" for block in message["content"])


def _max_tokens(prompt: ModelPrompt, thinking: Mapping[str, Any] | None) -> int:
    """The most tokens of an answer; a budget for thinking comes on top where it would not fit."""
    chosen = prompt.max_output_tokens or _positive(prompt.options.get("max_tokens"))
    most = chosen or OUTPUT_TOKENS_DEFAULT
    budget = _positive(thinking.get("budget_tokens")) if thinking else 0
    return most if most > budget else budget + most


def _positive(value: Any) -> int:
    return max(value, 0) if isinstance(value, int) and not isinstance(value, bool) else 0


# -- the rest ------------------------------------------------------------------------------------


def _add_tools(body: dict[str, Any], prompt: ModelPrompt) -> None:
    further = prompt.options.get("tools")
    used = [
        block["name"]
        for message in body["messages"]
        for block in message["content"]
        if block["type"] == "tool_use"
    ]
    tools = tool_definitions(
        prompt.tools, further if isinstance(further, list | tuple) else (), used
    )
    if not tools:
        return
    body["tools"] = tools
    choice = prompt.options.get("tool_choice")
    if not prompt.tools and not further:
        body["tool_choice"] = {"type": "none"}
    elif isinstance(choice, Mapping):
        body["tool_choice"] = choice


def _add_sampling(body: dict[str, Any], prompt: ModelPrompt, *, is_thinking: bool) -> None:
    """Temperature, or else `top_p`: newer models take one of them, and hardly any with thinking."""
    choice = body.get("tool_choice")
    if is_thinking and choice and choice.get("type") not in ("auto", "none"):
        # A model that thinks cannot be forced to call a tool.
        del body["tool_choice"]
    temperature = prompt.temperature
    if temperature is None:
        temperature = prompt.options.get("temperature")
    top_p, top_k = prompt.options.get("top_p"), prompt.options.get("top_k")
    if is_thinking:
        if isinstance(top_p, int | float) and top_p >= TOP_P_MIN_WITH_THINKING:
            body["top_p"] = top_p
        return
    if temperature is not None:
        body["temperature"] = min(temperature, 1.0)
    elif top_p is not None:
        body["top_p"] = top_p
    if top_k is not None:
        body["top_k"] = top_k


def _mark(body: dict[str, Any]) -> None:
    """Mark where the cached beginning may end: three marks, of which the provider takes four."""
    if system := body.get("system"):
        system[-1]["cache_control"] = _MARK
    for message in body["messages"][-_MARKED_MESSAGES:]:
        blocks = message["content"]
        place = next(
            (i for i in reversed(range(len(blocks))) if blocks[i]["type"] in _MARKABLE), None
        )
        if place is not None:
            blocks[place] = blocks[place] | {"cache_control": _MARK}
