"""What a providers file may say: providers and their models, checked as strictly as the settings (pure).

Tables are `[providers.NAME]` and `[providers.NAME.models."MODEL"]`. Where a key stands in another file or in
the environment, only the place is read here; whoever has the environment fetches it.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

from config.convert import ValueInvalid, accepted, convert
from config.errors import ConfigInvalid, Problem
from config.raw import unknown_name
from config.resolve import DEFAULT_BASE_URLS
from config.schema import SettingSpec, setting, specs_of
from config.secret import Secret
from config.settings import HTTP, ModelProvider
from config.toml_lines import line_of


class FileWire(StrEnum):
    """The API that a provider speaks."""

    CHAT_COMPLETIONS = "chat_completions"
    RESPONSES = "responses"
    ANTHROPIC = "anthropic"


class FilePolicy(StrEnum):
    """Whose key is used: the provider's, each person's own, or the person's and else the provider's."""

    CENTRAL = "central"
    USER = "user"
    USER_OR_CENTRAL = "user_or_central"


POLICY_FLAGS: Final[Mapping[FilePolicy, Mapping[str, bool]]] = MappingProxyType(
    {
        FilePolicy.CENTRAL: {
            "central_key_enabled": True,
            "user_key_allowed": False,
            "central_key_fallback": False,
        },
        FilePolicy.USER: {
            "central_key_enabled": False,
            "user_key_allowed": True,
            "central_key_fallback": False,
        },
        FilePolicy.USER_OR_CENTRAL: {
            "central_key_enabled": True,
            "user_key_allowed": True,
            "central_key_fallback": True,
        },
    }
)
USUAL_ADDRESSES: Final[Mapping[FileWire, str]] = MappingProxyType(
    {
        FileWire.CHAT_COMPLETIONS: DEFAULT_BASE_URLS[ModelProvider.OPENAI],
        FileWire.RESPONSES: DEFAULT_BASE_URLS[ModelProvider.OPENAI],
        FileWire.ANTHROPIC: DEFAULT_BASE_URLS[ModelProvider.ANTHROPIC],
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderTable:
    """The keys of `[providers.NAME]` but for tables. Declared for their checks, never built."""

    wire: FileWire = setting(FileWire.CHAT_COMPLETIONS, "The API that it speaks.")
    base_url: str | None = setting(None, "Its address; empty means the usual one.", schemes=HTTP)
    display_name: str | None = setting(None, "What people know it by.")
    enabled: bool = setting(True, "Whether it may be asked.")  # noqa: FBT003 - a declaration
    policy: FilePolicy = setting(FilePolicy.CENTRAL, "Whose key is used.")
    api_key: Secret | None = setting(None, "Its key.")
    api_key_env: str | None = setting(None, "Environment variable with its key.")
    api_key_file: str | None = setting(None, "File with its key.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTable:
    """The keys of `[providers.NAME.models."MODEL"]` but for tables."""

    default: bool = setting(False, "Whether it is the default.")  # noqa: FBT003 - a declaration
    context_limit: int = setting(0, "Context window in tokens.", at_least=1024, at_most=2**31 - 1)
    display_name: str | None = setting(None, "What people know it by.")
    enabled: bool = setting(True, "Whether it may be asked.")  # noqa: FBT003 - a declaration
    compaction_threshold: int = setting(
        70, "Percent of the window at which a chat is summarised.", at_least=1, at_most=100
    )
    max_output_tokens: int | None = setting(None, "Most tokens of one answer.", at_least=1)
    temperature: float | None = setting(None, "Sampling temperature.", at_least=0, at_most=2)
    accepts: tuple[str, ...] = setting((), "Files that it reads itself: image, pdf.")
    input_price: float | None = setting(None, "Per million tokens.", at_least=0)
    output_price: float | None = setting(None, "Per million tokens.", at_least=0)
    cache_read_price: float | None = setting(None, "Per million tokens.", at_least=0)
    cache_write_price: float | None = setting(None, "Per million tokens.", at_least=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileModel:
    """A model of the file: its fields as the catalogue takes them."""

    fields: Mapping[str, Any]
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileProvider:
    """A provider of the file: its fields as the catalogue takes them, but for its key.

    The key is one of the three, or there is none; `key_where` is its line.
    """

    fields: Mapping[str, Any]
    models: tuple[FileModel, ...]
    where: str
    api_key: Secret | None = None
    api_key_env: str | None = None
    api_key_file: str | None = None
    key_where: str = ""

    @property
    def name(self) -> str:
        """What it is called."""
        return str(self.fields["name"])


_LINE_OF_ERROR: Final = re.compile(r"\(at line (\d+)")
_PROVIDER_SPECS: Final = {spec.key: spec for spec in specs_of(ProviderTable)}
_MODEL_SPECS: Final = {spec.key: spec for spec in specs_of(ModelTable)}
_PROVIDER_OBJECTS: Final = ("options", "headers", "models")
_MODEL_OBJECTS: Final = ("options",)
_KEYS: Final = ("api_key", "api_key_env", "api_key_file")


def parse_providers_file(where: str, text: str) -> tuple[FileProvider, ...]:
    """The providers that a TOML text defines, or `ConfigInvalid` with every problem."""
    return _Parser(where, text).providers()


class _Parser:
    def __init__(self, where: str, text: str) -> None:
        self._where = where
        self._text = text.removeprefix("\ufeff")
        self._problems: list[Problem] = []

    def providers(self) -> tuple[FileProvider, ...]:
        """All of them, once nothing is wrong."""
        tree = self._tree()
        for name in tree:
            if name != "providers":
                self._problems.append(unknown_name("key", name, self._at(name), ["providers"]))
        tables = self._tables(tree, "providers", ("providers",))
        found = tuple(self._provider(name, table) for name, table in tables)
        defaults = [
            model for each in found for model in each.models if model.fields.get("is_default")
        ]
        for model in defaults[1:]:
            what = f"is the default, but so is the model at {defaults[0].where}"
            self._problem(model.where, what, "leave default = true with one of them")
        if self._problems:
            raise ConfigInvalid(self._problems)
        return found

    def _tree(self) -> Mapping[str, Any]:
        try:
            return tomllib.loads(self._text)
        except RecursionError:
            self._problem(self._where, "is nested too deeply", "flatten it")
        except ValueError as error:
            found = _LINE_OF_ERROR.search(str(error))
            line = found[1] if found else len(self._text.splitlines()) or 1
            where = f"{self._where}:{line}"
            self._problem(where, f"is not TOML: {error}", "mend that line")
        return {}

    def _provider(self, name: str, table: Mapping[str, Any]) -> FileProvider:
        path = ("providers", name)
        values = self._values(table, path, _PROVIDER_SPECS, _PROVIDER_OBJECTS)
        if "wire" not in values and "wire" not in table:
            self._problem(self._at(*path), f"{'.'.join(path)} says no wire", _wires())
        given = [key for key in _KEYS if key in table]
        if len(given) > 1:
            what = f"{' and '.join(given)} are set together"
            self._problem(self._at(*path, given[1]), what, "set only one of them")
        wire = values.get("wire", FileWire.CHAT_COMPLETIONS)
        fields = {
            "name": name,
            "wire": wire.value,
            "base_url": values.get("base_url") or USUAL_ADDRESSES[wire],
            "display_name": values.get("display_name", ""),
            "enabled": values.get("enabled", True),
            "options": values.get("options", {}),
            "headers": values.get("headers", {}),
            **POLICY_FLAGS[values.get("policy", FilePolicy.CENTRAL)],
        }
        models = tuple(
            self._model(path, model, inner)
            for model, inner in self._tables(table, "models", (*path, "models"))
        )
        return FileProvider(
            fields=fields,
            models=models,
            where=self._at(*path),
            api_key=values.get("api_key"),
            api_key_env=values.get("api_key_env"),
            api_key_file=values.get("api_key_file"),
            key_where=self._at(*path, *given[:1]),
        )

    def _model(self, provider: tuple[str, ...], name: str, table: Mapping[str, Any]) -> FileModel:
        path = (*provider, "models", name)
        values = self._values(table, path, _MODEL_SPECS, _MODEL_OBJECTS)
        if "context_limit" not in table:
            what = f"{'.'.join(path)} says no context_limit"
            self._problem(self._at(*path), what, "set it to the model's window in tokens")
        is_default = values.pop("default", False)
        fields = {"name": name, **values}
        if is_default:
            fields["is_default"] = True
        return FileModel(fields=fields, where=self._at(*path))

    def _tables(
        self, tree: Mapping[str, Any], key: str, path: tuple[str, ...]
    ) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """The tables within a table of tables, by name."""
        tables = tree.get(key, {})
        if not isinstance(tables, dict):
            self._problem(
                self._at(*path),
                f"{'.'.join(path)} must be a table",
                f"write [{'.'.join(path)}.NAME]",
            )
            return
        for name, table in tables.items():
            if not name.isprintable():
                # Shown with its escapes, for it breaks lines or shows itself as something else.
                what = (
                    f"{'.'.join(path)} has the name {name!r}, with characters that cannot be seen"
                )
                self._problem(self._at(*path, name), what, "choose a name that can be read")
            elif isinstance(table, dict):
                yield name, table
            else:
                shown = ".".join((*path, name))
                self._problem(
                    self._at(*path, name),
                    f"{shown} must be a table",
                    f"write [{shown}] and its keys below it",
                )

    def _values(
        self,
        table: Mapping[str, Any],
        path: tuple[str, ...],
        specs: Mapping[str, SettingSpec],
        objects: tuple[str, ...],
    ) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key, raw in table.items():
            where = self._at(*path, key)
            if key in objects:
                if key == "models":
                    continue
                if isinstance(raw, dict):
                    values[key] = raw
                else:
                    self._problem(
                        where, f"{'.'.join((*path, key))} must be a table", "write { ... }"
                    )
            elif key in specs:
                self._convert(specs[key], raw, where, path, values)
            else:
                self._problems.append(
                    unknown_name(
                        "key",
                        ".".join((*path, key)),
                        where,
                        [".".join((*path, known)) for known in (*specs, *objects)],
                    )
                )
        return values

    def _convert(
        self,
        spec: SettingSpec,
        raw: object,
        where: str,
        path: tuple[str, ...],
        values: dict[str, Any],
    ) -> None:
        try:
            values[spec.key] = convert(spec, raw, from_text=False)
        except ValueInvalid:
            given = "the value given" if spec.is_secret or spec.limits.schemes else repr(raw)
            what = f"{'.'.join((*path, spec.key))} cannot be {given}"
            self._problem(where, what, f"accepted is {accepted(spec)}")

    def _at(self, *path: str) -> str:
        return f"{self._where}:{line_of(self._text, '.'.join(path)) or 1}"

    def _problem(self, where: str, what: str, mend: str) -> None:
        self._problems.append(Problem(where=where, what=what, mend=mend))


def _wires() -> str:
    return "set wire to one of " + ", ".join(wire.value for wire in FileWire)
