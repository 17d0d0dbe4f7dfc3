"""Answers to questions, from whichever control they come, and what late ones are told (pure)."""

from typing import Any

import msgspec

from adapters.delivery.reply_view import name_of_answerer
from engine.chat.actions import RequiredAction
from engine.chat.content import Author
from engine.chat.form import Form
from engine.chat.writes import ActionState

UNKNOWN = "I do not know this question any more."


def form_of(action: RequiredAction) -> Form | None:
    """The form that people are shown; None for a call that is answered by a program."""
    return None if action.form is None else msgspec.convert(action.form, Form)


def why_closed(action: RequiredAction) -> str:
    """What somebody who comes too late is told; empty while the question is open."""
    match action.state:
        case ActionState.OPEN:
            return ""
        case ActionState.ANSWERED:
            return f"{name_of_answerer(action)} answered this already."
        case ActionState.EXPIRED:
            return "Too late: this question had a deadline, and it has passed."
        case ActionState.CANCELLED:
            return "No answer is needed any more."


def is_own_repetition(action: RequiredAction, by: Author, result: Any) -> bool:
    """Whether the same person gave the same answer before: their click came twice."""
    answered_by = action.answered_by
    return (
        action.state is ActionState.ANSWERED
        and answered_by is not None
        and answered_by.identity == by.identity
        and bool(action.answer == result)
    )
