"""Whose key a model is asked with, or why it is not asked at all (pure).

| provider | own keys allowed | own key | central key usable | fallback | outcome |
|---|---|---|---|---|---|
| disabled | any | any | any | any | provider_disabled |
| enabled | yes | yes | any | any | the person's |
| enabled | no | - | yes | - | the central one |
| enabled | yes | no | yes | yes | the central one |
| enabled | yes | no | yes | no | user_api_key_required |
| enabled | yes | no | no | any | user_api_key_required |
| enabled | no | - | no | - | missing_api_key |

The central key is usable when its use is switched on and there is one, or the provider needs none.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias, assert_never

from engine.chat.errors import ChatError, ErrorKind
from engine.models.errors import kind_text


class UnavailableReason(StrEnum):
    """Why a provider is not asked."""

    USER_API_KEY_REQUIRED = "user_api_key_required"
    MISSING_API_KEY = "missing_api_key"
    PROVIDER_DISABLED = "provider_disabled"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPolicy:
    """What a provider's administrator has decided of keys, and whether there is a central one."""

    is_enabled: bool = True
    central_key_enabled: bool = True
    user_key_allowed: bool = False
    central_key_fallback: bool = False
    has_central_key: bool = False
    needs_key: bool = True

    @property
    def is_central_key_usable(self) -> bool:
        """Whether people without a key of their own could be answered."""
        return self.central_key_enabled and (self.has_central_key or not self.needs_key)


@dataclass(frozen=True, slots=True)
class UserKey:
    """Ask with the person's own key."""


@dataclass(frozen=True, slots=True)
class CentralKey:
    """Ask with the provider's key, or with none where it needs none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unavailable:
    """Do not ask."""

    reason: UnavailableReason


KeyChoice: TypeAlias = UserKey | CentralKey | Unavailable


def choose_key(policy: KeyPolicy, *, has_user_key: bool) -> KeyChoice:
    """Whose key to ask with."""
    if not policy.is_enabled:
        return Unavailable(reason=UnavailableReason.PROVIDER_DISABLED)
    if policy.user_key_allowed:
        if has_user_key:
            return UserKey()
        if policy.is_central_key_usable and policy.central_key_fallback:
            return CentralKey()
        return Unavailable(reason=UnavailableReason.USER_API_KEY_REQUIRED)
    if policy.is_central_key_usable:
        return CentralKey()
    return Unavailable(reason=UnavailableReason.MISSING_API_KEY)


def error_of(reason: UnavailableReason, *, provider: str, detail: str | None = None) -> ChatError:
    """What the chat is told, since asking again is vain. `provider`: the name that people know it by."""
    match reason:
        case UnavailableReason.PROVIDER_DISABLED:
            kind = ErrorKind.PROVIDER_DISABLED
        case UnavailableReason.USER_API_KEY_REQUIRED:
            kind = ErrorKind.MISSING_KEY
            detail = detail or "It is asked with people's own keys, and there is none of yours."
        case UnavailableReason.MISSING_API_KEY:
            kind = ErrorKind.MISSING_KEY
        case _:
            assert_never(reason)
    message = kind_text(kind, provider=provider)
    return ChatError(kind=kind, message=message, detail=detail, provider=provider)
