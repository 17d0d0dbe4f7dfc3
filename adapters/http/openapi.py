"""The OpenAPI 3.1 document of the API, drawn from the table of endpoints (pure)."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from adapters.http.auth import TokenRole
from adapters.http.call import Endpoint, Parameter
from adapters.http.provider_schemas import PROVIDER_PATH_PARAMETERS
from adapters.http.schemas import SCHEMAS
from adapters.http.spending_schemas import SPENDING_PATH_PARAMETERS

Json = dict[str, Any]
PREFIX: Final = "/api/v1"
_UUID: Final = {"type": "string", "format": "uuid"}
_PATH_PARAMETERS: Final[Mapping[str, Json]] = {
    "chat_id": _UUID,
    "file_id": _UUID,
    **SPENDING_PATH_PARAMETERS,
    **PROVIDER_PATH_PARAMETERS,
}
_NUMBER: Final = {"type": "integer", "minimum": 0}
_MEANINGS: Final = {
    400: "Malformed JSON, or fields that are not known.",
    401: "No valid token.",
    403: "The token may not do this.",
    404: "There is no such thing.",
    408: "The body did not arrive in time.",
    409: "It does not go with things as they are.",
    413: "The body is too large.",
    415: "The body is not of a kind that is taken.",
    422: "Invalid fields; each is named.",
    429: "Too many messages wait already.",
    503: "The database is out of reach; nothing was half done.",
    507: "There is no room for more files.",
}
_ALWAYS: Final = (400, 401, 503)
_WITH_BODY: Final = (408, 413, 415)
_BYTES: Final = {"*/*": {"schema": {"description": "Bytes, as they are."}}}


def document(endpoints: Iterable[Endpoint]) -> Json:
    """The whole document."""
    paths: dict[str, Json] = {}
    for endpoint in endpoints:
        item = paths.setdefault(PREFIX + endpoint.path, {})
        item[endpoint.method.lower()] = _operation(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Threadwright",
            "version": "1",
            "description": "Chats with agents: durable, live, and answered by people where people "
            "must decide.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": dict(SCHEMAS),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def path_parameters(path: str) -> list[str]:
    """The names in a path, in order."""
    return re.findall(r"{(\w+)}", path)


def _operation(endpoint: Endpoint) -> Json:
    operation: Json = {
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        "tags": [endpoint.path.split("/")[1]],
        "responses": _responses(endpoint),
    }
    if endpoint.detail:
        operation["description"] = endpoint.detail
    parameters = [_path_parameter(name) for name in path_parameters(endpoint.path)]
    parameters += [_parameter(parameter) for parameter in endpoint.parameters]
    if parameters:
        operation["parameters"] = parameters
    if endpoint.takes is not None:
        content = {"application/json": {"schema": _ref(endpoint.takes)}}
        operation["requestBody"] = {"required": True, "content": content}
    elif endpoint.takes_file:
        operation["requestBody"] = {"required": True, "content": _BYTES}
    return operation


def _responses(endpoint: Endpoint) -> Json:
    kind = "text/event-stream" if endpoint.is_stream else "application/json"
    responses: Json = {}
    for status in endpoint.successes:
        response: Json = {"description": endpoint.summary}
        if endpoint.gives is not None:
            response["content"] = {kind: {"schema": _ref(endpoint.gives)}}
            for other in endpoint.other_kinds:
                response["content"][other] = {"schema": {"type": "string"}}
        if endpoint.gives_file:
            response["content"] = _BYTES
        responses[str(status)] = response
    for status in _problems(endpoint):
        content = {"application/json": {"schema": _ref("Problem")}}
        responses[str(status)] = {"description": _MEANINGS[status], "content": content}
    return responses


def _problems(endpoint: Endpoint) -> list[int]:
    statuses = {*_ALWAYS, *endpoint.problems}
    if "{" in endpoint.path:
        statuses.add(404)
    if endpoint.takes is not None or endpoint.takes_file:
        statuses.update(_WITH_BODY)
    if endpoint.role is TokenRole.ADMIN:
        statuses.add(403)
    return sorted(statuses)


def _path_parameter(name: str) -> Json:
    schema = _PATH_PARAMETERS.get(name, _NUMBER)
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _parameter(parameter: Parameter) -> Json:
    schema: Any = parameter.schema
    if parameter.repeated:
        schema = {"type": "array", "items": schema}
    return {
        "name": parameter.name,
        "in": parameter.place,
        "description": parameter.meaning,
        "schema": schema,
    }


def _ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}
