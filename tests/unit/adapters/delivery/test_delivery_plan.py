"""What is done next so that a thread shows what it should."""

from adapters.delivery.delivery_plan import (
    DRAFT_HASH,
    Delete,
    Edit,
    KnownPage,
    LookUp,
    PageState,
    Post,
    Seal,
    WantedItem,
    WantedPage,
    adopt,
    nonce_of,
    plan,
)
from adapters.delivery.reply_items import ItemKey
from adapters.delivery.reply_view import ReplyView
from engine.chat.ids import ActionId, MessageId

FIRST = ItemKey(turn_id=MessageId(1))
SECOND = ItemKey(turn_id=MessageId(3))
ASKED = ItemKey(action_id=ActionId(5))


def view(
    *turns: int,
    resting: bool = True,
    sources: tuple[str, ...] = (),
    last_source: str | None = None,
    withdrawn: tuple[int, ...] = (),
    settled: int = 0,
) -> ReplyView:
    return ReplyView(
        items=(),
        turn_ids=tuple(MessageId(turn) for turn in turns),
        source_keys=frozenset(sources),
        last_source_key=last_source,
        withdrawn=frozenset(ActionId(action) for action in withdrawn),
        after_turn=MessageId(settled),
        finished_id=MessageId(0),
        is_resting=resting,
    )


def wanted(key: ItemKey, *hashes: str, draft: bool = False) -> WantedItem:
    pages = [WantedPage(content_hash=one) for one in hashes]
    if draft and pages:
        pages[-1] = WantedPage(content_hash=hashes[-1], is_draft=True)
    return WantedItem(key=key, pages=tuple(pages))


def shown(key: ItemKey, page: int, content_hash: str, *, sealed: bool = True) -> KnownPage:
    return KnownPage(
        key=key,
        page=page,
        state=PageState.SHOWN,
        message_id=f"m{key}/{page}",
        content_hash=content_hash,
        is_sealed=sealed,
    )


def unknown(key: ItemKey, page: int) -> KnownPage:
    return KnownPage(key=key, page=page, state=PageState.UNKNOWN)


def plan_for(
    items: list[WantedItem],
    pages: list[KnownPage],
    seen: ReplyView | None = None,
    known_from: int = 0,
) -> tuple[object, ...]:
    known = {(page.key, page.page): page for page in pages}
    return plan(items, known, seen or view(1, 3), known_from=MessageId(known_from))


def test_pages_are_posted_one_after_the_other() -> None:
    items = [wanted(FIRST, "a", "b"), wanted(SECOND, "c")]
    assert plan_for(items, []) == (Post(key=FIRST, page=0),)
    assert plan_for(items, [shown(FIRST, 0, "a")]) == (Post(key=FIRST, page=1),)


def test_what_is_shown_is_not_edited_needlessly() -> None:
    assert plan_for([wanted(FIRST, "a")], [shown(FIRST, 0, "a")]) == ()


def test_a_changed_page_is_edited_while_the_next_is_posted() -> None:
    operations = plan_for([wanted(FIRST, "a2", "b")], [shown(FIRST, 0, "a")])
    edit = Edit(key=FIRST, page=0, message_id="mreply:1/0", is_final=True)
    assert operations == (edit, Post(key=FIRST, page=1))


def test_a_page_of_unknown_fate_is_looked_up_before_anything_is_posted() -> None:
    """D3"""
    items = [wanted(FIRST, "a", "b"), wanted(ASKED, "q")]
    assert plan_for(items, [unknown(FIRST, 0)]) == (LookUp(key=FIRST, page=0),)


def test_a_draft_is_edited_but_not_sealed_and_a_final_page_is_sealed() -> None:
    draft = wanted(FIRST, "a2", draft=True)
    (edit,) = plan_for([draft], [shown(FIRST, 0, "a", sealed=False)])
    assert isinstance(edit, Edit)
    assert not edit.is_final
    assert plan_for([draft], [shown(FIRST, 0, "a2", sealed=False)]) == ()
    seal = Seal(key=FIRST, page=0, message_id="mreply:1/0", content_hash="a2")
    assert plan_for([wanted(FIRST, "a2")], [shown(FIRST, 0, "a2", sealed=False)]) == (seal,)


