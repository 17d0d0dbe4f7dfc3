"""Items as the pages that a platform can show."""

import pytest

from adapters.contract import Page, Question
from adapters.delivery.item_pages import ItemCutter
from adapters.delivery.reply_items import ItemKey, QuestionItem, ReplyItem
from adapters.slack.markup import MrkdwnRenderer
from engine.chat.ids import ActionId, MessageId
from engine.chat.writes import ActionState
from tests.unit.adapters.delivery.threads import YES_NO

KEY = ItemKey(turn_id=MessageId(1))


def cutter(page_size: int = 400) -> ItemCutter:
    return ItemCutter(MrkdwnRenderer(), page_size=page_size)


def growing(text: str, *, activity: str = "") -> ReplyItem:
    return ReplyItem(key=KEY, markdown=text, activity=activity, is_growing=True, can_stop=True)


def pages(cut: ItemCutter, item: ReplyItem) -> list[str]:
    return [page.text for page in cut.cut(item).pages if isinstance(page, Page)]


def test_only_the_last_page_of_a_growing_reply_can_be_stopped_and_changes() -> None:
    cut = cutter().cut(growing("word " * 400))
    assert len(cut.pages) > 2
    assert [page.can_stop for page in cut.pages if isinstance(page, Page)][-2:] == [False, True]
    drafts = [page.is_draft for page in cut.wanted.pages]
    assert drafts == [False] * (len(drafts) - 1) + [True]


def test_growing_text_comes_to_the_same_pages_as_the_whole() -> None:
    """D5"""
    text = "\n\n".join(f"Paragraph {n}: " + "word " * 20 for n in range(40))
    stepwise = cutter()
    for end in range(0, len(text), 137):
        before = pages(stepwise, growing(text[:end]))
    final = ReplyItem(key=KEY, markdown=text)
    assert pages(stepwise, final)[: len(before) - 1] == before[:-1]
    assert pages(stepwise, final) == pages(cutter(), final)


def test_text_that_was_taken_back_is_cut_afresh() -> None:
    stepwise = cutter()
    pages(stepwise, growing("first attempt " * 100))
    assert pages(stepwise, growing("Second.")) == ["Second."]


def test_what_is_being_done_stands_below_the_text_or_alone() -> None:
    (below,) = pages(cutter(), growing("Let me look.", activity="*Using the clock…*"))
    assert below == "Let me look.\n\n_Using the clock…_"
    assert pages(cutter(), growing("", activity="*Using the clock…*")) == ["_Using the clock…_"]


def test_a_line_about_what_is_done_never_makes_a_page_too_long() -> None:
    for size in range(360, 420):
        shown = pages(cutter(), growing("x" * size, activity="*Using `clock`…*"))
        assert all(len(page) <= 400 for page in shown)


@pytest.mark.parametrize("text", ["[]()", "&nbsp;", "```\n```"])
def test_markup_with_nothing_to_see_is_an_empty_answer(text: str) -> None:
    assert pages(cutter(), ReplyItem(key=KEY, markdown=text)) == ["_There was nothing to say._"]
    assert pages(cutter(), growing(text)) == []


def test_smaller_pages_when_the_platform_counts_differently() -> None:
    """D5"""
    cut = cutter()
    assert cut.use_smaller_pages()
    shown = pages(cut, ReplyItem(key=KEY, markdown="word " * 100))
    assert all(len(page) <= 200 for page in shown)
    assert not cut.use_smaller_pages()


def test_a_question_is_one_page_that_changes_when_it_is_answered() -> None:
    asked = QuestionItem(key=ItemKey(action_id=ActionId(5)), form=YES_NO, state=ActionState.OPEN)
    answered = QuestionItem(
        key=asked.key, form=YES_NO, state=ActionState.ANSWERED, outcome="Ada answered: Yes"
    )
    before, after = cutter().cut(asked), cutter().cut(answered)
    assert isinstance(before.pages[0], Question)
    assert before.wanted.pages != after.wanted.pages
