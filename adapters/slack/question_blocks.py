"""Questions as messages show them (pure): what is asked, by which controls, and what became of it."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from adapters.contract import Question
from adapters.slack import limits
from adapters.slack.buttons import ANSWER_PREFIX, CHOOSE_PREFIX, OPEN_PREFIX, answer_value
from adapters.slack.markup import render_mrkdwn
from adapters.slack.option_menus import menu
from adapters.slack.plain_labels import distinct_labels, is_cut, label_of, plain_text
from engine.chat.answerers import refusal_words, who_may
from engine.chat.form import Form, FormKind, Option
from engine.chat.writes import ActionState

OUTCOME_MAX = 600
"""Characters of what became of a question; with the question they stay editable."""
LONG_OPTION_MAX = 500
"""Characters of an option that is too long for its button and so is told above it."""
WHO_MAX = 600
"""Characters of who may answer."""
NAMED_MAX = 20
"""Users that are called by their names in one outcome."""
_USER = re.compile(r"[UW][A-Z0-9]+")
Block = dict[str, Any]
Names = Mapping[str, str]
NO_NAMES: Names = MappingProxyType({})

QUESTION_MARK = "❓ "
_OUTCOME_MARKS = {
    ActionState.ANSWERED: "✅ ",
    ActionState.EXPIRED: "⌛ ",
    ActionState.CANCELLED: "✖️ ",
}


def question_blocks(question: Question, names: Names = NO_NAMES) -> list[Block]:
    """The question with its controls while it is open, with its outcome afterwards.

    `names`: what people and groups are called who may answer it, or who were named in the answer.
    """
    asked = section(QUESTION_MARK + question_text(question.form))
    if question.state is ActionState.OPEN:
        controls = [*_long_options(question.form), _controls(question)]
        return [asked, *_whom(question, names), *controls]
    mark = _OUTCOME_MARKS.get(question.state, "")
    return [asked, _context(mark + _outcome(question, names))]


def question_fallback(question: Question, names: Names = NO_NAMES) -> str:
    """What notifications, search and screen readers get."""
    asked = QUESTION_MARK + question_text(question.form)
    return f"{asked}\n{_outcome(question, names)}" if question.outcome else asked


def named_users(question: Question) -> list[str]:
    """The users in what was answered whose names are worth asking for; programs may write anything."""
    return [user for user in question.named if _USER.fullmatch(user)][:NAMED_MAX]


def question_text(form: Form) -> str:
    """What is asked, in mrkdwn that fits a section."""
    text = render_mrkdwn(form.question) or "What do you say?"
    longest = limits.SECTION_TEXT_MAX - len(QUESTION_MARK)
    # Cut text is shown as it is, since a cut may leave markup or an entity open.
    return text if len(text) <= longest else label_of(form.question, longest)


def section(text: str) -> Block:
    """A section of mrkdwn in which no name becomes a mention."""
    return {"type": "section", "text": {"type": "mrkdwn", "text": text, "verbatim": True}}


def button(action_id: str, label: str, value: str) -> Block:
    """A button; the label is one of `plain_labels`."""
    return {"type": "button", "action_id": action_id, "text": plain_text(label), "value": value}


def _outcome(question: Question, names: Names) -> str:
    outcome = question.outcome
    if users := named_users(question):
        ids = "|".join(users)
        outcome = re.sub(rf"\b(?:{ids})\b", lambda found: names.get(found[0], found[0]), outcome)
    return label_of(outcome, OUTCOME_MAX)


def _whom(question: Question, names: Names) -> list[Block]:
    """Who may answer, where not everybody may."""
    if question.answerers is None:
        return []
    who = who_may(question.answerers, asker=question.asker, names=names)
    return [_context(label_of(refusal_words(who), WHO_MAX))]


def _context(text: str) -> Block:
    element = {"type": "mrkdwn", "text": text, "verbatim": True}
    return {"type": "context", "elements": [element]}


def _long_options(form: Form) -> list[Block]:
    """Options that their buttons cannot hold, in full."""
    if form.kind is not FormKind.BUTTONS:
        return []
    cut = [each.label for each in form.options if is_cut(each.label, limits.BUTTON_TEXT_MAX)]
    lines = [f"• {label_of(label, LONG_OPTION_MAX)}" for label in cut]
    return [section("\n".join(lines))] if lines else []


def _button_labels(options: tuple[Option, ...]) -> list[str]:
    return distinct_labels([option.label for option in options], limits.BUTTON_TEXT_MAX)


def _controls(question: Question) -> Block:
    action_id, form = question.action_id, question.form
    match form.kind:
        case FormKind.BUTTONS:
            elements = [
                button(f"{ANSWER_PREFIX}{action_id}:{index}", label, answer_value(action_id, index))
                for index, label in enumerate(_button_labels(form.options))
            ]
        case FormKind.SELECT:
            chooser = menu(form.options, lambda index: answer_value(action_id, index))
            elements = [{"action_id": f"{CHOOSE_PREFIX}{action_id}"} | chooser]
        case FormKind.MODAL:
            opener = button(f"{OPEN_PREFIX}{action_id}", "Answer…", str(action_id))
            elements = [opener | {"style": "primary"}]
    return {"type": "actions", "block_id": f"tw:controls:{action_id}", "elements": elements}
