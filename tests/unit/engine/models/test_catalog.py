"""Which model a reference means."""

import pytest

from engine.chat.errors import ChatError, ErrorKind
from engine.models.catalog import Choice, ModelCatalog, OfferedModel, OfferedProvider
from engine.models.key_policy import KeyPolicy
from engine.models.output_limit import default_output_limit
from engine.models.provider import ProviderConfig, Wire


def provider(
    name: str, *models: OfferedModel, enabled: bool = True, takes_any: bool = False
) -> OfferedProvider:
    return OfferedProvider(
        config=ProviderConfig(name=name, base_url="http://h", display_name=name.title()),
        policy=KeyPolicy(is_enabled=enabled, needs_key=False),
        models=models,
        template=OfferedModel(name="usual", context_limit=7) if takes_any else None,
    )


def model(name: str, *, default: bool = False, enabled: bool = True) -> OfferedModel:
    return OfferedModel(name=name, is_default=default, is_enabled=enabled)


CATALOG = ModelCatalog(
    [
        provider("openai", model("gpt-5"), model("shared"), model("gpt-5:mini", default=True)),
        provider("local", model("llama3:8b"), model("org/qwen:7b"), model("shared")),
        provider("closed", model("secret"), enabled=False),
        provider("half", model("gone", enabled=False), model("there")),
    ]
)


def reference_of(found: Choice | ChatError) -> str:
    assert isinstance(found, Choice), found
    return found.reference


def error_of(found: Choice | ChatError) -> ChatError:
    assert isinstance(found, ChatError), found
    return found


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        (None, "openai:gpt-5:mini"),
        ("", "openai:gpt-5:mini"),
        ("gpt-5", "openai:gpt-5"),
        ("openai:gpt-5", "openai:gpt-5"),
        ("openai:gpt-5:mini", "openai:gpt-5:mini"),
        ("gpt-5:mini", "openai:gpt-5:mini"),
        ("llama3:8b", "local:llama3:8b"),
        ("local:llama3:8b", "local:llama3:8b"),
        ("org/qwen:7b", "local:org/qwen:7b"),
        ("local:shared", "local:shared"),
        ("openai:", "openai:gpt-5:mini"),
        ("half:", "half:there"),
    ],
)
def test_reference_names_one_model(reference: str | None, expected: str) -> None:
    assert reference_of(CATALOG.resolve(reference)) == expected


@pytest.mark.parametrize("reference", ["nobody", "openai:llama3:8b", "nobody:gpt-5", "local"])
def test_unknown_model_is_an_error_that_names_what_there_is(reference: str) -> None:
    error = error_of(CATALOG.resolve(reference))
    assert (error.kind, error.retryable) == (ErrorKind.CONFIG, False)
    assert f"There is no model {reference}." in error.message
    assert "openai:gpt-5, openai:shared" in error.message
    assert "half:gone" not in error.message


def test_name_of_two_providers_is_an_error_that_names_both() -> None:
    error = error_of(CATALOG.resolve("shared"))
    assert error.kind is ErrorKind.CONFIG
    assert "openai:shared, local:shared" in error.message


def test_name_is_unambiguous_where_only_one_of_two_is_enabled() -> None:
    catalog = ModelCatalog(
        [provider("a", model("m", enabled=False)), provider("b", model("m"), model("n"))]
    )
    assert reference_of(catalog.resolve("m")) == "b:m"


@pytest.mark.parametrize("reference", ["closed:secret", "secret", "closed:"])
def test_disabled_provider_says_so(reference: str) -> None:
    error = error_of(CATALOG.resolve(reference))
    assert error.kind is ErrorKind.PROVIDER_DISABLED
    assert error.message.startswith("The Closed provider has been disabled.")


def test_provider_without_a_model_says_so() -> None:
    error = error_of(ModelCatalog([provider("bare")]).resolve("bare:"))
    assert error.message == "The provider bare has no model that may be asked."


def test_disabled_model_says_so() -> None:
    for reference in ("half:gone", "gone"):
        error = error_of(CATALOG.resolve(reference))
        assert error.kind is ErrorKind.PROVIDER_DISABLED
        assert "half:gone has been disabled" in error.message


def test_default_of_a_disabled_provider_is_an_error_and_not_another_model() -> None:
    catalog = ModelCatalog(
        [provider("a", model("m", default=True), enabled=False), provider("b", model("n"))]
    )
    assert error_of(catalog.resolve(None)).kind is ErrorKind.PROVIDER_DISABLED


def test_nothing_configured_is_an_error() -> None:
    assert error_of(ModelCatalog([]).resolve(None)).message == "No model is configured."
    assert "No model is configured." in error_of(ModelCatalog([]).resolve("m")).message


def test_settled_provider_takes_any_name_as_long_as_it_has_the_default() -> None:
    settled = provider("openai", model("usual", default=True), takes_any=True)
    assert reference_of(ModelCatalog([settled]).resolve("gpt-9")) == "openai:gpt-9"
    assert reference_of(ModelCatalog([settled]).resolve("x:y")) == "openai:x:y"
    found = ModelCatalog([settled]).resolve("openai:gpt-9")
    assert isinstance(found, Choice)
    assert found.model.context_limit == 7
    plain = provider("openai", model("usual"), takes_any=True)
    both = ModelCatalog([provider("mine", model("m", default=True)), plain])
    assert error_of(both.resolve("gpt-9")).kind is ErrorKind.CONFIG
    assert reference_of(both.resolve("openai:gpt-9")) == "openai:gpt-9"


def test_bot_that_names_its_provider_gets_none_but_that() -> None:
    assert reference_of(CATALOG.resolve_at("local", "llama3:8b")) == "local:llama3:8b"
    assert reference_of(CATALOG.resolve_at("half", None)) == "half:there"
    error = error_of(CATALOG.resolve_at("anthropic", "claude"))
    assert "There is no provider anthropic. There is: openai, local, closed, half." in error.message


def test_long_list_of_models_is_cut() -> None:
    catalog = ModelCatalog([provider("p", *(model(f"m{number}") for number in range(30)))])
    message = error_of(catalog.resolve("x")).message
    assert "p:m7 and 22 more" in message
    assert "p:m8" not in message


@pytest.mark.parametrize(
    ("wire", "name", "limit"),
    [
        (Wire.ANTHROPIC, "claude-sonnet-4-5", 32_000),
        (Wire.ANTHROPIC, "claude-3-7-sonnet-latest", 32_000),
        (Wire.ANTHROPIC, "claude-3-5-haiku-latest", 8_192),
        (Wire.ANTHROPIC, "anthropic/claude-3-opus-20240229", 4_096),
        (Wire.CHAT_COMPLETIONS, "gpt-4o", None),
        (Wire.RESPONSES, "gpt-5", None),
    ],
)
def test_output_is_limited_only_where_it_must_be(wire: Wire, name: str, limit: int | None) -> None:
    assert default_output_limit(wire, name) == limit
