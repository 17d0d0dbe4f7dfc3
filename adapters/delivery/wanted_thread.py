"""A thread as it should be: items cut into pages under the keys they are known by, and the plan (pure)."""

from collections.abc import Iterable
from dataclasses import dataclass

from adapters.contract import Outgoing, Page, SurfaceLimits
from adapters.delivery.delivery_plan import KnownPages, Operation, adopt, plan
from adapters.delivery.item_pages import ItemCutter, MakeStreamed
from adapters.delivery.page_pieces import Renderer
from adapters.delivery.reply_items import ItemKey, ReplyItem
from adapters.delivery.reply_view import ReplyView
from adapters.delivery.stream_plan import StreamedPage
from engine.chat.ids import MessageId


@dataclass(frozen=True, slots=True, kw_only=True)
class PageToSend:
    """A page as it is sent. A draft will change again."""

    outgoing: Outgoing
    content_hash: str
    is_draft: bool
    make_streamed: MakeStreamed

    @property
    def streamed(self) -> StreamedPage | None:
        """The page as a stream shows it; None where it cannot be streamed."""
        return self.make_streamed()


class WantedThread:
    """Keeps between two looks what saves work, and since when an item has had nothing to say."""

    __slots__ = ("_cutter", "_pages", "_wordless_since")

    def __init__(self, renderer: Renderer, limits: SurfaceLimits) -> None:
        self._cutter = ItemCutter(renderer, limits)
        self._pages: dict[tuple[ItemKey, int], PageToSend] = {}
        self._wordless_since: dict[ItemKey, float] = {}

    def plan(
        self, view: ReplyView, known: KnownPages, *, known_from: MessageId, now: float
    ) -> tuple[Operation, ...]:
        """What to do, the most important first; `page` then gives the pages that it names."""
        ends = _ends_of(known)
        cuts = [
            cut for item in view.items for cut in self._cutter.cuts(item, ends.get(item.key, ()))
        ]
        self._note_wordless(view, now)
        wanted = adopt((cut.wanted for cut in cuts), {key for key, _ in known})
        self._pages = {
            (item.key, number): PageToSend(
                outgoing=outgoing,
                content_hash=item.pages[number].content_hash,
                is_draft=item.pages[number].is_draft,
                make_streamed=cut.streamed[number],
            )
            for item, cut in zip(wanted, cuts, strict=True)
            for number, outgoing in enumerate(cut.pages)
        }
        return plan(wanted, known, view, known_from=known_from)

    def page(self, key: ItemKey, number: int) -> PageToSend:
        """The page as the last plan wants it."""
        return self._pages[key, number]

    def is_draft(self, key: ItemKey, number: int) -> bool:
        """Whether the last plan wanted the page, and it will change again."""
        page = self._pages.get((key, number))
        return page is not None and page.is_draft

    def filled_share(self, key: ItemKey, number: int) -> float:
        """How much of a page's room its text takes: 1 is all of it."""
        outgoing = self._pages[key, number].outgoing
        return self._cutter.filled_share(outgoing.text) if isinstance(outgoing, Page) else 1.0

    def wordless_since(self, key: ItemKey) -> float | None:
        """Since when the item shows only what it is doing; None once it has words."""
        return self._wordless_since.get(key)

    def use_smaller_pages(self) -> bool:
        """Halve the size of pages. False: they are small enough."""
        return self._cutter.use_smaller_pages()

    def use_no_files(self) -> None:
        """Say in words, or in further pages, what would be files."""
        self._cutter.use_no_files()

    def _note_wordless(self, view: ReplyView, now: float) -> None:
        self._wordless_since = {
            key: self._wordless_since.get(key, now) for key in _wordless_keys(view)
        }


def _ends_of(known: KnownPages) -> dict[ItemKey, list[int]]:
    """Where pages of each item were ended on purpose, in order."""
    ends: dict[ItemKey, list[int]] = {}
    for page in sorted(known.values(), key=lambda page: page.page):
        if page.cut_at is not None:
            ends.setdefault(page.key, []).append(page.cut_at)
    return ends


def _wordless_keys(view: ReplyView) -> Iterable[ItemKey]:
    return (item.key for item in view.items if isinstance(item, ReplyItem) and not item.markdown)
