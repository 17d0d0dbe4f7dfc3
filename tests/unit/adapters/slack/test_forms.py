"""Modals: every kind of field, what it begins with, pages, and what comes back. All within Slack's limits."""

import json
from typing import Any

import pytest

from adapters.slack.buttons import FormOrigin, origin_of_form, values_of_form
from adapters.slack.form_pages import INPUTS_MAX, completed, errors_of, page_of, pages_of
from adapters.slack.form_views import begun, blank, form_view, notice_view
from engine.chat.form import Field, FieldKind, Form, FormKind, Option
from engine.chat.form_answers import answer_of_fields
from engine.chat.ids import ActionId
from tests.fakes.slack_forms import fill_form
from tests.fakes.slack_limits import check_view, view_is_too_large
from tests.fakes.slack_limits_initial import check_initials
from tests.fakes.slack_text import pings_in, text_leaves

NASTY = "<!channel> <@U1> @here &lt;!everyone&gt; <!subteam^S1> *b* `c` " * 40
ORIGIN = FormOrigin(
    action_id=ActionId(7),
    channel="C1",
    thread="1700000000.000100",
    message_ts="1700000001.000200",
)
BOATS = (Option(label="Red", value=1), Option(label="Blue", value={"hue": "b"}))
PEOPLE = (Option(label="Ada", value="ada"), Option(label="Bo", value="bo"))
FIELDS = (
    Field(name="why", label="Why", kind=FieldKind.TEXT, required=True, hint="In a word"),
    Field(name="count", label="Count", kind=FieldKind.INTEGER, minimum=1, maximum=9, initial=3),
    Field(name="ratio", label="Ratio", kind=FieldKind.NUMBER, initial="x"),
    Field(name="now", label="Now", kind=FieldKind.BOOLEAN, initial=True),
    Field(name="day", label="Day", kind=FieldKind.DATE, initial="someday"),
    Field(name="who", label="Who", kind=FieldKind.USER),
    Field(name="boat", label="Boat", kind=FieldKind.CHOICE, options=BOATS, initial={"hue": "b"}),
    Field(name="crew", label="Crew", kind=FieldKind.CHOICES, options=PEOPLE, initial=["bo"]),
    Field(name="pilots", label="Pilots", kind=FieldKind.USERS, initial=["U1"]),
    Field(name="list", label="List", kind=FieldKind.LINES, initial=["a", "b"], multiline=True),
    Field(name="more", label="More", kind=FieldKind.JSON, initial={"a": 1}, multiline=True),
)


def form(*fields: Field, ask: str = "Which?") -> Form:
    return Form(question=ask, kind=FormKind.MODAL, fields=fields)


def view_of(asked: Form, number: int = 0) -> dict[str, Any]:
    """A page's modal, which Slack would take."""
    page = page_of(asked, number)
    assert page is not None
    view = form_view(page, ORIGIN)
    assert check_view(view) == []
    assert check_initials(view["blocks"], {"U1", "U2"}) == []
    assert not view_is_too_large(view)
    return view


def element(field: Field) -> dict[str, Any]:
    """The element that a field becomes."""
    found: dict[str, Any] = view_of(form(field))["blocks"][1]["element"]
    return found


def sent(view: dict[str, Any], entered: dict[str, object]) -> dict[str, Any]:
    """The submission of a modal."""
    return {"view": {**view, "state": {"values": fill_form(view["blocks"], entered)}}}


def test_a_form_takes_every_kind_of_field_there_and_back() -> None:
    """D8"""
    asked = form(*FIELDS, ask=NASTY)
    view = view_of(asked)
    entered: dict[str, object] = {
        "Why": "Because", "Ratio": "0.5", "Day": "2026-12-24", "Who": "U1", "Boat": "Red",
        "Pilots": ["U1", "U2"],
    }  # fmt: skip
    payload = sent(view, entered)
    assert origin_of_form(payload) == ORIGIN
    assert answer_of_fields(asked, values_of_form(payload, asked)) == (
        {
            "why": "Because",
            "count": 3,
            "ratio": 0.5,
            "now": True,
            "day": "2026-12-24",
            "who": "U1",
            "boat": 1,
            "crew": ["bo"],
            "pilots": ["U1", "U2"],
            "list": ["a", "b"],
            "more": {"a": 1},
        },
        {},
    )


