"""What a request can end in other than success, as the client is told it.

Problem    one class, told apart by code and status

Every error answer of the API has this shape: `{code, message, detail?, validations?}`, and for some
codes further fields. Codes are stable: clients match on them. Messages are for people and may change.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum

from msgspec import Struct


class ProblemCode(StrEnum):
    """Why a request was not carried out, beside the reasons for which a chat refuses a command."""

    MALFORMED_JSON = "malformed_json"
    UNKNOWN_FIELDS = "unknown_fields"
    INVALID_FIELDS = "invalid_fields"
    IDEMPOTENCY_KEY_REUSED = "idempotency_key_reused"
    UNAUTHORIZED = "unauthorized"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not_found"
    CONFLICT = "conflict"
    SECRET_KEY_MISSING = "secret_key_missing"  # noqa: S105 - a code, not a secret
    METHOD_NOT_ALLOWED = "method_not_allowed"
    BODY_TIMEOUT = "body_timeout"
    BODY_TOO_LARGE = "body_too_large"
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type"
    STORAGE_FULL = "storage_full"
    UNAVAILABLE = "unavailable"
    INTERNAL = "internal"


STATUS_OF_CODE: Mapping[ProblemCode, int] = {
    ProblemCode.MALFORMED_JSON: 400,
    ProblemCode.UNKNOWN_FIELDS: 400,
    ProblemCode.INVALID_FIELDS: 422,
    ProblemCode.IDEMPOTENCY_KEY_REUSED: 422,
    ProblemCode.UNAUTHORIZED: 401,
    ProblemCode.FORBIDDEN: 403,
    ProblemCode.NOT_FOUND: 404,
    ProblemCode.CONFLICT: 409,
    ProblemCode.SECRET_KEY_MISSING: 409,
    ProblemCode.METHOD_NOT_ALLOWED: 405,
    ProblemCode.BODY_TIMEOUT: 408,
    ProblemCode.BODY_TOO_LARGE: 413,
    ProblemCode.UNSUPPORTED_MEDIA_TYPE: 415,
    ProblemCode.STORAGE_FULL: 507,
    ProblemCode.UNAVAILABLE: 503,
    ProblemCode.INTERNAL: 500,
}


class Validation(Struct, frozen=True, kw_only=True):
    """One thing that is wrong with a request: where, and how to mend it."""

    field: str
    detail: str


class Problem(Exception):
    """The request was not carried out. `headers` belong to the answer, `facts` into its body."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: int | None = None,
        detail: str | None = None,
        validations: Iterable[Validation] = (),
        facts: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.status = STATUS_OF_CODE[ProblemCode(code)] if status is None else status
        self.message = message
        self.detail = detail
        self.validations = tuple(validations)
        self.facts = dict(facts or {})
        self.headers = dict(headers or {})


def not_found(what: str) -> Problem:
    """There is no such thing, or the path does not name one."""
    return Problem(ProblemCode.NOT_FOUND, f"There is no such {what}.")


def key_reused() -> Problem:
    """The idempotency key stands for another request, so this one was not carried out."""
    return Problem(
        ProblemCode.IDEMPOTENCY_KEY_REUSED,
        "The idempotency key was used for another body; nothing was done.",
        detail="Send a new Idempotency-Key with every new request, and the same one only to repeat it.",
    )


def filter_too_slow() -> Problem:
    """The filter fits too much to be looked through in the time that anybody would wait."""
    sentence = "The search took too long and was ended; nothing is wrong with the chats."
    mend = "add what narrows it down, such as another word, label:key:value, bot: or channel:"
    return Problem(
        ProblemCode.INVALID_FIELDS, sentence, validations=[Validation(field="q", detail=mend)]
    )
