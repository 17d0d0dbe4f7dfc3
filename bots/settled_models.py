"""The provider and the model that the settings make: there without anything in the database."""

from typing import Final

from config.resolve import DEFAULT_BASE_URLS
from config.settings import ModelProvider, ModelWire, Settings
from engine.models.catalog import OfferedModel, OfferedProvider
from engine.models.key_policy import KeyPolicy
from engine.models.provider import ProviderConfig, Wire

DEMO: Final = "demo"
_SHOWN_NAMES: Final = {
    ModelProvider.OPENAI: "OpenAI",
    ModelProvider.ANTHROPIC: "Anthropic",
    ModelProvider.DEMO: "Demo model",
}
_WIRES: Final = {
    ModelWire.CHAT_COMPLETIONS: Wire.CHAT_COMPLETIONS,
    ModelWire.RESPONSES: Wire.RESPONSES,
}


def settled_providers(settings: Settings) -> tuple[OfferedProvider, ...]:
    """The provider of the section [model] with its model, the default of the settings; and the demo."""
    model = settings.model
    name = model.name or DEMO
    offered = OfferedModel(
        name=name,
        is_default=True,
        context_limit=model.context_limit,
        max_output_tokens=model.max_output_tokens,
        temperature=model.temperature,
    )
    if model.provider in (ModelProvider.DEMO, ModelProvider.AUTO):
        return (_demo(offered, is_listed=True),)
    usual = DEFAULT_BASE_URLS[model.provider]
    base_url = model.base_url or usual
    needs_key = base_url == usual
    is_anthropic = model.provider is ModelProvider.ANTHROPIC
    config = ProviderConfig(
        name=model.provider.value,
        display_name=_SHOWN_NAMES[model.provider],
        base_url=base_url,
        wire=Wire.ANTHROPIC if is_anthropic else _WIRES[model.wire],
        api_key=model.api_key,
        needs_key=needs_key,
        first_token_timeout_seconds=model.first_token_timeout_seconds,
        silence_timeout_seconds=model.silence_timeout_seconds,
    )
    policy = KeyPolicy(has_central_key=model.api_key is not None, needs_key=needs_key)
    provider = OfferedProvider(config=config, policy=policy, models=(offered,), template=offered)
    return provider, _demo(offered, is_listed=False)


def _demo(model: OfferedModel, *, is_listed: bool) -> OfferedProvider:
    """The scripted model, for bots whose file asks for it; it answers under any name."""
    return OfferedProvider(
        config=ProviderConfig(
            name=DEMO, display_name=_SHOWN_NAMES[ModelProvider.DEMO], base_url="demo:"
        ),
        policy=KeyPolicy(needs_key=False),
        models=(model,) if is_listed else (),
        template=model,
    )
