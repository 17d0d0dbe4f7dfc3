"""The form that people are shown for a tool call: what is asked, how, and with which options.

Neutral of platforms: adapters render it as buttons, a select menu or a modal, and bring answers back
as an option's index or as raw field values, see engine.chat.form_answers.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct

BUTTONS_MAX = 5
"""Options shown as a button each; more become a select menu. One row of buttons on every platform."""
QUESTION_MAX = 2000
"""Characters of a question. What follows is cut: a question is not a document."""


class FormKind(StrEnum):
    """How the question is put."""

    BUTTONS = "buttons"
    SELECT = "select"
    MODAL = "modal"


class FieldKind(StrEnum):
    """What a field of a modal takes. `lines`: a list of texts, one a line; `json`: any other value."""

    TEXT = "text"
    NUMBER = "number"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    DATE = "date"
    CHOICE = "choice"
    CHOICES = "choices"
    USER = "user"
    USERS = "users"
    LINES = "lines"
    JSON = "json"


class Option(Struct, frozen=True, kw_only=True):
    """One thing to choose: what is shown, and the JSON value that it stands for."""

    label: str
    value: Any


class Field(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One input of a modal.

    `minimum` and `maximum`: of a number. `fewest` and `most`: characters of a text, or how many are
    chosen, named or written where there may be several. `pattern`: what a text must match, as JSON
    schemas mean it. `multiline`: a text of several lines.
    """

    name: str
    label: str
    kind: FieldKind
    required: bool = False
    hint: str = ""
    options: tuple[Option, ...] = ()
    initial: Any = None
    minimum: float | None = None
    maximum: float | None = None
    fewest: int | None = None
    most: int | None = None
    pattern: str | None = None
    multiline: bool = False


class Form(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A question. `options` for buttons and select, each with the whole result as its value.

    There may be more options than a platform shows at a time; each of them can be chosen.
    """

    question: str
    kind: FormKind
    options: tuple[Option, ...] = ()
    fields: tuple[Field, ...] = ()


def question_of(tool_name: str, description: str, args: Mapping[str, Any]) -> str:
    """What is asked: in the words of the arguments, else as the tool is described."""
    for key in ("question", "prompt", "message", "title"):
        if isinstance(args.get(key), str) and args[key].strip():
            return str(args[key])[:QUESTION_MAX]
    return (description or tool_name)[:QUESTION_MAX]


def choice_form(question: str, options: tuple[Option, ...]) -> Form:
    """One of the options is the answer."""
    kind = FormKind.BUTTONS if len(options) <= BUTTONS_MAX else FormKind.SELECT
    return Form(question=question, kind=kind, options=options)
