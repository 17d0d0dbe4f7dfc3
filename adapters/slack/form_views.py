"""Modals that questions open, as payloads (pure). Nothing in them can ping anybody."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from adapters.slack import limits
from adapters.slack.buttons import FORM_CALLBACK, FormOrigin, metadata_of_form
from adapters.slack.form_pages import FormPage
from adapters.slack.markup_inline import escape
from adapters.slack.plain_labels import plain_object
from adapters.slack.question_blocks import question_text, section
from engine.chat.form import Form

View = dict[str, Any]


def form_view(page: FormPage, origin: FormOrigin) -> View:
    """The modal of one page of a form."""
    title = f"Your answer ({page.number + 1}/{page.count})" if page.count > 1 else "Your answer"
    return {
        "type": "modal",
        "callback_id": FORM_CALLBACK,
        "private_metadata": metadata_of_form(origin),
        "title": plain_object(title, limits.MODAL_TITLE_MAX),
        "submit": plain_object("Send" if page.is_last else "Next", limits.MODAL_TITLE_MAX),
        "close": plain_object("Cancel", limits.MODAL_TITLE_MAX),
        "blocks": [section(question_text(page.form)), *page.inputs()],
    }


def notice_view(text: str) -> View:
    """The modal that takes a form's place when there is nothing to answer any more."""
    return {
        "type": "modal",
        "title": plain_object("Your answer", limits.MODAL_TITLE_MAX),
        "close": plain_object("Close", limits.MODAL_TITLE_MAX),
        "blocks": [section(escape(text))],
    }


def begun(form: Form, answers: Mapping[str, Any]) -> Form:
    """The form as somebody has begun to fill it in: their answers in place of what was proposed."""
    fields = (
        replace(field, initial=answers[field.name]) if field.name in answers else field
        for field in form.fields
    )
    return replace(form, fields=tuple(fields))


def blank(page: FormPage) -> FormPage:
    """The page with nothing filled in, for when Slack does not take what was proposed."""
    form = replace(
        page.form, fields=tuple(replace(field, initial=None) for field in page.form.fields)
    )
    return FormPage(form=form, number=page.number, count=page.count, offset=page.offset)
