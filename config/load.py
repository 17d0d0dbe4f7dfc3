"""Read the configuration once: defaults < TOML file < environment < command line.

All mistakes are found in one pass and raised together as `ConfigInvalid`; none shows a secret.
An empty environment variable counts as not set, because compose files pass those on.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from config.errors import ConfigInvalid, Problem
from config.notices import notices
from config.raw import Raw, converted, raws_of_toml, table_names, unknown_name
from config.resolve import (
    ANTHROPIC_NAMES,
    OPENAI_NAMES,
    configured_roles,
    contradictions,
    resolve_model,
)
from config.schema import ENV_PREFIX, SettingSpec, Tables, build, specs_of, table_paths
from config.settings import ModelProvider, Settings
from config.toml_lines import line_of

CONFIG_ENV_NAME: Final = "THREADWRIGHT_CONFIG"
# Names with our prefix that are no settings: the file's own, and the one that test runs set.
_OTHER_ENV_NAMES: Final = (CONFIG_ENV_NAME, "THREADWRIGHT_REQUIRE_BROWSER")
_FILE_SUFFIX: Final = "_FILE"
# It stands in addresses, in names of variables and in keys of the database.
_TABLE_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,29}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """The settings, for each path that is not at its default where the value came from, and notices.

    A notice is of something that works, but surely not as it was meant.
    """

    settings: Settings
    origins: Mapping[str, str]
    notices: tuple[Problem, ...] = ()


def load_settings(
    environ: Mapping[str, str], *, overrides: Mapping[str, str] | None = None
) -> Loaded:
    """Return the effective settings, or raise `ConfigInvalid` with every problem found.

    `overrides` are values given on the command line, as text, keyed by path.
    """
    problems: list[Problem] = []
    file = environ.get(CONFIG_ENV_NAME, "")
    text = _read_file(file, problems)
    named = {path: table_names(text, path) for path in table_paths(Settings)}
    problems.extend(_bad_names(file, text, named))
    specs = {spec.path: spec for spec in specs_of(Settings, named=named)}
    raws = raws_of_toml(file, text, specs, problems, named=named)
    asked = _provider(environ, raws)
    provider = asked
    if asked is ModelProvider.AUTO:
        provider = _provider_that_has_a_key(environ, raws)
    problems.extend(_unknown_env_names(environ, specs.values()))
    names = {ModelProvider.OPENAI: OPENAI_NAMES, ModelProvider.ANTHROPIC: ANTHROPIC_NAMES}
    foreign = {name for other in names if other is not provider for name in names[other]}
    used = {name: value for name, value in environ.items() if name not in foreign}
    for spec in specs.values():
        if raw := _from_environment(spec, used, problems):
            raws[spec.path] = raw
    for path, text in (overrides or {}).items():
        raws[path] = Raw(value=text, origin="command line", from_text=True)
    values = dict(converted(raws, specs, problems))
    settings = _resolved(build(Settings, values, named=named), provider, environ)
    problems.extend(contradictions(settings))
    if problems:
        raise ConfigInvalid(problems)
    return Loaded(
        settings=settings,
        origins={path: raw.origin for path, raw in raws.items()},
        notices=tuple(notices(environ, provider, was_asked_for=asked is not ModelProvider.AUTO)),
    )


def _resolved(settings: Settings, provider: ModelProvider, environ: Mapping[str, str]) -> Settings:
    state_dir = settings.state_dir
    if state_dir == Settings().state_dir and (state_home := environ.get("XDG_STATE_HOME")):
        state_dir = f"{state_home}/threadwright"
    if state_dir.startswith("~/"):
        state_dir = str(Path(environ.get("HOME") or Path.home()) / state_dir[2:])
    return replace(
        settings,
        state_dir=state_dir,
        model=resolve_model(settings.model, provider),
        roles=tuple(dict.fromkeys(settings.roles)) or configured_roles(settings),
    )


def _provider(environ: Mapping[str, str], raws: Mapping[str, Raw]) -> ModelProvider:
    """Return the provider asked for; `auto` when nobody asks, and the demo model for a mistake."""
    stated = environ.get(f"{ENV_PREFIX}MODEL_PROVIDER")
    if not stated and (raw := raws.get("model.provider")):
        stated = str(raw.value)
    if not stated:
        return ModelProvider.AUTO
    return ModelProvider(stated) if stated in set(ModelProvider) else ModelProvider.DEMO


def _provider_that_has_a_key(environ: Mapping[str, str], raws: Mapping[str, Raw]) -> ModelProvider:
    """Return the provider whose key or address is there, else the demo model."""
    ours = (
        f"{ENV_PREFIX}MODEL_API_KEY",
        f"{ENV_PREFIX}MODEL_API_KEY_FILE",
        f"{ENV_PREFIX}MODEL_BASE_URL",
    )
    if any(environ.get(name) for name in (*OPENAI_NAMES, *ours)):
        return ModelProvider.OPENAI
    if {"model.api_key", "model.base_url"} & set(raws):
        return ModelProvider.OPENAI
    if any(environ.get(name) for name in ANTHROPIC_NAMES):
        return ModelProvider.ANTHROPIC
    return ModelProvider.DEMO


def _read_file(name: str, problems: list[Problem]) -> str:
    if not name:
        return ""
    try:
        return Path(name).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        problems.append(_unreadable(name, f"named by {CONFIG_ENV_NAME} or --config", error))
        return ""


def _bad_names(file: str, text: str, named: Tables) -> Iterator[Problem]:
    for path, names in named.items():
        for name in names:
            if not _TABLE_NAME.fullmatch(name):
                yield Problem(
                    where=f"{file}:{line_of(text, f'{path}.{name}') or 1}",
                    what=f"{name!r} cannot be the name of a table of {path}",
                    mend="use up to 30 small letters, digits and _, a letter first",
                )


def _from_environment(
    spec: SettingSpec, environ: Mapping[str, str], problems: list[Problem]
) -> Raw | None:
    for name in spec.env_names:
        text, file = environ.get(name), environ.get(name + _FILE_SUFFIX)
        if spec.is_secret and file:
            if text:
                problems.append(
                    Problem(
                        where=f"environment {name}",
                        what=f"is set together with {name}{_FILE_SUFFIX}",
                        mend="set only one of the two",
                    )
                )
            return _from_secret_file(name + _FILE_SUFFIX, file, problems)
        if text:
            return Raw(value=text, origin=f"environment {name}", from_text=True)
    return None


def _from_secret_file(name: str, file: str, problems: list[Problem]) -> Raw | None:
    try:
        text = Path(file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        problems.append(_unreadable(file, f"named by {name}", error))
        return None
    return Raw(value=text, origin=f"file {file} ({name})", from_text=True)


def _unknown_env_names(
    environ: Mapping[str, str], specs: Iterable[SettingSpec]
) -> Iterator[Problem]:
    known = set(_OTHER_ENV_NAMES)
    for spec in specs:
        known.update(spec.env_names)
        if spec.is_secret:
            known.update(name + _FILE_SUFFIX for name in spec.env_names)
    for name in sorted(environ):
        if not name.startswith(ENV_PREFIX) or name in known:
            continue
        problem = unknown_name("setting", name, "environment", known)
        for path in table_paths(Settings):
            if name.startswith(ENV_PREFIX + path.replace(".", "_").upper() + "_"):
                mend = f"it takes a table [{path}.NAME] of that name, if an empty one, in the TOML file"
                problem = replace(problem, mend=mend)
        yield problem


def _unreadable(file: str, why: str, error: Exception) -> Problem:
    reason = (
        error.strerror if isinstance(error, OSError) and error.strerror else "is not UTF-8 text"
    )
    return Problem(
        where=file, what=f"cannot be read ({why}): {reason}", mend="mend the path or its rights"
    )
