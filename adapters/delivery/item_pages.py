"""Items cut into what a platform can show, with the cutting done once per stretch of text (pure)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from adapters.contract import Outgoing, Page, Question
from adapters.delivery.delivery_plan import WantedItem, WantedPage, hash_of
from adapters.delivery.page_pieces import PageLimit, Piece, Renderer
from adapters.delivery.pagination import NO_PAGES, Pages, paginate
from adapters.delivery.reply_items import Item, ItemKey, QuestionItem, ReplyItem
from adapters.delivery.reply_view import NO_ANSWER
from adapters.delivery.stream_plan import StreamedPage

MakeStreamed = Callable[[], StreamedPage | None]
ACTIVITY_ROOM = 80
"""Characters kept free on a page for the line about what takes time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CutItem:
    """An item with the pages it is shown as, the same as the plan compares them, and as streams.

    `streamed` makes the page as a stream shows it, where it is asked for; None: it cannot be streamed.
    """

    wanted: WantedItem
    pages: tuple[Outgoing, ...]
    streamed: tuple[MakeStreamed, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cut:
    markdown: str
    pages: Pages


class ItemCutter:
    """Cuts items of one thread into pages. Growing text is cut on from where it last ended."""

    __slots__ = ("_cuts", "_limit", "_renderer")

    def __init__(self, renderer: Renderer, *, page_size: int) -> None:
        self._renderer = renderer
        self._limit = PageLimit(chars_max=page_size)
        self._cuts: dict[ItemKey, _Cut] = {}

    def use_smaller_pages(self) -> bool:
        """Halve the size of pages, since the platform counts differently. False: small enough."""
        smaller = self._limit.chars_max // 2
        if smaller < ACTIVITY_ROOM * 2:
            return False
        self._limit = PageLimit(chars_max=smaller)
        self._cuts.clear()
        return True

    def cut(self, item: Item, ends: Sequence[int] = ()) -> CutItem:
        """The item's pages as they are now. `ends`: where pages were ended on purpose."""
        if isinstance(item, QuestionItem):
            return _cut_question(item)
        return self._cut_reply(item, ends)

    def filled_share(self, text: str) -> float:
        """How much of a page's room a text takes: 1 is all of it."""
        return self._renderer.size(text) / self._limit.chars_max

    def _cut_reply(self, item: ReplyItem, ends: Sequence[int]) -> CutItem:
        cut = self._pages_of(item, ends)
        texts = [page.text for page in cut.pages]
        full = [page.is_full for page in cut.pages]
        if item.activity:
            texts, full = self._with_activity(texts, full, item.activity)
        drafts = [item.is_growing and not is_full for is_full in full]
        pages = tuple(
            Page(
                text=text,
                # What will be replaced in a moment is shown in the cheapest form.
                markdown="" if drafts[at] else cut.pages[at].markdown,
                can_stop=item.can_stop and drafts[at] and at == len(texts) - 1,
            )
            for at, text in enumerate(texts)
        )
        wanted = tuple(
            WantedPage(
                content_hash=hash_of("page", page.text, str(page.can_stop), page.markdown),
                is_draft=is_draft,
            )
            for page, is_draft in zip(pages, drafts, strict=True)
        )
        pieces = [page.pieces for page in cut.pages] + [()] * (len(pages) - len(cut.pages))
        streamed = tuple(
            partial(self._stream, item, on_page, is_last=at == len(pages) - 1)
            for at, on_page in enumerate(pieces)
        )
        return CutItem(
            wanted=WantedItem(key=item.key, pages=wanted), pages=pages, streamed=streamed
        )

    def _stream(
        self, item: ReplyItem, pieces: Sequence[Piece], *, is_last: bool
    ) -> StreamedPage | None:
        """A page as a stream shows it; None for a page that cannot be said so."""
        markdown = self._renderer.markdown(pieces)
        if pieces and not markdown:
            return None
        tasks = item.tasks if is_last else ()
        return StreamedPage(markdown=markdown, tasks=tasks, reader=item.reader)

    def _pages_of(self, item: ReplyItem, ends: Sequence[int]) -> Pages:
        known = self._cuts.get(item.key)
        grows = known is not None and item.markdown.startswith(known.markdown)
        pages = paginate(
            item.markdown,
            render=self._renderer,
            limit=self._limit,
            known=known.pages if known is not None and grows else NO_PAGES,
            final=not item.is_growing,
            ends=ends,
        )
        if not pages.pages and item.markdown and not item.is_growing:
            # All markup and nothing to see, such as a comment.
            pages = paginate(NO_ANSWER, render=self._renderer, limit=self._limit)
        if item.is_growing:
            self._cuts[item.key] = _Cut(markdown=item.markdown, pages=pages)
        else:
            self._cuts.pop(item.key, None)
        return pages

    def _with_activity(
        self, texts: list[str], full: list[bool], activity: str
    ) -> tuple[list[str], list[bool]]:
        """Put the line below the last page, or on a page of its own where there is no room."""
        lines = paginate(activity, render=self._renderer, limit=PageLimit(chars_max=ACTIVITY_ROOM))
        if not lines.pages:
            return texts, full
        line = lines.pages[0].text
        if texts and not full[-1]:
            joined = f"{texts[-1]}\n\n{line}"
            if self._renderer.size(joined) <= self._limit.chars_max:
                return [*texts[:-1], joined], full
        if texts:
            return texts, full
        return [line], [False]


def _no_stream() -> None:
    """Questions are not streamed."""


def _cut_question(item: QuestionItem) -> CutItem:
    if item.key.action_id is None:
        raise ValueError("a question has an action")
    question = Question(
        action_id=item.key.action_id,
        form=item.form,
        state=item.state,
        outcome=item.outcome,
        answerers=item.answerers,
        asker=item.asker,
    )
    page = WantedPage(content_hash=hash_of("question", repr(item.form), item.state, item.outcome))
    return CutItem(
        wanted=WantedItem(key=item.key, pages=(page,)), pages=(question,), streamed=(_no_stream,)
    )