@pytest.mark.parametrize(
    ("field", "begins"),
    [
        (Field(name="a", label="A", kind=FieldKind.TEXT, initial="so"), {"initial_value": "so"}),
        (Field(name="a", label="A", kind=FieldKind.TEXT, initial=""), {}),
        (Field(name="a", label="A", kind=FieldKind.TEXT, initial=7), {}),
        (Field(name="a", label="A", kind=FieldKind.TEXT, initial="x" * 3001), {}),
        (Field(name="a", label="A", kind=FieldKind.TEXT, initial="xy", most=1), {}),
        (Field(name="a", label="A", kind=FieldKind.TEXT, initial="x", fewest=2), {}),
        (Field(name="a", label="A", kind=FieldKind.TEXT, initial="x\ny"), {}),
        (Field(name="a", label="A", kind=FieldKind.TEXT, initial="x\ny", multiline=True),
         {"initial_value": "x\ny"}),
        (Field(name="a", label="A", kind=FieldKind.INTEGER, initial=3), {"initial_value": "3"}),
        (Field(name="a", label="A", kind=FieldKind.INTEGER, initial=3.0), {"initial_value": "3"}),
        (Field(name="a", label="A", kind=FieldKind.INTEGER, initial=3.5), {}),
        (Field(name="a", label="A", kind=FieldKind.INTEGER, initial=True), {}),
        (Field(name="a", label="A", kind=FieldKind.INTEGER, initial=9, maximum=8), {}),
        (Field(name="a", label="A", kind=FieldKind.INTEGER, initial=10**400), {}),
        (Field(name="a", label="A", kind=FieldKind.NUMBER, initial=1e-7),
         {"initial_value": "0.0000001"}),
        (Field(name="a", label="A", kind=FieldKind.NUMBER, initial=float("nan")), {}),
        (Field(name="a", label="A", kind=FieldKind.BOOLEAN, initial="yes"), {}),
        (Field(name="a", label="A", kind=FieldKind.DATE, initial="2026-12-24"),
         {"initial_date": "2026-12-24"}),
        (Field(name="a", label="A", kind=FieldKind.DATE, initial="2026-02-30"), {}),
        (Field(name="a", label="A", kind=FieldKind.DATE, initial=20261224), {}),
        (Field(name="a", label="A", kind=FieldKind.USER, initial="<@U1>"), {"initial_user": "U1"}),
        (Field(name="a", label="A", kind=FieldKind.USER, initial="slack:T1:U1"),
         {"initial_user": "U1"}),
        (Field(name="a", label="A", kind=FieldKind.USER, initial="Ada"), {}),
        (Field(name="a", label="A", kind=FieldKind.USERS, initial=["U1", "<@U2>", "U1"]),
         {"initial_users": ["U1", "U2"]}),
        (Field(name="a", label="A", kind=FieldKind.USERS, initial=["U1", "Ada"]), {}),
        (Field(name="a", label="A", kind=FieldKind.USERS, initial="U2"), {"initial_users": ["U2"]}),
        (Field(name="a", label="A", kind=FieldKind.USERS, initial=["U1", "U2"], most=1), {}),
        (Field(name="a", label="A", kind=FieldKind.CHOICE, options=BOATS, initial=True), {}),
        (Field(name="a", label="A", kind=FieldKind.CHOICE, options=BOATS, initial="gone"), {}),
        (Field(name="a", label="A", kind=FieldKind.CHOICES, options=PEOPLE, initial="ada"), {}),
        (Field(name="a", label="A", kind=FieldKind.CHOICES, options=PEOPLE, initial=["x"]), {}),
        (Field(name="a", label="A", kind=FieldKind.CHOICES, options=PEOPLE, most=1,
               initial=["ada", "bo"]), {}),
        (Field(name="a", label="A", kind=FieldKind.LINES, initial=["x" * 2000] * 2), {}),
        (Field(name="a", label="A", kind=FieldKind.JSON, initial=[1]), {"initial_value": "[1]"}),
    ],
)  # fmt: skip
def test_an_input_begins_with_what_was_proposed_unless_slack_would_not_take_it(
    field: Field, begins: dict[str, Any]
) -> None:
    """D8: one value that Slack refuses would keep the whole form from opening."""
    shown = element(field)
    assert {name: shown[name] for name in shown if name.startswith("initial")} == begins