def test_a_draft_of_a_dead_process_is_made_final() -> None:
    """D3"""
    (edit,) = plan_for([wanted(FIRST, "a")], [shown(FIRST, 0, DRAFT_HASH)])
    assert edit == Edit(key=FIRST, page=0, message_id="mreply:1/0", is_final=True)


def test_pages_that_a_shorter_reply_does_not_need_are_taken_back() -> None:
    pages = [shown(FIRST, 0, "a"), shown(FIRST, 1, "b"), unknown(FIRST, 2)]
    assert plan_for([wanted(FIRST, "a")], pages) == (
        Delete(key=FIRST, page=1, message_id="mreply:1/1"),
        LookUp(key=FIRST, page=2),
    )


def test_a_page_that_people_deleted_is_left_alone() -> None:
    gone = KnownPage(key=FIRST, page=0, state=PageState.GONE, message_id="m")
    assert plan_for([wanted(FIRST, "a")], [gone]) == ()
    assert plan_for([], [gone]) == ()


def test_replies_to_turns_taken_back_are_taken_back() -> None:
    """D11"""
    pages = [shown(FIRST, 0, "a"), shown(SECOND, 0, "b"), shown(ASKED, 0, "q")]
    operations = plan_for([wanted(FIRST, "a")], pages, view(1, withdrawn=(5,)))
    assert operations == (
        Delete(key=ASKED, page=0, message_id="maction:5/0"),
        Delete(key=SECOND, page=0, message_id="mreply:3/0"),
    )


def test_settled_turns_that_are_not_looked_at_are_left_alone() -> None:
    pages = [shown(FIRST, 0, "a"), shown(SECOND, 0, "b")]
    assert plan_for([wanted(SECOND, "b")], pages, view(3), known_from=3) == ()


def test_the_last_turns_page_waits_for_new_text_and_goes_when_there_is_none() -> None:
    pages = [shown(FIRST, 0, "old")]
    assert plan_for([], pages, view(1, resting=False)) == ()
    assert plan_for([], pages, view(1)) == (Delete(key=FIRST, page=0, message_id="mreply:1/0"),)


def test_the_last_turn_is_left_alone_once_it_is_settled() -> None:
    pages = [shown(FIRST, 0, "a"), shown(SECOND, 0, "b")]
    assert plan_for([], pages, view(3, settled=3), known_from=3) == ()


def test_the_reply_to_an_edited_message_takes_over_the_old_pages() -> None:
    """D11"""
    old = ItemKey(turn_id=MessageId(1), source_key="S")
    new = ItemKey(turn_id=MessageId(9), source_key="S")
    (item,) = adopt([wanted(new, "b")], [old])
    assert item.key == old
    pages = [shown(old, 0, "a")]
    (edit,) = plan_for([item], pages, view(9, sources=("S",), last_source="S"))
    assert edit == Edit(key=old, page=0, message_id="mreply:1@S/0", is_final=True)


def test_segments_that_the_edited_messages_reply_does_not_have_are_taken_back() -> None:
    old = ItemKey(turn_id=MessageId(1), source_key="S")
    second = ItemKey(turn_id=MessageId(1), source_key="S", segment=1)
    pages = [shown(old, 0, "a"), shown(second, 0, "b")]
    seen = view(9, sources=("S",), last_source="S")
    assert plan_for([wanted(old, "a")], pages, seen) == (
        Delete(key=second, page=0, message_id="mreply:1.1@S/0"),
    )


def test_a_standing_turn_keeps_adopted_pages_when_the_whole_chat_is_looked_at() -> None:
    adopted = ItemKey(turn_id=MessageId(1), source_key="S")
    seen = view(9, 11, sources=("S",))
    assert plan_for([], [shown(adopted, 0, "a")], seen) == ()


def test_a_page_has_one_nonce_for_ever() -> None:
    assert nonce_of(1, FIRST, 0) == nonce_of(1, FIRST, 0)
    assert len({nonce_of(1, FIRST, 0), nonce_of(1, FIRST, 1), nonce_of(2, FIRST, 0)}) == 3
