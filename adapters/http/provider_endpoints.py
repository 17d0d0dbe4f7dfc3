"""The endpoints on providers, models and keys, appended to the table of all endpoints."""

from typing import Final

from adapters.http import models, providers
from adapters.http.auth import TokenRole
from adapters.http.call import Endpoint

_PROVIDERS: Final = "/providers"
_PROVIDER: Final = "/providers/{provider}"
_MODELS: Final = "/models"

PROVIDER_ENDPOINTS: Final = (
    Endpoint(
        method="GET",
        path=_PROVIDERS,
        name="listProviders",
        summary="List providers with their models. Keys are never shown.",
        run=providers.list_,
        gives="Providers",
        role=TokenRole.ADMIN,
    ),
    Endpoint(
        method="POST",
        path=_PROVIDERS,
        name="createProvider",
        summary="Add a provider. Its key and headers are sealed and never shown again.",
        run=providers.create,
        takes="NewProvider",
        gives="Provider",
        successes=(201,),
        problems=(409, 422),
        role=TokenRole.ADMIN,
    ),
    Endpoint(
        method="PATCH",
        path=_PROVIDER,
        name="updateProvider",
        summary="Change what is given. Null takes a key or headers away.",
        run=providers.update,
        takes="ProviderChange",
        gives="Provider",
        problems=(409, 422),
        role=TokenRole.ADMIN,
    ),
    Endpoint(
        method="DELETE",
        path=_PROVIDER,
        name="deleteProvider",
        summary="Remove a provider with its models and everybody's keys for it.",
        run=providers.delete,
        successes=(204,),
        problems=(409,),
        role=TokenRole.ADMIN,
    ),
    Endpoint(
        method="PUT",
        path=f"{_PROVIDER}/keys/{{identity}}",
        name="setUserKey",
        summary="Keep somebody's own key for a provider, in place of the one before.",
        run=providers.set_user_key,
        takes="UserKey",
        successes=(204,),
        problems=(409, 422),
        role=TokenRole.ADMIN,
    ),
    Endpoint(
        method="DELETE",
        path=f"{_PROVIDER}/keys/{{identity}}",
        name="deleteUserKey",
        summary="Forget somebody's own key.",
        run=providers.delete_user_key,
        successes=(204,),
        role=TokenRole.ADMIN,
    ),
    Endpoint(
        method="GET",
        path=_MODELS,
        name="listModels",
        summary="See which models may be asked for, and whether they would answer this token.",
        run=models.list_,
        gives="ModelChoices",
    ),
    Endpoint(
        method="POST",
        path=_MODELS,
        name="createModel",
        summary="Add a model to a provider. The first one that is enabled becomes the default.",
        run=models.create,
        takes="NewModel",
        gives="Model",
        successes=(201,),
        problems=(409, 422),
        role=TokenRole.ADMIN,
    ),
    Endpoint(
        method="PATCH",
        path=f"{_MODELS}/{{model_id}}",
        name="updateModel",
        summary="Change what is given. Another default takes the place of the former one.",
        run=models.update,
        takes="ModelChange",
        gives="Model",
        problems=(409, 422),
        role=TokenRole.ADMIN,
    ),
    Endpoint(
        method="DELETE",
        path=f"{_MODELS}/{{model_id}}",
        name="deleteModel",
        summary="Remove a model. Where it was the default, another one becomes it.",
        run=models.delete,
        successes=(204,),
        problems=(409,),
        role=TokenRole.ADMIN,
    ),
)
