"""How a setting is declared: one line of a section says all that is known about it (pure).

A section is a frozen dataclass whose fields are made by `setting(...)`: default, one sentence of
documentation, range. From that one declaration follow the TOML key, the environment name, the
check of the value, the masked display and the reference table.
"""

import types
import typing
from collections.abc import Collection, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields, is_dataclass, replace
from types import MappingProxyType
from typing import Final, TypeVar

from config.secret import Secret

ENV_PREFIX: Final = "THREADWRIGHT_"
Tables = Mapping[str, Collection[str]]
"""The names of named tables, by the path that they stand under."""
NO_TABLES: Final[Tables] = MappingProxyType({})
SomeSection = TypeVar("SomeSection")
SomeValue = TypeVar("SomeValue")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a value must satisfy beyond its type."""

    at_least: float | None = None
    at_most: float | None = None
    schemes: tuple[str, ...] = ()


def setting(
    default: SomeValue,
    doc: str,
    *,
    aliases: tuple[str, ...] = (),
    at_least: float | None = None,
    at_most: float | None = None,
    schemes: tuple[str, ...] = (),
) -> SomeValue:
    """Declare one setting of a section dataclass; what is returned is the dataclass field.

    `aliases` are further environment names, the ones its ecosystem uses; the systematic
    `THREADWRIGHT_<SECTION>_<KEY>` wins over them. `schemes` makes the value an address.
    """
    limits = Limits(at_least=at_least, at_most=at_most, schemes=schemes)
    metadata = {"doc": doc, "aliases": aliases, "limits": limits}
    return field(default=default, metadata=metadata)


def tables(item: type[SomeSection], doc: str) -> Mapping[str, SomeSection]:
    """Declare any number of sections of one kind under one path, each with a name of its own.

    Their settings have no aliases: those are for the one section that needs no name.
    """
    found: Mapping[str, SomeSection] = field(
        default_factory=lambda: MappingProxyType({}), metadata={"doc": doc, "item": item}
    )
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingSpec:
    """All that is known about one setting."""

    section: str
    key: str
    kind: type
    item: type | None
    optional: bool
    default: object
    doc: str
    aliases: tuple[str, ...]
    limits: Limits

    @property
    def path(self) -> str:
        """The TOML key with its section, such as `worker.lease_seconds`."""
        return f"{self.section}.{self.key}" if self.section else self.key

    @property
    def env_name(self) -> str:
        """The systematic environment name, such as `THREADWRIGHT_WORKER_LEASE_SECONDS`."""
        return ENV_PREFIX + self.path.replace(".", "_").upper()

    @property
    def env_names(self) -> tuple[str, ...]:
        """Every environment name, the strongest first."""
        return (self.env_name, *self.aliases)

    @property
    def is_secret(self) -> bool:
        """Whether the value may also come from a file named by `<NAME>_FILE`."""
        return issubclass(self.kind, Secret)


def specs_of(
    section_class: type, section: str = "", *, named: Tables = NO_TABLES
) -> tuple[SettingSpec, ...]:
    """Return the specs of a section and of the sections inside it, in declared order.

    `named`: the named tables that there are.
    """
    hints = typing.get_type_hints(section_class)
    found: list[SettingSpec] = []
    for each in _fields(section_class):
        hint, path = hints[each.name], _path(section, each.name)
        if item := each.metadata.get("item"):
            for name in named.get(path, ()):
                table = specs_of(item, f"{path}.{name}")
                found.extend(replace(spec, aliases=()) for spec in table)
        elif is_dataclass(hint) and isinstance(hint, type):
            found.extend(specs_of(hint, path, named=named))
        else:
            found.append(_spec(each, hint, section))
    return tuple(found)


def table_paths(section_class: type, section: str = "") -> Iterator[str]:
    """Yield the paths under which named tables stand."""
    hints = typing.get_type_hints(section_class)
    for each in _fields(section_class):
        hint, path = hints[each.name], _path(section, each.name)
        if "item" in each.metadata:
            yield path
        elif is_dataclass(hint) and isinstance(hint, type):
            yield from table_paths(hint, path)


def build(
    section_class: type[SomeSection],
    values: Mapping[str, object],
    section: str = "",
    *,
    named: Tables = NO_TABLES,
) -> SomeSection:
    """Build a section, inner sections included, from values keyed by path; defaults fill gaps."""
    hints = typing.get_type_hints(section_class)
    arguments: dict[str, object] = {}
    for each in _fields(section_class):
        hint, path = hints[each.name], _path(section, each.name)
        if item := each.metadata.get("item"):
            names = named.get(path, ())
            built = {name: build(item, values, f"{path}.{name}") for name in names}
            arguments[each.name] = MappingProxyType(built)
        elif is_dataclass(hint) and isinstance(hint, type):
            arguments[each.name] = build(hint, values, path, named=named)
        elif path in values:
            arguments[each.name] = values[path]
    return section_class(**arguments)


def value_at(section: object, path: str) -> object:
    """Return the value that stands at a path such as `worker.lease_seconds`."""
    value = section
    for name in path.split("."):
        value = value[name] if isinstance(value, Mapping) else getattr(value, name)
    return value


def _path(section: str, name: str) -> str:
    return f"{section}.{name}" if section else name


def _fields(section_class: type) -> tuple[Field[object], ...]:
    return fields(section_class)


def _spec(each: Field[object], hint: object, section: str) -> SettingSpec:
    kind, optional = _without_none(hint)
    item: type | None = None
    if typing.get_origin(kind) is tuple:
        item = typing.get_args(kind)[0]
        kind = tuple
    return SettingSpec(
        section=section,
        key=each.name,
        kind=typing.cast("type", kind),
        item=item,
        optional=optional,
        default=each.default,
        doc=each.metadata["doc"],
        aliases=each.metadata["aliases"],
        limits=each.metadata["limits"],
    )


def _without_none(hint: object) -> tuple[object, bool]:
    if not isinstance(hint, types.UnionType):
        return hint, False
    (kind,) = [arm for arm in typing.get_args(hint) if arm is not types.NoneType]
    return kind, True
