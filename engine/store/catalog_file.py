"""Makes the catalogue what a providers file says: one transaction, and nothing where nothing differs.

What came from a file and has left it is removed. Entries that were made by the API or the command line are
left alone; where the file names one of them it is rejected as a whole.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from engine.store.catalog import Catalog
from engine.store.catalog_changes import Entries
from engine.store.catalog_entries import (
    NO_SECRET_KEY,
    ModelInfo,
    ProviderInfo,
    Rejection,
    Source,
    conflict,
)
from engine.store.errors import SecretKeyMissing


class Verb(StrEnum):
    """What becomes of an entry."""

    ADD = "add"
    CHANGE = "change"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEntry:
    """A provider of the file: its fields with its secrets, and the fields of its models."""

    fields: Mapping[str, Any]
    models: Sequence[Mapping[str, Any]] = ()

    @property
    def name(self) -> str:
        """What it is called."""
        return str(self.fields["name"])


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """One thing that is done, or would be. `reference`: a provider's name, or `provider:model`."""

    verb: Verb
    reference: str
    fields: tuple[str, ...] = ()


async def apply_file(
    catalog: Catalog, entries: Sequence[FileEntry], *, dry_run: bool = False
) -> tuple[FileChange, ...] | Rejection:
    """Make the catalogue like the file; what was changed. With `dry_run` nothing is."""
    try:
        async with catalog.entries() as store:
            outcome = await _Apply(catalog, store).run(entries)
            if dry_run or isinstance(outcome, Rejection) or not outcome:
                store.give_up()
    except SecretKeyMissing:
        return NO_SECRET_KEY
    return outcome


class _Apply:
    """One application of a file."""

    def __init__(self, catalog: Catalog, store: Entries) -> None:
        self._catalog = catalog
        self._store = store
        self._changes: list[FileChange] = []

    async def run(self, entries: Sequence[FileEntry]) -> tuple[FileChange, ...] | Rejection:
        """Do it all, or say why not."""
        await self._remove_what_left(entries)
        for entry in entries:
            if rejection := await self._apply(entry):
                return rejection
        return tuple(self._changes)

    async def _remove_what_left(self, entries: Sequence[FileEntry]) -> None:
        wanted = {entry.name: {model["name"] for model in entry.models} for entry in entries}
        for provider in await self._store.providers():
            if provider.source is Source.FILE and provider.spec.name not in wanted:
                await self._store.execute("catalog.delete_provider", provider.id)
                self._changes.append(FileChange(verb=Verb.REMOVE, reference=provider.spec.name))
        for model in await self._store.models():
            if model.source is Source.FILE and model.spec.name not in wanted.get(
                model.provider, set()
            ):
                await self._store.execute("catalog.delete_model", model.id)
                self._changes.append(FileChange(verb=Verb.REMOVE, reference=model.reference))

    async def _apply(self, entry: FileEntry) -> Rejection | None:
        found = await self._store.provider(entry.name)
        if found is not None and found.source is not Source.FILE:
            return conflict(
                f"the provider {entry.name} is in the database already, from the API or the command "
                "line; rename it in the file or remove it there"
            )
        provider = await self._provider(found, entry)
        if isinstance(provider, Rejection):
            return _of(entry.name, provider)
        known = {
            model.spec.name: model
            for model in await self._store.models()
            if model.provider_id == provider.id
        }
        for fields in entry.models:
            reference = f"{entry.name}:{fields['name']}"
            outcome = await self._model(provider, known.get(fields["name"]), fields, reference)
            if isinstance(outcome, Rejection):
                return _of(reference, outcome)
        return None

    async def _provider(
        self, found: ProviderInfo | None, entry: FileEntry
    ) -> ProviderInfo | Rejection:
        if found is None:
            self._changes.append(FileChange(verb=Verb.ADD, reference=entry.name))
            return await self._store.add_provider(entry.fields, Source.FILE)
        fields = await self._unlike_stored_secrets(found, entry.fields)
        changed = await self._store.change_provider(found, fields)
        if isinstance(changed, Rejection):
            return changed
        names = [name for name in ("api_key", "headers") if name in fields]
        names += _differences(found.spec, changed.spec)
        self._note_change(entry.name, names)
        return changed

    async def _unlike_stored_secrets(
        self, found: ProviderInfo, fields: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """The fields without those secrets that are stored already, by today's key or a former one."""
        secrets = await self._store.secrets(found.id)
        same = set()
        if secrets.fault is None:
            stored = secrets.api_key.reveal() if secrets.api_key else None
            wanted = fields.get("api_key")
            if stored == (wanted.strip() if wanted else None):
                same.add("api_key")
            if (secrets.headers or {}) == (fields.get("headers") or {}):
                same.add("headers")
        return {name: value for name, value in fields.items() if name not in same}

    async def _model(
        self,
        provider: ProviderInfo,
        found: ModelInfo | None,
        fields: Mapping[str, Any],
        reference: str,
    ) -> ModelInfo | Rejection:
        if found is None:
            self._changes.append(FileChange(verb=Verb.ADD, reference=reference))
            return await self._store.add_model(provider, fields, Source.FILE)
        if found.source is not Source.FILE:
            return conflict("is in the database already, from the API or the command line")
        changed = await self._store.reset_model(found, fields)
        if not isinstance(changed, Rejection):
            self._note_change(reference, _differences(found.spec, changed.spec))
        return changed

    def _note_change(self, reference: str, names: Sequence[str]) -> None:
        if names:
            change = FileChange(verb=Verb.CHANGE, reference=reference, fields=tuple(names))
            self._changes.append(change)


def _differences(before: Any, after: Any) -> list[str]:
    return [name for name in before.__slots__ if getattr(before, name) != getattr(after, name)]


def _of(reference: str, rejection: Rejection) -> Rejection:
    """The rejection, with what it is about."""
    return Rejection(
        reason=rejection.reason,
        sentence=f"{reference}: {rejection.sentence}",
        flaws=rejection.flaws,
    )
