"""Long forms in pages (pure): a modal has room for so many inputs, and for so many bytes.

The same form has the same pages wherever and whenever it is cut, so a page is known by its number.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from adapters.slack import limits
from adapters.slack.buttons import field_id
from adapters.slack.form_inputs import input_block
from engine.chat.form import Form

INPUTS_MAX = limits.VIEW_BLOCKS_MAX - 1
"""The question stands above them."""
PAGE_LOST = "An earlier page of the form is missing. Please open the form again."
INPUT_BYTES_MAX = 190_000
"""What the inputs of a page may take of the view's limit: a question may take 40,000, most of the rest is room."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormPage:
    """Some fields of a form, the first of which is the form's `offset`-th. `number` counts from 0."""

    form: Form
    number: int
    count: int
    offset: int

    @property
    def is_last(self) -> bool:
        """Whether sending this page sends the form."""
        return self.number == self.count - 1

    def inputs(self) -> list[dict[str, Any]]:
        """The blocks of its fields."""
        fields = enumerate(self.form.fields, start=self.offset)
        return [input_block(index, field) for index, field in fields]


def pages_of(form: Form) -> tuple[FormPage, ...]:
    """All fields in order, in as few pages as they fit in; at least one."""
    starts, size, inputs = [0], 0, 0
    for index, field in enumerate(form.fields):
        taken = len(json.dumps(input_block(index, field)))
        if inputs and (inputs == INPUTS_MAX or size + taken > INPUT_BYTES_MAX):
            starts.append(index)
            size = inputs = 0
        size, inputs = size + taken, inputs + 1
    ends = [*starts[1:], len(form.fields)]
    return tuple(
        FormPage(
            form=replace(form, fields=form.fields[start:end]),
            number=number,
            count=len(starts),
            offset=start,
        )
        for number, (start, end) in enumerate(zip(starts, ends, strict=True))
    )


def errors_of(page: FormPage, problems: Mapping[str, str]) -> dict[str, str]:
    """Problems by field name as Slack wants them: by block id."""
    return {
        field_id(index): problems[field.name]
        for index, field in enumerate(page.form.fields, start=page.offset)
        if field.name in problems
    }


def page_of(form: Form, number: int) -> FormPage | None:
    """The page with this number; None where the form has none."""
    pages = pages_of(form)
    return pages[number] if 0 <= number < len(pages) else None


def completed(
    form: Form, last: FormPage, draft: Mapping[str, Any], result: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, str]]:
    """The whole answer, from the pages before and the last one, and what is missing in it after all."""
    own = {field.name for field in last.form.fields}
    kept = {name: value for name, value in draft.items() if name not in own and value is not None}
    given = kept | dict(result)
    missing = {
        field.name: PAGE_LOST for field in form.fields if field.required and field.name not in given
    }
    return {field.name: given[field.name] for field in form.fields if field.name in given}, missing