def test_limits_that_cannot_be_met_are_left_to_our_own_check() -> None:
    """D8"""
    shown = element(Field(name="a", label="A", kind=FieldKind.TEXT, fewest=5, most=2))
    assert (shown["max_length"], "min_length" in shown) == (2, False)
    shown = element(Field(name="a", label="A", kind=FieldKind.TEXT, fewest=4000, most=0))
    assert (shown["max_length"], "min_length" in shown) == (1, False)
    shown = element(Field(name="a", label="A", kind=FieldKind.NUMBER, minimum=2, maximum=1))
    assert not {"min_value", "max_value"} & set(shown)
    shown = element(Field(name="a", label="A", kind=FieldKind.NUMBER, minimum=-1e300, maximum=1e20))
    assert "e" not in shown["min_value"] + shown["max_value"]


def test_one_line_and_several_are_told_apart() -> None:
    assert not element(Field(name="a", label="A", kind=FieldKind.TEXT))["multiline"]
    assert element(Field(name="a", label="A", kind=FieldKind.TEXT, multiline=True))["multiline"]


def test_a_field_with_more_options_than_a_menu_holds_is_searched() -> None:
    """D8"""
    options = tuple(Option(label=f"Berth {n}", value={"n": n}) for n in range(101))
    one = Field(name="a", label="A", kind=FieldKind.CHOICE, options=options, initial={"n": 100})
    shown = element(one)
    assert (shown["type"], shown["initial_option"]["value"]) == ("external_select", "100")
    many = Field(
        name="a", label="A", kind=FieldKind.CHOICES, options=options, initial=[{"n": 1}], most=2
    )
    shown = element(many)
    assert (shown["type"], shown["max_selected_items"]) == ("multi_external_select", 2)
    view = view_of(form(one))
    state = {"type": "external_select", "selected_option": shown["initial_options"][0]}
    payload = {"view": {**view, "state": {"values": {"tw:field:0": {"value": state}}}}}
    assert values_of_form(payload, form(one)) == {"a": {"n": 1}}


def test_more_fields_than_a_modal_holds_are_pages_and_none_is_lost() -> None:
    """D8"""
    names = [f"f{n}" for n in range(2 * INPUTS_MAX + 1)]
    asked = form(*(Field(name=name, label=name, kind=FieldKind.TEXT) for name in names))
    pages = pages_of(asked)
    assert [len(page.form.fields) for page in pages] == [INPUTS_MAX, INPUTS_MAX, 1]
    assert [field.name for page in pages for field in page.form.fields] == names
    titles = [view_of(asked, n)["title"]["text"] for n in range(3)]
    assert titles == ["Your answer (1/3)", "Your answer (2/3)", "Your answer (3/3)"]
    assert [view_of(asked, n)["submit"]["text"] for n in range(3)] == ["Next", "Next", "Send"]
    last = view_of(asked, 2)
    payload = sent(last, {names[-1]: "done"})
    values = values_of_form(payload, pages[2].form, offset=pages[2].offset)
    assert values == {names[-1]: "done"}
    assert errors_of(pages[2], {names[-1]: "no"}) == {f"tw:field:{2 * INPUTS_MAX}": "no"}
    assert page_of(asked, 3) is page_of(asked, -1) is None


def test_a_form_of_the_worst_fields_is_within_the_size_of_every_view() -> None:
    """D8"""
    wild = "\U0001f409" * 3000
    options = tuple(Option(label=wild + str(n), value=n) for n in range(100))
    asked = form(
        *(
            Field(
                name=f"f{n}",
                label=wild,
                hint=wild,
                kind=kind,
                options=options if kind is FieldKind.CHOICES else (),
                initial=list(range(100)) if kind is FieldKind.CHOICES else wild,
                multiline=True,
            )
            for n, kind in enumerate([FieldKind.TEXT, FieldKind.CHOICES] * 5)
        ),
        ask=wild[:2000],
    )
    pages = pages_of(asked)
    assert sum(len(page.form.fields) for page in pages) == 10
    for page in pages:
        view_of(asked, page.number)


