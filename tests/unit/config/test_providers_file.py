"""A providers file is checked as strictly as the settings."""

import pytest

from config.errors import ConfigInvalid
from config.providers_file import parse_providers_file
from config.secret import Secret

WHOLE = """
[providers.anthropic]
wire = "anthropic"
api_key_env = "ANTHROPIC_API_KEY"
policy = "user_or_central"

[providers.anthropic.models."claude-sonnet-4-5"]
default = true
context_limit = 200_000
input_price = 3
output_price = 15.5
accepts = ["image", "pdf"]

[providers.ollama]
wire = "chat_completions"
base_url = "http://127.0.0.1:11434/v1"
options = { needs_key = false }
headers = { X-Team = "harbour" }

[providers.ollama.models."llama3.1:8b"]
context_limit = 8192
options = { top_p = 0.5 }
"""


def problems_of(text: str) -> list[str]:
    with pytest.raises(ConfigInvalid) as caught:
        parse_providers_file("p.toml", text)
    return [str(problem) for problem in caught.value.problems]


def test_file_gives_providers_with_their_models() -> None:
    anthropic, ollama = parse_providers_file("p.toml", WHOLE)
    assert anthropic.name == "anthropic"
    assert anthropic.api_key_env == "ANTHROPIC_API_KEY"
    assert anthropic.fields["base_url"] == "https://api.anthropic.com"
    flags = ("central_key_enabled", "user_key_allowed", "central_key_fallback")
    assert [anthropic.fields[flag] for flag in flags] == [True, True, True]
    assert [ollama.fields[flag] for flag in flags] == [True, False, False]
    (claude,) = anthropic.models
    assert claude.where == "p.toml:7"
    assert claude.fields == {
        "name": "claude-sonnet-4-5",
        "is_default": True,
        "context_limit": 200_000,
        "input_price": 3.0,
        "output_price": 15.5,
        "accepts": ("image", "pdf"),
    }
    assert ollama.fields["options"] == {"needs_key": False}
    assert ollama.fields["headers"] == {"X-Team": "harbour"}
    assert ollama.models[0].fields["name"] == "llama3.1:8b"
    assert ollama.models[0].fields["options"] == {"top_p": 0.5}


def test_key_in_the_file_is_a_secret() -> None:
    (provider,) = parse_providers_file("p.toml", "[providers.a]\nwire='responses'\napi_key='hush'")
    assert provider.api_key == Secret("hush")
    assert "hush" not in repr(provider)
    assert provider.fields["base_url"] == "https://api.openai.com/v1"


def test_empty_file_holds_nothing() -> None:
    assert parse_providers_file("p.toml", "") == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "[providers.a]\nwire = 'anthropic'\nbase_ulr = 'http://h'",
            "p.toml:3: unknown key providers.a.base_ulr; did you mean providers.a.base_url?",
        ),
        (
            "[providers.a]\nwire='anthropic'\n[providers.a.models.\"m.1\"]\ncontext_limit = 5000\nacepts = []",
            'p.toml:5: unknown key providers.a.models.m.1.acepts; did you mean '
            "providers.a.models.m.1.accepts?",
        ),
        ("[provider.a]\nwire = 'anthropic'", "p.toml:1: unknown key provider; did you mean providers?"),
        (
            "[providers.a]\nwire = 'soap'",
            "p.toml:2: providers.a.wire cannot be 'soap'; accepted is one of "
            "chat_completions, responses, anthropic",
        ),
        (
            "[providers.a]\nbase_url = 'http://h'",
            "p.toml:1: providers.a says no wire; set wire to one of "
            "chat_completions, responses, anthropic",
        ),
        (
            "[providers.a]\nwire='anthropic'\n[providers.a.models.m]\ndefault = true",
            "p.toml:3: providers.a.models.m says no context_limit; "
            "set it to the model's window in tokens",
        ),
        (
            "[providers.a]\nwire='anthropic'\n[providers.a.models.m]\ncontext_limit = 0",
            "p.toml:4: providers.a.models.m.context_limit cannot be 0; "
            "accepted is a whole number from 1024 to 2147483647",
        ),
        (
            "[providers.a]\nwire='anthropic'\napi_key='hush'\napi_key_env='X'",
            "p.toml:4: api_key and api_key_env are set together; set only one of them",
        ),
        (
            "[providers.a]\nwire='anthropic'\nbase_url='ftp://u:hush@h'",
            "p.toml:3: providers.a.base_url cannot be the value given; "
            "accepted is an address that starts with http:// or https://",
        ),
        (
            "[providers]\na = 5",
            "p.toml:2: providers.a must be a table; write [providers.a] and its keys below it",
        ),
        (
            "[providers.a]\nwire='anthropic'\nmodels = 5",
            "p.toml:3: providers.a.models must be a table; write [providers.a.models.NAME]",
        ),
        (
            "[providers.a]\nwire='anthropic'\noptions = 5",
            "p.toml:3: providers.a.options must be a table; write { ... }",
        ),
        (
            "[providers.a]\nwire='anthropic'\nwire='anthropic'",
            "p.toml:3: is not TOML: Cannot overwrite a value (at end of document); mend that line",
        ),
        (
            "\n[providers.\"a\\u001bb\"]\nwire='anthropic'",
            "p.toml:2: providers has the name 'a\\x1bb', with characters that cannot be seen; "
            "choose a name that can be read",
        ),
        ("providers = 5", "p.toml:1: providers must be a table; write [providers.NAME]"),
    ],
)  # fmt: skip
def test_mistake_names_its_line_and_how_to_mend_it(text: str, expected: str) -> None:
    found = problems_of(text)
    assert found == [expected]
    assert "hush" not in str(found)


def test_two_defaults_are_a_mistake_at_the_second() -> None:
    text = "[providers.a]\nwire='anthropic'\n" + "".join(
        f"[providers.a.models.m{number}]\ndefault = true\ncontext_limit = 5000\n"
        for number in (1, 2)
    )
    assert problems_of(text) == [
        "p.toml:6: is the default, but so is the model at p.toml:3; "
        "leave default = true with one of them"
    ]


@pytest.mark.parametrize(
    ("text", "said"), [("a = " + "[" * 5000, "nested too deeply"), ("a = = 1", "is not TOML")]
)
def test_file_that_no_parser_can_read_is_one_problem(text: str, said: str) -> None:
    (problem,) = problems_of(text)
    assert said in problem


def test_all_mistakes_are_told_at_once() -> None:
    text = "x = 1\n[providers.a]\nwire='y'\nz=1\n[providers.b]\nwire='anthropic'\napi_key = 5"
    found = problems_of(text)
    assert [problem.partition(": ")[0] for problem in found] == [
        "p.toml:1",
        "p.toml:3",
        "p.toml:4",
        "p.toml:7",
    ]
