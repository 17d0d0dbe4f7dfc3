"""What is configured of providers and models: as it may be set, and as it is shown (pure).

Secrets are in none of these; they are shown as their presence and the id of the key that sealed them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any
from uuid import UUID


class Source(StrEnum):
    """Where an entry is administered: by the API and the command line, or in the providers file."""

    ADMIN = "admin"
    FILE = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderSpec:
    """A provider as it may be set. `options`: how it is asked, see catalog_checks.

    The policy: may the central key be used, may people bring their own, and does the central one
    stand in for those who have none.
    """

    name: str
    wire: str
    base_url: str
    display_name: str = ""
    enabled: bool = True
    central_key_enabled: bool = True
    user_key_allowed: bool = False
    central_key_fallback: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """A model as it may be set. Prices per million tokens; None: not priced."""

    name: str
    context_limit: int
    display_name: str = ""
    enabled: bool = True
    is_default: bool = False
    compaction_threshold: int = 70
    max_output_tokens: int | None = None
    temperature: float | None = None
    accepts: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    input_price: Decimal | None = None
    output_price: Decimal | None = None
    cache_read_price: Decimal | None = None
    cache_write_price: Decimal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderInfo:
    """A stored provider. `key_id`: of the key that sealed its own key, None where it has none."""

    id: UUID
    spec: ProviderSpec
    source: Source
    key_id: str | None
    headers_key_id: str | None
    created_at: datetime
    updated_at: datetime

    @property
    def has_key(self) -> bool:
        """Whether it has a central key."""
        return self.key_id is not None

    @property
    def has_headers(self) -> bool:
        """Whether it has further headers."""
        return self.headers_key_id is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    """A stored model of a stored provider."""

    id: UUID
    provider_id: UUID
    provider: str
    spec: ModelSpec
    source: Source
    created_at: datetime
    updated_at: datetime

    @property
    def reference(self) -> str:
        """By which it is asked for: `provider:model`."""
        return f"{self.provider}:{self.spec.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class UserKeyInfo:
    """That somebody has a key of their own for a provider, not the key."""

    provider: str
    identity: str
    key_id: str
    created_at: datetime


class RejectionReason(StrEnum):
    """Why a change of the configuration was not made."""

    INVALID = "invalid"
    CONFLICT = "conflict"
    NOT_FOUND = "not_found"
    SECRET_KEY_MISSING = "secret_key_missing"  # noqa: S105 - a reason, not a secret


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """One thing that is wrong with what was to be set: the field, and how to mend it."""

    field: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """A change that was not made; nothing was changed. `sentence` is for people."""

    reason: RejectionReason
    sentence: str
    flaws: tuple[Flaw, ...] = ()


def invalid(flaws: tuple[Flaw, ...]) -> Rejection:
    """What was to be set is wrong in these ways."""
    sentence = "; ".join(f"{flaw.field} {flaw.detail}" for flaw in flaws)
    return Rejection(reason=RejectionReason.INVALID, sentence=sentence, flaws=flaws)


def conflict(sentence: str) -> Rejection:
    """It does not go with what there is."""
    return Rejection(reason=RejectionReason.CONFLICT, sentence=sentence)


def not_found(what: str) -> Rejection:
    """There is no such thing."""
    return Rejection(reason=RejectionReason.NOT_FOUND, sentence=f"there is no {what}")


NO_SECRET_KEY = Rejection(
    reason=RejectionReason.SECRET_KEY_MISSING,
    sentence="no secret can be stored without a key to seal it with; "
    "set THREADWRIGHT_SECRET_KEY to the same long random text on every replica",
)
