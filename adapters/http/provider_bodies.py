"""From requests on providers and models to the fields of the catalogue, and from its rejections to
problems (pure). The catalogue checks the values; here only the shape of the request is."""

from collections.abc import Mapping
from typing import Any, Final

from adapters.http.errors import Problem, ProblemCode, Validation, not_found
from adapters.http.fields import Mistakes, ObjectReader
from engine.api import MODEL_FIELDS, PROVIDER_FIELDS, Rejection, RejectionReason

Fields = Mapping[str, Any]
NAME_MAX: Final = 200


def provider_fields(body: Any) -> Fields:
    """What is to be set of a provider."""
    return _fields(body, (*PROVIDER_FIELDS, "api_key", "headers"))


def model_fields(body: Any) -> Fields:
    """What is to be set of a model."""
    return _fields(body, MODEL_FIELDS)


def new_model(body: Any) -> tuple[str, Fields]:
    """The provider of a new model, and the model."""
    fields = dict(_fields(body, ("provider", *MODEL_FIELDS)))
    provider = fields.pop("provider", None)
    return provider if isinstance(provider, str) else "", fields


def user_key(body: Any) -> str:
    """Somebody's own key."""
    key = _fields(body, ("api_key",)).get("api_key")
    return key if isinstance(key, str) else ""


def problem_of_rejection(rejection: Rejection, what: str) -> Problem:
    """The problem that tells a client why nothing was changed. `what` was not found, if so."""
    match rejection.reason:
        case RejectionReason.NOT_FOUND:
            return not_found(what)
        case RejectionReason.INVALID:
            return Problem(
                ProblemCode.INVALID_FIELDS,
                "The request has invalid fields.",
                validations=[
                    Validation(field=flaw.field, detail=flaw.detail) for flaw in rejection.flaws
                ],
            )
        case RejectionReason.CONFLICT:
            return Problem(ProblemCode.CONFLICT, _sentence(rejection))
        case RejectionReason.SECRET_KEY_MISSING:
            return Problem(ProblemCode.SECRET_KEY_MISSING, _sentence(rejection))


def _fields(body: Any, known: tuple[str, ...]) -> Fields:
    mistakes = Mistakes()
    reader = ObjectReader(body, mistakes, known=known)
    fields = {name: reader.value(name) for name in known if name in reader}
    mistakes.raise_if_any()
    return fields


def _sentence(rejection: Rejection) -> str:
    return f"{rejection.sentence[:1].upper()}{rejection.sentence[1:]}."
