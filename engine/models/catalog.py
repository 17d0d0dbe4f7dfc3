"""The models that can be asked, as one value, and which of them a reference means (pure).

A reference is `provider:model`, or the model's name alone where only one provider has it; nothing means
the default. What stands before the first colon counts as a provider only if there is one of that name,
because the names of models hold colons and slashes themselves.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias
from uuid import UUID

from engine.chat.errors import ChatError, ErrorKind
from engine.models.cost import Prices
from engine.models.key_policy import KeyPolicy, UnavailableReason, error_of
from engine.models.provider import ProviderConfig

NAMES_SHOWN_MAX: Final = 8
"""How many models an error names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedModel:
    """A model of one provider. Empty or None: left to the provider."""

    name: str
    id: UUID | None = None
    display_name: str = ""
    is_enabled: bool = True
    is_default: bool = False
    context_limit: int | None = None
    compaction_threshold: int = 70
    max_output_tokens: int | None = None
    temperature: float | None = None
    accepts: frozenset[str] = frozenset()
    options: Mapping[str, Any] = field(default_factory=dict)
    prices: Prices | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedProvider:
    """A provider with its models. `config` holds its central key.

    `template`: any further model may be asked for, and is like this one. `id` is None for the provider
    that is made from the settings. `fault`: why its key cannot be read.
    """

    config: ProviderConfig
    policy: KeyPolicy
    id: UUID | None = None
    models: tuple[OfferedModel, ...] = ()
    template: OfferedModel | None = None
    fault: str = ""

    @property
    def name(self) -> str:
        """What references call it."""
        return self.config.name

    @property
    def shown_name(self) -> str:
        """What people know it by."""
        return self.config.display_name or self.config.name

    def model(self, name: str) -> OfferedModel | None:
        """Its model of this name, listed or not."""
        return next((model for model in self.models if model.name == name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The model that is meant, of an enabled provider."""

    provider: OfferedProvider
    model: OfferedModel

    @property
    def reference(self) -> str:
        """`provider:model`, as rows and reports have it."""
        return f"{self.provider.name}:{self.model.name}"


Chosen: TypeAlias = Choice | ChatError


class ModelCatalog:
    """All providers with their models, at one moment. One model is the default, if there is any."""

    def __init__(self, providers: Iterable[OfferedProvider]) -> None:
        """Of providers with the same name the first counts, and of defaults too."""
        self._providers: dict[str, OfferedProvider] = {}
        for provider in providers:
            self._providers.setdefault(provider.name, provider)

    @property
    def providers(self) -> Mapping[str, OfferedProvider]:
        """By name."""
        return self._providers

    @property
    def default(self) -> Choice | None:
        """What is asked where nobody says which."""
        return next((each for each in self.choices() if each.model.is_default), None)

    def choices(self) -> Iterator[Choice]:
        """Every listed model, disabled ones too."""
        for provider in self._providers.values():
            for model in provider.models:
                yield Choice(provider=provider, model=model)

    def resolve(self, reference: str | None) -> Chosen:
        """The model that is meant, or the error of a turn that asks for it."""
        if not reference:
            default = self.default
            return _nothing_configured() if default is None else _if_enabled(default)
        prefix, colon, name = reference.partition(":")
        provider = self._providers.get(prefix) if colon else None
        if provider is not None:
            return self._of_provider(provider, name)
        return self._by_name(reference)

    def resolve_at(self, provider: str, name: str | None) -> Chosen:
        """The model of this very provider; without a name its default, or its first one."""
        found = self._providers.get(provider)
        if found is None:
            names = ", ".join(self._providers) or "none"
            return _config_error(f"There is no provider {provider[:200]}. There is: {names}.")
        return self._of_provider(found, name or "")

    def _of_provider(self, provider: OfferedProvider, name: str) -> Chosen:
        model = provider.model(name) if name else _first_of(provider)
        if model is None and provider.template is not None:
            model = _like(provider.template, name or provider.template.name)
        if model is None:
            if not name:
                return _config_error(
                    f"The provider {provider.name} has no model that may be asked."
                )
            return self._unknown(f"{provider.name}:{name}")
        return _if_enabled(Choice(provider=provider, model=model))

    def _by_name(self, name: str) -> Chosen:
        found = [each for each in self.choices() if each.model.name == name]
        usable = [
            each for each in found if each.model.is_enabled and each.provider.policy.is_enabled
        ]
        if len(usable) == 1 or (found and not usable):
            return _if_enabled((usable or found)[0])
        if found:
            names = ", ".join(each.reference for each in usable)
            return _config_error(f"Several providers have a model {name}. Ask for one of: {names}.")
        default = self.default
        if default is not None and default.provider.template is not None:
            # The provider of the settings takes any name, as long as no model is configured.
            model = _like(default.provider.template, name)
            return Choice(provider=default.provider, model=model)
        return self._unknown(name)

    def _unknown(self, reference: str) -> ChatError:
        names = [each.reference for each in self.choices() if each.model.is_enabled]
        shown = ", ".join(names[:NAMES_SHOWN_MAX])
        more = f" and {len(names) - NAMES_SHOWN_MAX} more" if len(names) > NAMES_SHOWN_MAX else ""
        there = f"There is: {shown}{more}." if names else "No model is configured."
        return _config_error(f"There is no model {reference[:200]}. {there}")


def _if_enabled(choice: Choice) -> Chosen:
    """The choice, or the error of one that is switched off."""
    if not choice.provider.policy.is_enabled:
        shown = choice.provider.shown_name
        return error_of(UnavailableReason.PROVIDER_DISABLED, provider=shown)
    if not choice.model.is_enabled:
        return ChatError(
            kind=ErrorKind.PROVIDER_DISABLED,
            message=f"The model {choice.reference} has been disabled. Contact your administrator.",
            provider=choice.provider.shown_name,
        )
    return choice


def _first_of(provider: OfferedProvider) -> OfferedModel | None:
    """What a reference with a provider alone means: its default, else its first enabled model."""
    enabled = [model for model in provider.models if model.is_enabled]
    return next((model for model in enabled if model.is_default), enabled[0] if enabled else None)


def _like(template: OfferedModel, name: str) -> OfferedModel:
    """A model that nobody has configured: as the settings say, but for what belongs to the name."""
    return OfferedModel(
        name=name,
        context_limit=template.context_limit,
        compaction_threshold=template.compaction_threshold,
        max_output_tokens=template.max_output_tokens,
        temperature=template.temperature,
    )


def _nothing_configured() -> ChatError:
    return _config_error("No model is configured.")


def _config_error(sentence: str) -> ChatError:
    return ChatError(kind=ErrorKind.CONFIG, message=sentence)
