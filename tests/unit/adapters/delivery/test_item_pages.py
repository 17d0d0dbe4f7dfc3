"""Items as the pages that a platform can show."""

from uuid import UUID

import pytest

from adapters.contract import Document, Page, Question, SurfaceLimits
from adapters.delivery.item_files import WHOLE_NAME
from adapters.delivery.item_pages import ItemCutter
from adapters.delivery.reply_items import FileItem, ItemKey, QuestionItem, ReplyItem
from adapters.slack.markup import MrkdwnRenderer
from engine.chat.ids import ActionId, FileId, MessageId
from engine.chat.writes import ActionState
from tests.unit.adapters.delivery.threads import YES_NO

KEY = ItemKey(turn_id=MessageId(1))


CATCH = FileItem(
    key=ItemKey(turn_id=MessageId(1), file="f1"),
    file_id=FileId(UUID(int=1)),
    name="a`b.csv",
    size=9,
)


def cutter(
    page_size: int = 400, *, pages_max: int | None = None, file_bytes_max: int = 0
) -> ItemCutter:
    limits = SurfaceLimits(
        page_size=page_size,
        edit_interval_ms_min=0,
        pages_max=pages_max,
        file_bytes_max=file_bytes_max,
    )
    return ItemCutter(MrkdwnRenderer(), limits)


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


def test_a_reply_of_too_many_pages_ends_with_a_word_on_the_file_that_has_all_of_it() -> None:
    """D5"""
    text = "word " * 400
    cut, whole = cutter(pages_max=2, file_bytes_max=10**6).cuts(ReplyItem(key=KEY, markdown=text))
    assert len(cut.pages) == 2
    last = cut.pages[1]
    assert isinstance(last, Page)
    assert WHOLE_NAME in last.text
    assert WHOLE_NAME in last.markdown
    (document,) = whole.pages
    assert isinstance(document, Document)
    assert (document.name, document.data.decode()) == (WHOLE_NAME, text)
    assert whole.wanted.key != cut.wanted.key


def test_a_growing_reply_shows_no_more_pages_than_it_may_have_and_no_file() -> None:
    capped = cutter(pages_max=2, file_bytes_max=10**6)
    (cut,) = capped.cuts(growing("word " * 400))
    assert len(cut.pages) == 2
    assert not any(WHOLE_NAME in page.text for page in cut.pages if isinstance(page, Page))


def test_as_many_pages_as_may_be_are_all_shown() -> None:
    (cut,) = cutter(pages_max=2, file_bytes_max=9).cuts(ReplyItem(key=KEY, markdown="word " * 150))
    assert len(cut.pages) == 2


def test_without_files_a_reply_has_as_many_pages_as_it_needs() -> None:
    item = ReplyItem(key=KEY, markdown="word " * 400)
    (cut,) = cutter(pages_max=2).cuts(item)
    assert len(cut.pages) > 2
    refused = cutter(pages_max=2, file_bytes_max=10**6)
    refused.use_no_files()
    assert next(refused.cuts(item)).pages == cut.pages


def test_a_file_is_shown_or_named_in_words_by_its_size() -> None:
    (taken,) = cutter(file_bytes_max=9).cut(CATCH).pages
    assert isinstance(taken, Document)
    assert (taken.name, taken.file_id) == ("a`b.csv", CATCH.file_id)
    assert "not kept any more" in taken.instead.text
    (large,) = cutter(file_bytes_max=8).cut(CATCH).pages
    assert isinstance(large, Page)
    assert (
        large.text
        == "📎 `a'b.csv` (9 bytes) is too large for this thread. It is kept with the chat."
    )
    (none,) = cutter().cut(CATCH).pages
    assert isinstance(none, Page)
    assert "cannot be shown" in none.text


def test_a_file_that_is_there_is_never_changed() -> None:
    shown, named = cutter(file_bytes_max=9).cut(CATCH), cutter().cut(CATCH)
    assert shown.wanted == named.wanted
