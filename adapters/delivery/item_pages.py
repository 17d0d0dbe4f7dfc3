"""Items cut into what a platform can show, with the cutting done once per stretch of text (pure)."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from adapters.contract import Document, Outgoing, Page, Question, SurfaceLimits
from adapters.delivery.delivery_plan import WantedItem, WantedPage, hash_of
from adapters.delivery.item_files import (
    WHOLE_BELOW,
    WHOLE_NAME,
    key_of_whole,
    not_kept,
    not_taken,
    too_large,
)
from adapters.delivery.page_pieces import PageLimit, Piece, Renderer
from adapters.delivery.pagination import NO_PAGES, Pages, paginate
from adapters.delivery.reply_items import FileItem, Item, ItemKey, QuestionItem, ReplyItem
from adapters.delivery.reply_view import NO_ANSWER
from adapters.delivery.stream_plan import StreamedPage

MakeStreamed = Callable[[], StreamedPage | None]
ACTIVITY_ROOM = 80
"""Characters kept free on a page for the line about what takes time."""
WORDS_LIMIT = PageLimit(chars_max=1000)
"""For a sentence about a file, whose name is 255 bytes at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CutItem:
    """An item with the pages it is shown as, the same as the plan compares them, and as streams.

    `streamed` makes the page as a stream shows it, where it is asked for; None: it cannot be streamed.
    `is_capped`: it has more pages than are shown.
    """

    wanted: WantedItem
    pages: tuple[Outgoing, ...]
    streamed: tuple[MakeStreamed, ...]
    is_capped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cut:
    markdown: str
    pages: Pages


class ItemCutter:
    """Cuts items of one thread into pages. Growing text is cut on from where it last ended."""

    __slots__ = ("_cuts", "_file_bytes_max", "_limit", "_pages_max", "_renderer")

    def __init__(self, renderer: Renderer, limits: SurfaceLimits) -> None:
        self._renderer = renderer
        self._limit = PageLimit(chars_max=limits.page_size)
        self._pages_max = limits.pages_max if limits.file_bytes_max else None
        self._file_bytes_max = limits.file_bytes_max
        self._cuts: dict[ItemKey, _Cut] = {}

    def use_no_files(self) -> None:
        """Say in words, or in further pages, what would be files."""
        self._file_bytes_max, self._pages_max = 0, None

    def use_smaller_pages(self) -> bool:
        """Halve the size of pages, since the platform counts differently. False: small enough."""
        smaller = self._limit.chars_max // 2
        if smaller < ACTIVITY_ROOM * 2:
            return False
        self._limit = PageLimit(chars_max=smaller)
        self._cuts.clear()
        return True

    def cuts(self, item: Item, ends: Sequence[int] = ()) -> Iterator[CutItem]:
        """The item, and behind it the file with all of it where it has too many pages."""
        cut = self.cut(item, ends)
        yield cut
        if isinstance(item, ReplyItem) and not item.is_growing and cut.is_capped:
            document = Document(
                name=WHOLE_NAME,
                instead=Page(text=WHOLE_NAME),
                data=item.markdown.encode("utf-8", "replace"),
            )
            yield _cut_document(key_of_whole(item), document)

    def cut(self, item: Item, ends: Sequence[int] = ()) -> CutItem:
        """The item's pages as they are now. `ends`: where pages were ended on purpose."""
        if isinstance(item, QuestionItem):
            return _cut_question(item)
        if isinstance(item, FileItem):
            return self._cut_file(item)
        return self._cut_reply(item, ends)

    def filled_share(self, text: str) -> float:
        """How much of a page's room a text takes: 1 is all of it."""
        return self._renderer.size(text) / self._limit.chars_max

    def _cut_reply(self, item: ReplyItem, ends: Sequence[int]) -> CutItem:
        cut = self._pages_of(item, ends)
        is_capped = self._pages_max is not None and len(cut.pages) > self._pages_max
        if is_capped:
            cut = self._capped(cut, is_growing=item.is_growing)
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
                rates=item.rates if at == len(texts) - 1 else None,
            )
            for at, text in enumerate(texts)
        )
        wanted = tuple(
            WantedPage(
                content_hash=_hash_of_page(page),
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
            wanted=WantedItem(key=item.key, pages=wanted),
            pages=pages,
            streamed=streamed,
            is_capped=is_capped,
        )

    def _capped(self, cut: Pages, *, is_growing: bool) -> Pages:
        """The first pages; the last of them says in the end where the whole text is."""
        pages = list(cut.pages[: self._pages_max])
        if not is_growing:
            pages[-1] = pages[-1].with_line(WHOLE_BELOW)
        return replace(cut, pages=tuple(pages))

    def _cut_file(self, item: FileItem) -> CutItem:
        if not self._file_bytes_max:
            return _cut_document(item.key, self._words(not_taken(item)))
        if item.size > self._file_bytes_max:
            return _cut_document(item.key, self._words(too_large(item)))
        instead = self._words(not_kept(item))
        return _cut_document(
            item.key, Document(name=item.name, instead=instead, file_id=item.file_id)
        )

    def _words(self, markdown: str) -> Page:
        (page,) = paginate(markdown, render=self._renderer, limit=WORDS_LIMIT).pages
        return Page(text=page.text, markdown=page.markdown)

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


def _cut_document(key: ItemKey, outgoing: Page | Document) -> CutItem:
    """A file, or the words for it. What is there stays as it is, so nothing but the key counts."""
    page = WantedPage(content_hash=hash_of("file", str(key)))
    return CutItem(
        wanted=WantedItem(key=key, pages=(page,)), pages=(outgoing,), streamed=(_no_stream,)
    )


def _hash_of_page(page: Page) -> str:
    rating = () if page.rates is None else (f"rates {page.rates}",)
    return hash_of("page", page.text, str(page.can_stop), page.markdown, *rating)


def _no_stream() -> None:
    """Questions and files are not streamed."""


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
        named=item.named,
    )
    page = WantedPage(content_hash=hash_of("question", repr(item.form), item.state, item.outcome))
    return CutItem(
        wanted=WantedItem(key=item.key, pages=(page,)), pages=(question,), streamed=(_no_stream,)
    )