def test_the_pages_before_are_part_of_the_answer() -> None:
    """D8"""
    fields = [Field(name=f"f{n}", label="F", kind=FieldKind.TEXT, required=n == 0)
              for n in range(INPUTS_MAX + 2)]  # fmt: skip
    asked = form(*fields)
    last = pages_of(asked)[1]
    draft = {"f0": "first", "f1": None, f"f{INPUTS_MAX}": "old"}
    answer, missing = completed(asked, last, draft, {f"f{INPUTS_MAX + 1}": "last"})
    assert (answer, missing) == ({"f0": "first", f"f{INPUTS_MAX + 1}": "last"}, {})
    _, missing = completed(asked, last, {}, {})
    assert list(missing) == ["f0"]


def test_a_form_that_was_begun_goes_on_where_it_was_left() -> None:
    asked = begun(form(*FIELDS), {"why": "so", "count": None})
    assert [field.initial for field in asked.fields[:3]] == ["so", None, "x"]


def test_a_blank_form_holds_nothing() -> None:
    page = blank(pages_of(form(*FIELDS))[0])
    assert all(field.initial is None for field in page.form.fields)
    assert page.form.fields[0].name == "why"


def test_nothing_in_a_form_pings_anybody() -> None:
    """D7"""
    asked = form(
        Field(
            name="a", label=NASTY, hint=NASTY, kind=FieldKind.CHOICE,
            options=(Option(label=NASTY, value=1), Option(label=NASTY, value=2)),
        ),
        ask=NASTY,
    )  # fmt: skip
    view = view_of(asked)
    assert pings_in("", view["blocks"]) == frozenset()
    for text, _ in text_leaves(view["blocks"]):
        assert "<!" not in text
        assert "<@" not in text


def test_a_choice_of_any_value_comes_back_as_it_was() -> None:
    asked = form(FIELDS[6])
    assert values_of_form(sent(view_of(asked), {}), asked) == {"boat": {"hue": "b"}}


@pytest.mark.parametrize("raw", ["", "9", "-1", "x", "1e3"])
def test_a_forged_option_is_no_option(raw: str) -> None:
    asked = form(FIELDS[6])
    forged = {"type": "static_select", "selected_option": {"value": raw}}
    payload = {"view": {"state": {"values": {"tw:field:0": {"value": forged}}}}}
    result, problems = answer_of_fields(asked, values_of_form(payload, asked))
    assert result == {}
    assert set(problems) == ({"boat"} if raw else set())


@pytest.mark.parametrize("users", [None, 7, {"a": 1}, [None, 7]])
def test_forged_users_are_nobody(users: Any) -> None:
    asked = form(FIELDS[8])
    forged = {"type": "multi_users_select", "selected_users": users}
    payload = {"view": {"state": {"values": {"tw:field:0": {"value": forged}}}}}
    assert values_of_form(payload, asked) == {}


def test_problems_are_told_by_block() -> None:
    (page,) = pages_of(form(*FIELDS))
    assert errors_of(page, {"count": "Too many"}) == {"tw:field:1": "Too many"}


@pytest.mark.parametrize(
    "metadata", ["", "[]", "{}", '{"action": true}', '{"action": "7"}', "not json"]
)
def test_a_form_that_is_not_ours_is_none(metadata: str) -> None:
    view = {"callback_id": "tw:form", "private_metadata": metadata}
    assert origin_of_form({"view": view}) is None
    assert origin_of_form({"view": {**view, "callback_id": "other"}}) is None


def test_a_form_without_a_page_number_shows_the_first() -> None:
    view = {"callback_id": "tw:form", "private_metadata": '{"action": 7, "page": "2"}'}
    origin = origin_of_form({"view": view})
    assert origin is not None
    assert origin.page == 0


def test_a_notice_is_a_valid_view() -> None:
    assert check_view(notice_view(NASTY[:300])) == []


def test_form_metadata_fits() -> None:
    origin = FormOrigin(
        action_id=ActionId(2**62), channel="C" * 30, thread="1" * 30, message_ts="2" * 30, page=99
    )
    (page,) = pages_of(form(*FIELDS))
    view = form_view(page, origin)
    assert len(view["private_metadata"]) < 3000
    assert json.loads(view["private_metadata"])["action"] == 2**62
