"""Pages as Slack's Markdown: as they were written, harmless, nested by their markers, tables within limits."""

import pytest

from adapters.delivery.page_pieces import PageLimit
from adapters.delivery.pagination import paginate
from adapters.slack.limits import PAGE_LIMIT
from adapters.slack.markup import MrkdwnRenderer
from tests.fakes.slack_markdown import code_blocks_of, plain_of_markdown

RENDERER = MrkdwnRenderer()
GRANTED = MrkdwnRenderer({"Ada": "U0ADA1"})
ZWSP = "\u200b"


def page_of(markdown: str, renderer: MrkdwnRenderer = RENDERER) -> str:
    (page,) = paginate(markdown, render=renderer, limit=PAGE_LIMIT).pages
    return page.markdown


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        # As it was written.
        ("a **b** *c* ~~d~~ `e`", "a **b** *c* ~~d~~ `e`"),
        ("# One **two**", "# One **two**"),
        ("One\n===", "# One"),
        ("one\ntwo\\\nthree  \nfour", "one  \ntwo  \nthree  \nfour"),
        ("- a\n  - b\n    1. c\n- [x] d", "- a\n  - b\n    1. c\n- [x] d"),
        ("- a\n\n  more", "- a\n\n  more"),
        ("> a\n> - b", "> a\n> - b"),
        ("***", "---"),
        ("```py\nx\n```", "```py\nx\n```"),
        ("~~~\nx\n~~~", "```\nx\n```"),
        # Nothing is live.
        ("<!here> <!channel|x>", "&lt;!here&gt; &lt;!channel|x&gt;"),
        ("<@U1A> <#C1|x> <!subteam^S1>", "&lt;@U1A&gt; &lt;#C1|x&gt; &lt;!subteam^S1&gt;"),
        ("\\<!here>", "&lt;!here&gt;"),
        ("&lt;!here&gt; &#60;!here>", "&lt;!here&gt; &lt;!here&gt;"),
        ("&amp;lt;", "&amp;lt;"),
        ("\\&lt; \\* \\a", "&amp;lt; \\* \\a"),
        ("**<!here>**", "**&lt;!here&gt;**"),
        ("[<!here>](https://e.com)", "[&lt;!here&gt;](https://e.com)"),
        ("<b>AT&T</b>", "&lt;b&gt;AT&T&lt;/b&gt;"),
        # Code keeps its bytes, but for what would address people.
        ("`a < b && <c>`", "`a < b && <c>`"),
        ("`<!here>` `<@U1A>`", f"`<{ZWSP}!here>` `<{ZWSP}@U1A>`"),
        ("```\n<!DOCTYPE html>\n<!here>\n```", f"```\n<!DOCTYPE html>\n<{ZWSP}!here>\n```"),
        # Literal signs stay literal.
        ("2*3*4 and a * b", "2\\*3\\*4 and a \\* b"),
        ("~x~ and **x", "\\~x\\~ and \\*\\*x"),
        ("$a_1 * b_2$", "$a\\_1 \\* b\\_2$"),
        ("[x]: https://e.com", "\\[x]: <https://e.com>"),
        # Links say where they go.
        ("[a](https://e.com/x_(y)?q=1|2)", "[a](https://e.com/x_%28y%29?q=1%7C2)"),
        ("https://e.com/a_b*c?d=1&e=2", "<https://e.com/a_b*c?d=1&e=2>"),
        ("[https://good.example](https://evil.example)", "https://good.example (<https://evil.example>)"),
        ("[x](javascript:alert)", "x (javascript:alert)"),
        ("![alt](https://e.com/i.png)", "[alt](https://e.com/i.png)"),
        # Emphasis that CommonMark would not see.
        ("**「重要」**です", f"**「重要」{ZWSP}**です"),
        ("これは_重要_です", "これは*重要*です"),
    ],
)  # fmt: skip
def test_markdown(written: str, sent: str) -> None:
    assert page_of(written) == sent


def test_granted_people_are_mentioned_bare_and_never_in_code() -> None:
    """PostHog PR#72658: `<@U|name>` does not notify; vercel/chat PR#629: no names in code."""
    text = "@Ada <@U0ADA1> `@Ada` [@Ada](https://e.com)\n\n```\n@Ada <@U0ADA1>\n```"
    page = page_of(text, GRANTED)
    assert page.startswith("<@U0ADA1> <@U0ADA1> `@Ada` [@Ada](https://e.com)")
    assert page.count("<@U0ADA1>") == 2


def test_an_item_that_goes_on_from_the_page_before_is_no_code() -> None:
    text = "1. " + "harbour " * 30 + "\n\n   more\n\n       code\n2. last"
    pages = paginate(text, render=RENDERER, limit=PageLimit(chars_max=200)).pages
    assert "harbour" in plain_of_markdown(pages[1].markdown, {})
    assert code_blocks_of(pages[1].markdown) == ["code"]
    assert pages[-1].markdown.endswith("2. last")


def test_what_goes_on_after_a_cut_begins_no_list_or_heading() -> None:
    text = "harbour " * 24 + "1. of 2 # x - y"
    pages = paginate(text, render=RENDERER, limit=PageLimit(chars_max=192)).pages
    shown = " ".join(plain_of_markdown(page.markdown, {}) for page in pages)
    assert shown.split() == text.split()


def test_what_follows_code_in_a_nested_item_is_no_code() -> None:
    page = page_of("1. a\n   - b\n\n     ```\n     x\n     ```\n\n     after")
    assert code_blocks_of(page) == ["x"]
    assert page.endswith("\n\nafter")


def table(rows: int, columns: int, cell: str = "x") -> str:
    line = "|" + f" {cell} |" * columns
    return f"{line}\n|{'---|' * columns}\n" + "\n".join([line] * rows)


@pytest.mark.parametrize(
    ("rows", "columns", "is_table"), [(3, 3, True), (99, 2, True), (100, 2, False), (2, 20, True), (2, 21, False)]
)  # fmt: skip
def test_a_table_beyond_slacks_limits_is_a_code_block(
    rows: int, columns: int, *, is_table: bool
) -> None:
    page = paginate(table(rows, columns), render=RENDERER, limit=PAGE_LIMIT).pages[0].markdown
    assert page.startswith("| x |" if is_table else "```\n")


def test_the_second_table_of_a_message_is_a_code_block() -> None:
    """hotplex#148, stakpak PR#607: one table a message."""
    page = page_of(f"{table(2, 2)}\n\nand\n\n{table(2, 2)}")
    assert page.count("| --- |") == 1
    assert page.count("```") == 2


def test_cells_keep_their_bars_and_widen_to_the_widest_row() -> None:
    page = page_of("| a | b |\n|---|---|\n| `x\\|y` | z | more |")
    assert page.splitlines()[0] == "| a | b |  |"
    assert "| `x\\|y` | z | more |" in page


def test_a_page_that_is_too_long_as_markdown_has_none() -> None:
    renderer = MrkdwnRenderer()
    pages = paginate("a*b " * 9000, render=renderer, limit=PageLimit(chars_max=40_000)).pages
    assert pages[0].markdown == ""
    assert pages[0].text
