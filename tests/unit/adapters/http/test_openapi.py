import json
import re
from typing import Any

from adapters.http.endpoints import ENDPOINTS
from adapters.http.errors import STATUS_OF_CODE, ProblemCode
from adapters.http.openapi import document
from adapters.http.schemas import SCHEMAS


def test_names_of_operations_are_unique() -> None:
    names = [endpoint.name for endpoint in ENDPOINTS]
    assert len(set(names)) == len(names)


def test_every_schema_that_is_named_is_there_and_is_used() -> None:
    text = json.dumps(document(ENDPOINTS))
    used = set(re.findall(r"#/components/schemas/(\w+)", text))
    assert used == set(SCHEMAS)


def test_every_code_has_a_status() -> None:
    assert set(STATUS_OF_CODE) == set(ProblemCode)


def test_every_operation_says_how_it_can_fail() -> None:
    operations: list[dict[str, Any]] = [
        operation for item in document(ENDPOINTS)["paths"].values() for operation in item.values()
    ]
    for operation in operations:
        assert {"400", "401", "503"} <= set(operation["responses"]), operation["operationId"]
