"""How a setting is declared: one line of a section says all that is known about it (pure).

A section is a frozen dataclass whose fields are made by `setting(...)`: default, one sentence of
documentation, range. From that one declaration follow the TOML key, the environment name, the
check of the value, the masked display and the reference table.
"""

import types
import typing
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields, is_dataclass
from typing import Final, TypeVar

from config.secret import Secret

ENV_PREFIX: Final = "THREADWRIGHT_"
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


def specs_of(section_class: type, section: str = "") -> tuple[SettingSpec, ...]:
    """Return the specs of a section and of the sections inside it, in declared order."""
    hints = typing.get_type_hints(section_class)
    found: list[SettingSpec] = []
    for each in _fields(section_class):
        hint = hints[each.name]
        if is_dataclass(hint) and isinstance(hint, type):
            found.extend(specs_of(hint, f"{section}.{each.name}" if section else each.name))
        else:
            found.append(_spec(each, hint, section))
    return tuple(found)


def build(
    section_class: type[SomeSection], values: Mapping[str, object], section: str = ""
) -> SomeSection:
    """Build a section, inner sections included, from values keyed by path; defaults fill gaps."""
    hints = typing.get_type_hints(section_class)
    arguments: dict[str, object] = {}
    for each in _fields(section_class):
        hint = hints[each.name]
        path = f"{section}.{each.name}" if section else each.name
        if is_dataclass(hint) and isinstance(hint, type):
            arguments[each.name] = build(hint, values, path)
        elif path in values:
            arguments[each.name] = values[path]
    return section_class(**arguments)


def value_at(section: object, path: str) -> object:
    """Return the value that stands at a path such as `worker.lease_seconds`."""
    value = section
    for name in path.split("."):
        value = getattr(value, name)
    return value


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
