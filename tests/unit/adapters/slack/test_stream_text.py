"""D7: nothing in a stream is live, however a text is cut into parts, and what is sent adds up to the page."""

import re

from hypothesis import given
from hypothesis import strategies as st

from adapters.contract import StreamLimits
from adapters.delivery.page_pieces import PageLimit
from adapters.delivery.pagination import NO_PAGES, paginate
from adapters.delivery.stream_plan import (
    Append,
    Close,
    OpenStream,
    StreamedPage,
    grown,
    next_step,
)
from adapters.slack.markup import MrkdwnRenderer

RENDERER = MrkdwnRenderer()
LIMITS = StreamLimits(
    interval_seconds=0.0, seconds_max=9.0, life_seconds=9.0, bytes_max=9000, call_chars_max=12_000
)
LIVE = re.compile(
    r"<(?:!(?:here|channel|everyone|subteam)|@[UW][A-Z0-9]|#C[A-Z0-9])", re.IGNORECASE
)
FRAGMENTS = st.sampled_from(
    [
        "<!here>", "<!chan", "nel>", "<", "!here", ">", "<@U123ABC>", "<@U12", "<#C1|x>",
        "&lt;!here&gt;", "<!subteam^S1|crew>", "`", "```\n", "**", "_", "\n", "\n\n", " ", "word ",
        "- ", "> ", "| a | b |\n", "[a](https://x.example) ", "日本", "\\",
    ]
)  # fmt: skip
TEXTS = st.lists(FRAGMENTS, min_size=1, max_size=30).map("".join)


def streamed(text: str, step: int) -> tuple[OpenStream, Close | None]:
    """The text as it is sent in steps of so many characters, and how its stream is closed."""
    stream = OpenStream(message_id="1.1", started_at=0.0, sent_at=0.0)
    known, last = NO_PAGES, None
    for stop in [*range(step, len(text), step), len(text)]:
        final = stop == len(text)
        limit = PageLimit(chars_max=3900)
        known = paginate(text[:stop], render=RENDERER, limit=limit, known=known, final=final)
        pieces = known.pages[0].pieces if known.pages else ()
        page = StreamedPage(markdown=RENDERER.markdown(pieces))
        found = next_step(stream, page, is_draft=not final, now=0.0, limits=LIMITS)
        if isinstance(found, Append):
            stream = grown(stream, found.growth, now=0.0)
            assert not LIVE.search(stream.sent)
        elif isinstance(found, Close):
            last = found
            break
    return stream, last


@given(TEXTS, st.sampled_from([1, 3, 7]))
def test_nothing_that_was_sent_is_live_at_any_time(text: str, step: int) -> None:
    """D7"""
    stream, last = streamed(text, step)
    if last is not None:
        assert not LIVE.search(stream.sent + last.growth.text)


def test_a_mention_in_two_parts_is_none_in_either() -> None:
    """D7: facts/slack.md section 5."""
    stream, last = streamed("All of you: <!he" + "re> and <@U12" + "3ABC> `<!here>` now.", 16)
    assert last is not None
    assert last.is_whole
    whole = stream.sent + last.growth.text
    assert whole == "All of you: &lt;!here&gt; and &lt;@U123ABC&gt; `<\u200b!here>` now."


def test_plain_answers_are_streamed_whole() -> None:
    """D6: marks are closed in drafts and not in what is sent."""
    text = "# Plan\n\nIt is **quite** simple: `a` then\n\n```python\nprint(1)\n```\n\n1. one\n2. two *x*.\n"
    for step in (1, 7, 50):
        stream, last = streamed(text, step)
        assert last is not None
        assert last.is_whole
        assert "**quite**" in stream.sent + last.growth.text
