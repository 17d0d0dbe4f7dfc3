"""Who may answer a question: how the rule is written, whom it lets, and how it is put in words."""

from dataclasses import replace
from typing import Any

import pytest

from engine.chat import commands as c
from engine.chat.answerers import (
    ENTRIES_MAX,
    Answerers,
    Barred,
    barred_calls,
    may_answer,
    parse_answerers,
    refusal_words,
    who_may,
)
from engine.chat.content import Author, ToolResultPart
from engine.chat.decide import decide
from engine.chat.decision import Decision, Refusal, RefusalReason
from engine.chat.ids import ActionId, ToolCallId
from tests.unit.engine.chat.chats import APPROVE, NOTIFY
from tests.unit.engine.chat.steps import ADA, BO, NOW
from tests.unit.engine.chat.stories import Story

CALL = ToolCallId("call_1")
CREW = "group:crew"
PILOTS = "usergroup:slack:T1:S1"


@pytest.mark.parametrize(
    ("raw", "rule"),
    [
        ("anyone", None),
        (["anyone"], None),
        ("asker", Answerers(asker=True)),
        (["slack:T1:U1", "asker", "slack:T1:U1"], Answerers(asker=True, people=("slack:T1:U1",))),
        ([CREW, "console:ops", PILOTS], Answerers(people=("console:ops",), groups=(CREW, PILOTS))),
        ("api:token:7", Answerers(people=("api:token:7",))),
    ],
)
def test_a_rule_names_the_asker_people_and_groups(raw: Any, rule: Answerers | None) -> None:
    """D8"""
    assert parse_answerers(raw) == rule


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        ([], '"anyone", "asker", or a list'),
        ({"asker": True}, '"anyone", "asker", or a list'),
        (7, '"anyone", "asker", or a list'),
        (["anyone", "asker"], "stands alone"),
        ("everybody", "must be an identity"),
        ("U1", "must be an identity"),
        ([7], "is no text"),
        ("group: ", "must name a group"),
        ("usergroup:S1", "usergroup:slack:T012:S345"),
        (["asker"] * (ENTRIES_MAX + 1), "put people into a group"),
    ],
)
def test_a_rule_for_nobody_is_a_mistake_that_says_how_to_mend_it(raw: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parse_answerers(raw)


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (["anyone", "asker"], '"anyone" stands alone'),
        ("group: ", "'group: ' must name a group: group:NAME"),
        (
            "usergroup:S1",
            "'usergroup:S1' must be usergroup:platform:installation:id, such as "
            "usergroup:slack:T012:S345",
        ),
    ],
)
def test_a_mistake_quotes_what_was_written(raw: Any, says: str) -> None:
    with pytest.raises(ValueError, match=r"\w") as mistake:
        parse_answerers(raw)
    assert str(mistake.value) == says


def test_a_rule_may_have_as_many_entries_as_is_said() -> None:
    assert parse_answerers(["asker"] * ENTRIES_MAX) == Answerers(asker=True)


@pytest.mark.parametrize(
    ("rule", "by", "groups", "may"),
    [
        (None, BO, (), True),
        (None, None, (), True),
        (Answerers(asker=True), ADA, (), True),
        (Answerers(asker=True), BO, (), False),
        (Answerers(asker=True), None, (), False),
        (Answerers(people=(BO.identity,)), BO, (), True),
        (Answerers(people=(BO.identity,)), ADA, (), False),
        (Answerers(groups=(CREW, PILOTS)), BO, (PILOTS,), True),
        (Answerers(groups=(CREW,)), BO, (PILOTS,), False),
        (Answerers(asker=True, groups=(CREW,)), BO, (CREW,), True),
        (Answerers(), ADA, (CREW,), False),
    ],
)
def test_whoever_any_part_of_the_rule_names_may_answer(
    rule: Answerers | None, by: Author | None, groups: tuple[str, ...], *, may: bool
) -> None:
    """D8"""
    assert may_answer(rule, asker=ADA, by=by, groups=groups) is may


def test_nobody_passes_for_an_asker_who_is_not_known() -> None:
    """D8"""
    assert not may_answer(Answerers(asker=True), asker=None, by=ADA)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (Answerers(asker=True), "Ada"),
        (Answerers(asker=True, people=("slack:T1:U2",)), "Ada or Bo"),
        (Answerers(people=("slack:T1:U2", "slack:T1:U3")), "Bo or slack:T1:U3"),
        (
            Answerers(asker=True, people=("slack:T1:U2",), groups=(CREW,)),
            "Ada, Bo or members of crew",
        ),
        (Answerers(groups=(PILOTS,)), "members of the user group S1"),
    ],
)
def test_who_may_is_said_in_names(rule: Answerers, words: str) -> None:
    assert who_may(rule, asker=ADA, names={"slack:T1:U2": "Bo"}) == words
    assert refusal_words(words) == f"Only {words} may answer this."


def test_a_group_and_an_asker_without_names_are_described() -> None:
    rule = Answerers(asker=True, groups=(PILOTS,))
    assert who_may(rule, asker=None, names={PILOTS: "@pilots"}) == "whoever asked or @pilots"


def test_calls_are_barred_one_by_one() -> None:
    """D8"""
    asked = [(CALL, Answerers(asker=True), ADA), (ToolCallId("call_2"), Answerers(asker=True), BO)]
    assert barred_calls(asked, by=BO, groups=()) == (Barred(tool_call_id=CALL, who_may="Ada"),)
    assert barred_calls([(CALL, Answerers(groups=(CREW,)), ADA)], by=BO, groups=(CREW,)) == ()


@pytest.mark.parametrize("is_submission", [False, True])
def test_whoever_may_not_answer_is_told_who_may_and_changes_nothing(*, is_submission: bool) -> None:
    """D8: the rule holds in the machine itself, whichever way an answer comes."""
    story = Story("hello")
    story.ask(APPROVE)
    barred = (Barred(tool_call_id=APPROVE.tool_call_id, who_may="Ada"),)
    part = ToolResultPart(tool_call_id=APPROVE.tool_call_id, tool_name="", result="yes")
    command: c.Command = (
        c.SubmitToolResults(results=(part,), by=BO)
        if is_submission
        else c.AnswerAction(action_id=ActionId(1), result="yes", by=BO)
    )
    asked = replace(story.chat.snapshot(), action_target=APPROVE.tool_call_id)
    refused = decide(replace(asked, barred=barred), command, NOW)
    assert isinstance(refused, Refusal)
    assert (refused.reason, refused.detail) == (
        RefusalReason.MAY_NOT_ANSWER,
        "Only Ada may answer this.",
    )
    elsewhere = (Barred(tool_call_id=NOTIFY.tool_call_id, who_may="Ada"),)
    assert isinstance(decide(replace(asked, barred=elsewhere), command, NOW), Decision)
