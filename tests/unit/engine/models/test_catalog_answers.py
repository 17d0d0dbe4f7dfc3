"""What a catalog answers a reference that fits nothing, or a provider that takes any name."""

from engine.chat.errors import ChatError, ErrorKind
from engine.models.catalog import Choice, ModelCatalog, OfferedModel, OfferedProvider
from engine.models.key_policy import KeyPolicy
from engine.models.provider import ProviderConfig


def provider(*models: OfferedModel, template: OfferedModel | None = None) -> OfferedProvider:
    return OfferedProvider(
        config=ProviderConfig(name="harbour", base_url="http://h", display_name="Harbour AI"),
        policy=KeyPolicy(needs_key=False),
        models=models,
        template=template,
    )


def catalog(count: int) -> ModelCatalog:
    return ModelCatalog([provider(*(OfferedModel(name=f"m{n}") for n in range(1, count + 1)))])


def error(sentence: str) -> ChatError:
    return ChatError(kind=ErrorKind.CONFIG, message=sentence)


def test_an_unknown_model_is_told_with_those_that_there_are() -> None:
    eight = ", ".join(f"harbour:m{n}" for n in range(1, 9))
    assert catalog(8).resolve("x" * 300) == error(
        f"There is no model {'x' * 200}. There is: {eight}."
    )
    assert catalog(10).resolve("x") == error(f"There is no model x. There is: {eight} and 2 more.")
    assert catalog(0).resolve("x") == error("There is no model x. No model is configured.")
    assert catalog(0).resolve("harbour:") == error(
        "The provider harbour has no model that may be asked."
    )
    assert catalog(0).resolve(None) == error("No model is configured.")


def test_an_unknown_provider_is_told_with_those_that_there_are() -> None:
    assert catalog(1).resolve_at("x" * 300, None) == error(
        f"There is no provider {'x' * 200}. There is: harbour."
    )
    assert ModelCatalog([]).resolve_at("x", None) == error(
        "There is no provider x. There is: none."
    )


def test_a_disabled_model_is_told_with_its_provider() -> None:
    disabled = ModelCatalog([provider(OfferedModel(name="gone", is_enabled=False))])
    assert disabled.resolve("gone") == ChatError(
        kind=ErrorKind.PROVIDER_DISABLED,
        message="The model harbour:gone has been disabled. Contact your administrator.",
        provider="Harbour AI",
    )


def test_a_model_that_nobody_configured_is_like_that_of_the_settings_but_for_what_is_its_own() -> (
    None
):
    template = OfferedModel(
        name="usual",
        display_name="The usual",
        context_limit=7,
        compaction_threshold=8,
        max_output_tokens=9,
        temperature=0.5,
        accepts=frozenset({"image"}),
    )
    any_name = ModelCatalog([provider(template=template)])
    assert any_name.resolve("harbour:other") == Choice(
        provider=any_name.providers["harbour"],
        model=OfferedModel(
            name="other",
            context_limit=7,
            compaction_threshold=8,
            max_output_tokens=9,
            temperature=0.5,
        ),
    )
