"""What of a tool's schema is cleaned, and what of a file's bytes shows its type."""

from typing import Any

import pytest

from engine.models.attachments import FileKind, GivenFile, GivenText
from engine.models.tool_schema import object_schema, root_schema
from engine.models.true_files import true_file


@pytest.mark.parametrize(
    ("schema", "cleaned"),
    [
        ({"items": [{"type": "array"}, True]}, {"items": [{"type": "array", "items": {}}, True]}),
        ({"items": True, "not": {"title": None}}, {"items": True, "not": {}}),
        ({"additionalProperties": False}, {"additionalProperties": False}),
        ({"anyOf": [None, {"type": ["array", "null"]}]},
         {"anyOf": [{"type": ["array", "null"], "items": {}}]}),
        ({"default": None, "required": [], "title": None}, {"default": None}),
        ({"required": ["a"]}, {"required": ["a"]}),
        ({"properties": {"a": {"const": None}, "b": None, "c": True}},
         {"properties": {"a": {"const": None}, "c": True}}),
    ],
)  # fmt: skip
def test_only_what_providers_refuse_is_taken_out(
    schema: dict[str, Any], cleaned: dict[str, Any]
) -> None:
    assert object_schema(schema) == {"properties": {}, **cleaned, "type": "object"}


@pytest.mark.parametrize("reference", [7, None, "#", "#/$defs/gone", "other.json#/$defs/a", ""])
def test_a_reference_to_nowhere_is_an_object_of_anything(reference: Any) -> None:
    assert root_schema({"$ref": reference}) == {"properties": {}, "type": "object"}


def image(data: bytes, media_type: str = "image/png") -> GivenFile:
    return GivenFile(kind=FileKind.IMAGE, name="a", media_type=media_type, data=data)


WEBP = b"RIFF\x01\x02\x03\x04WEBPmore"


def test_an_image_goes_under_the_type_of_its_bytes() -> None:
    assert true_file(image(WEBP), image_bytes_max=99) == image(WEBP, "image/webp")


@pytest.mark.parametrize(
    "data", [b"RIFX" + WEBP[4:], WEBP[:8] + b"WAVEmore", b"xRIFF" + WEBP[4:], b"WEBP", b""]
)
def test_bytes_of_no_image_are_named(data: bytes) -> None:
    assert true_file(image(data), image_bytes_max=99) == GivenText(
        text="[file: a (image/png); cannot be read]"
    )


def test_an_image_may_be_as_large_as_is_said() -> None:
    assert true_file(image(WEBP), image_bytes_max=len(WEBP)) == image(WEBP, "image/webp")
    assert true_file(image(WEBP), image_bytes_max=len(WEBP) - 1) == GivenText(
        text="[file: a (image/png); too large for this model]"
    )
