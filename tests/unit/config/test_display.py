"""What is shown to people is complete, true to the code, and safe."""

import tomllib
from pathlib import Path

import config
from config.display import defaults_toml, effective_values, with_reference_table
from config.load import load_settings
from config.schema import specs_of
from config.settings import Settings

FOLDER = Path(config.__file__).parent


def test_readme_table_is_what_the_code_says() -> None:
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert readme == with_reference_table(readme), "run `make docs`"


def test_every_setting_stands_in_the_readme() -> None:
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    for spec in specs_of(Settings):
        for name in spec.env_names:
            assert f"`{name}`" in readme


def test_defaults_file_is_what_the_code_says_and_loads() -> None:
    file = FOLDER / "defaults.toml"
    assert file.read_text(encoding="utf-8") == defaults_toml(), "run `make docs`"
    assert tomllib.loads(defaults_toml())["server"]["port"] == 8080
    stated = load_settings({"THREADWRIGHT_CONFIG": str(file), "HOME": "/h"}).settings
    assert stated == load_settings({"HOME": "/h"}).settings


def test_environment_names_are_systematic_and_unique() -> None:
    names = [name for spec in specs_of(Settings) for name in spec.env_names]
    assert len(names) == len(set(names))
    assert "THREADWRIGHT_WORKER_LEASE_SECONDS" in names
    assert all(
        spec.env_name == "THREADWRIGHT_" + spec.path.replace(".", "_").upper()
        for spec in specs_of(Settings)
    )


def test_every_meaning_is_a_sentence() -> None:
    for spec in specs_of(Settings):
        assert spec.doc.endswith("."), spec.path
        assert "|" not in spec.doc, spec.path


def test_effective_values_cover_every_setting_and_mask_secrets() -> None:
    environ = {
        "OPENAI_API_KEY": "sk-hush",
        "DATABASE_URL": "postgresql://wren:hush@h/d",
        "OPENAI_BASE_URL": "http://ada:hush@127.0.0.1:1/v1",
    }
    loaded = load_settings(environ)
    rows = {
        path: (value, origin)
        for path, value, origin in effective_values(loaded.settings, loaded.origins)
    }
    assert set(rows) == {spec.path for spec in specs_of(Settings)}
    assert rows["model.api_key"] == ("********", "environment OPENAI_API_KEY")
    assert rows["database.url"][0] == "postgresql://********@h/d"
    assert rows["model.provider"] == ("openai", "follows from other settings")
    assert "hush" not in str(rows)
