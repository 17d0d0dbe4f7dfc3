"""Markdown as Slack's mrkdwn: what each construct becomes, and public failures that must not return."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.delivery.markdown_leaves import parse_blocks
from adapters.delivery.markdown_tree import LeafKind, parse_inline
from adapters.delivery.page_pieces import Piece
from adapters.slack.limits import PAGE_LIMIT
from adapters.slack.markup import MrkdwnRenderer, render_mrkdwn
from tests.unit.adapters.slack.markdown_cases import CASES, code_blocks, read, shown

ZWSP = "\u200b"


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("**bold** and *it* and ~~gone~~", "*bold* and _it_ and ~gone~"),
        ("***both***", "_*both*_"),
        ("# Title **b** `c`", "*Title b `c`*"),
        ("Title\n===", "*Title*"),
        ("**two\nlines**", "*two*\n*lines*"),
        ("** not bold **", "** not bold **"),
        ("a\nb  \nc\\\nd", "a\nb\nc\nd"),
        ("- a\n  - b\n    - c\n- d", "• a\n    ◦ b\n        ▪ c\n• d"),
        ("3. a\n4. b\n   - c", "3. a\n4. b\n    ◦ c"),
        ("- [ ] a\n- [x] b\n- [X] c", "☐ a\n☑ b\n☑ c"),
        ("> a\n> - b\n>   - c", "> a\n> • b\n>     ◦ c"),
        ("> a\n>\n> b", "> a\n\n> b"),
        ("- > a\n  > b", "> • a\n>     b"),
        ("---", "──────────"),
        ("a & b < c > d", "a &amp; b &lt; c &gt; d"),
        ("&lt;b&gt; &amp;lt; &copy;", "&lt;b&gt; &amp;lt; ©"),
        ("[a](https://e.com/?a=1&b=2)", "<https://e.com/?a=1&amp;b=2|a>"),
        ("<https://e.com/a> me@e.com", "<https://e.com/a> me@e.com"),
        ("see https://e.com/a_b_c.", "see <https://e.com/a_b_c>."),
        ("(https://e.com/x_(y))", "(<https://e.com/x_(y)>)"),
        ("**https://e.com/**", "*<https://e.com/>*"),
        ("https://e.com/を見る", "https://e.com/を見る"),
        ("[a](mailto:ada@e.com)", "<mailto:ada@e.com|a>"),
        ("![alt](https://e.com/i.png)", "<https://e.com/i.png|alt>"),
        ("[![alt](https://e.com/i.png)](https://e.com/)", "<https://e.com/|alt>"),
        ("![img](data:image/png;base64,AAAA) done", "img done"),
        ("[x](javascript:alert(1))", "x (javascript:alert(1))"),
        ("[x](./docs/a.md)", "x (./docs/a.md)"),
        ("[](https://e.com)", "<https://e.com>"),
        ("```python\nx < 1\n```", "```\nx &lt; 1\n```"),
        ("~~~py\n**x**\n~~~", "```\n**x**\n```"),
        ("```py\nx='**a**'", "```\nx='**a**'\n```"),
        ("`a < b & <@U1>`", "`a &lt; b &amp; &lt;@U1&gt;`"),
        (":rocket: `:8080:`", ":rocket: `:8080:`"),
        ("a<br>b", "a\nb"),
        ("| a |\n|---|\n| x<br>y |", "```\na\n───\nx y\n```"),
        ("$a_1 * b_2$ costs $5 and $10", "$a_1 * b_2$ costs $5 and $10"),
        ("\\(x^2\\) and \\[ y_1 \\]", "\\(x^2\\) and \\[ y_1 \\]"),
        ("\\*not bold\\*", f"*{ZWSP}not bold*"),
        ("\\> not a quote", f"{ZWSP}&gt; not a quote"),
        ("my_var_name and 2*3*4", "my_var_name and 2*3*4"),
        ("", ""),
        ("**", "**"),
    ],
)
def test_construct(markdown: str, expected: str) -> None:
    assert render_mrkdwn(markdown) == expected


@pytest.mark.parametrize(
    ("markdown", "bold"),
    [
        ("これは**重要**です", "重要"),
        ("**注意！**次の文", "注意！"),  # noqa: RUF001
        ("「**強調**」", "強調"),
        ("foo**bar**baz", "bar"),
        ("**Note:**text", "Note:"),
        ("see **`x`**, and", "`x`"),
        ("(**a**)", "a"),
        ("a **b!** c", "b!"),
        ("中文**粗体**文字", "粗体"),
    ],
)
def test_bold_beside_letters_signs_and_cjk_is_shown_as_bold(markdown: str, bold: str) -> None:
    """Slack styles only where a word's edge is outside, and nobody should see asterisks."""
    text = render_mrkdwn(markdown)
    assert "**" not in text
    assert re.search(rf"(?:^|[\s(\u200b])\*{re.escape(bold)}\*(?:$|[\s),.\u200b])", text)
    assert text.replace(ZWSP, "").replace("*", "") == markdown.replace("*", "")


def test_nothing_that_a_model_writes_pings_or_hides_a_target() -> None:
    """B14"""
    text = render_mrkdwn(read(CASES / "torture" / "20_slack_controls.md"))
    assert re.search(r"<[!@#]", text) is None
    assert "&lt;@U12345678&gt;, &lt;!channel&gt;, &lt;!here&gt;" in text
    assert "&lt;!subteam^S123|team&gt;, &lt;#C123|general&gt;" in text
    assert "https://good.example (<https://evil.example>)" in text
    assert "&lt;!channel&gt; in code" in text
    assert "`Vec&lt;&amp;str&gt;` &amp; &lt;b&gt; &amp;lt;" in text


@pytest.mark.parametrize(
    "markdown",
    [
        "[<!channel>](https://e.com)",
        "[a](https://e.com/<!here>)",
        "[a](<https://e.com/|<!here>>)",
        "![<@U1>](https://e.com)",
        "<!-- <!here> -->",
        "# <!here>",
        "| <!here> |\n|---|\n| <@U1> |",
        "```<!here>\n<!here>\n```",
        "$<!here>$",
        "> <!here>\n- <!here>",
        "&#60;!here&#62;",
        "\\<!here>",
        "<https://e.com|<!here>>",
        "<mailto:<!here>>",
        "<\u200b!here>",
    ],
)
def test_no_construct_lets_a_control_sequence_through(markdown: str) -> None:
    """B14"""
    text = render_mrkdwn(markdown)
    assert re.search(r"<(?!https?:|mailto:)", text) is None
    assert re.search(r"\|[^<>]*<", text) is None


@given(st.text(alphabet=st.sampled_from("<>!@#|&;`*_~[]()\\ \nhereU1https:/.e"), max_size=60))
def test_no_text_lets_a_control_sequence_through(markdown: str) -> None:
    """B14"""
    text = render_mrkdwn(markdown, {"Ada": "U1"}).replace("<@U1>", "")
    assert re.search(r"<(?!https?:|mailto:)", text) is None


@pytest.mark.parametrize(
    ("markdown", "is_shown"),
    [
        ("[https://good.example](https://evil.example)", True),
        ("[good.example](https://evil.example)", True),
        ("[www.good.example/login](https://evil.example/good.example/login)", True),
        ("[https://good.example/a](https://good.example/b)", True),
        ("[https://good.example](https://good.example@evil.example)", True),
        ("[https://good.example](https://good.example.evil.example)", True),
        ("[Go to https://good.example now](https://evil.example)", True),
        ("[ada@good.example](mailto:bo@evil.example)", True),
        ("[https\u202e://good.example](https://evil.example)", True),
        ("[good.example](https://good.example/long/path?x=1)", False),
        ("[https://good.example/](http://www.good.example)", False),
        ("[setup.py](https://good.example/src/setup.py)", False),
        ("[the docs](https://good.example)", False),
        ("[v1.2.3](https://good.example)", False),
        ("[e.g. this](https://good.example)", False),
    ],
)
def test_a_label_that_reads_as_another_address_shows_the_real_one(
    markdown: str,
    is_shown: bool,  # noqa: FBT001
) -> None:
    """B14"""
    text = render_mrkdwn(markdown)
    assert ("|" not in text) == is_shown
    target = re.search(r"\(((?:https?|mailto):[^)]*)\)$", markdown)
    assert target is not None
    assert f"<{target[1]}" in text


def test_bars_and_brackets_in_a_link_cannot_end_it() -> None:
    text = render_mrkdwn("[a|b](http://x) [a\\>b](https://e.com/x_(y)?q=1|2)")
    assert text == "<http://x|a\u2223b> <https://e.com/x_(y)?q=1%7C2|a&gt;b>"


def test_a_table_is_aligned_and_shows_no_pipes_or_markers() -> None:
    """B31"""
    text = render_mrkdwn(
        "| Name | Qty |\n|:--|--:|\n| **rope** | 12 |\n| `y\\|z` | 3 |\n| [a](https://e.com) | |"
    )
    assert text == ("```\nName │ Qty\n─────┼────\nrope │  12\ny|z  │   3\na    │\n```")


@pytest.mark.parametrize("name", ["02_table_wide", "04_table_ragged", "61_long_answer_en_x4"])
def test_tables_of_the_set_show_no_pipes(name: str) -> None:
    """B31"""
    text = render_mrkdwn(read(CASES / "torture" / f"{name}.md"))
    assert "|---" not in text
    assert "**" not in re.sub(r"```\n(?:[^`]|`(?!``))*\n```", "", text)


def test_a_table_in_a_code_block_is_left_alone() -> None:
    """B31"""
    source = read(CASES / "torture" / "32_table_in_code.md")
    assert render_mrkdwn(source) == source.strip()


def test_columns_are_aligned_by_what_characters_are_wide() -> None:
    text = render_mrkdwn("| 項目 | 値 |\n|---|---|\n| データ | 12億 |\n| ab | 👩\u200d💻 |")
    assert text == "```\n項目   │ 値\n───────┼─────\nデータ │ 12億\nab     │ 👩\u200d💻\n```"


def test_a_table_too_wide_to_align_is_written_as_records() -> None:
    header = "| " + " | ".join(f"Column {at}" for at in range(9)) + " |\n" + "|---" * 9 + "|\n"
    text = render_mrkdwn(
        header + "| " + " | ".join(f"some long value {at}" for at in range(9)) + " |"
    )
    assert code_blocks(text) == ["\n".join(f"Column {at}: some long value {at}" for at in range(9))]


def test_rows_longer_than_the_header_keep_their_cells() -> None:
    text = render_mrkdwn("a | b\n--|--\n1 | 2 | 3 | 4\n5")
    assert "1 │ 2 │ 3 │ 4" in text


def test_digits_and_placeholder_like_characters_survive() -> None:
    """B33"""
    for source in (
        "Question 1: use `x1` and 2 `y` then 3",
        "`a` 0 `b` 1 \ue000\ue001 \uf8ff \x1a `c` 2 %0 {0} $1 \\1",
        "\ufffc1\ufffc `z` @@0@@ __PH_0__x",
    ):
        text = render_mrkdwn(source)
        assert re.findall(r"\d", text) == re.findall(r"\d", source)
        assert re.findall("[\ue000-\uf8ff\ufffc]", text) == re.findall(
            "[\ue000-\uf8ff\ufffc]", source
        )


@given(st.lists(st.sampled_from(["1", "23", "`x4`", "`5`", "\ue000", "\uf8ff", "a"]), min_size=1))
def test_text_between_code_spans_is_unchanged(parts: list[str]) -> None:
    """B33"""
    source = " ".join(parts)
    assert shown(render_mrkdwn(source)) == source


def test_a_traceback_keeps_its_module_names() -> None:
    source = 'File "a.py", line 3, in <module>\nTypeError: <lambda>() takes 1'
    assert render_mrkdwn(source) == (
        'File "a.py", line 3, in &lt;module&gt;\nTypeError: &lt;lambda&gt;() takes 1'
    )


def test_a_quote_with_inline_code_is_shown() -> None:
    assert render_mrkdwn("> quote with `code`") == "> quote with `code`"


def test_inline_code_and_a_block_with_the_same_signs_are_both_right() -> None:
    text = render_mrkdwn("`a < b` and\n```\nif a < b:\n```")
    assert text == "`a &lt; b` and\n```\nif a &lt; b:\n```"


def test_a_fence_inside_a_fence_does_not_end_it() -> None:
    text = render_mrkdwn(read(CASES / "torture" / "06_fence_in_fence.md"))
    assert text.count("```") == 4
    assert code_blocks(text) == ['# Title\n\n```python\nprint("hi")\n```\n\nend', "```\nx\n```"]


def test_code_in_lists_and_quotes_keeps_its_indent_at_the_left_edge() -> None:
    text = render_mrkdwn(
        "1. a\n   ```py\n   if x:\n       y\n   ```\n2. b\n\n> ```\n> c\n>   d\n> ```"
    )
    assert text == "1. a\n```\nif x:\n    y\n```\n2. b\n\n```\nc\n  d\n```"


def test_an_item_that_begins_with_code_keeps_its_marker() -> None:
    assert render_mrkdwn("2. ```\n   c\n   ```") == "2.\n```\nc\n```"


def test_an_empty_code_block_is_not_shown() -> None:
    assert render_mrkdwn("a\n\n```py\n```\n\nb") == "a\n\nb"


def test_a_literal_run_of_backticks_opens_no_code_block() -> None:
    assert "```" not in render_mrkdwn("a ``` b ```` c `````")
    assert "```" not in render_mrkdwn("$$\n```\n$$")
    assert "```" not in render_mrkdwn("a `` `` b``$`x`$")


def test_bare_json_keeps_its_lines() -> None:
    source = read(CASES / "torture" / "34_json_answer.md")
    assert code_blocks(render_mrkdwn(source)) == [source.strip()]


def test_bidirectional_overrides_are_taken_out_of_text_and_left_in_code() -> None:
    assert (
        render_mrkdwn("a \u202egnp\u202c \u2066b\u2069 \u200f `\u202ec`")
        == "a gnp b \u200f `\u202ec`"
    )


def test_granted_mentions_are_live_and_only_those() -> None:
    """C: allowed mentions only when the product grants them."""
    mentions = {"Ada": "U0ADA", "@Bo Bay": "U0BO"}
    text = render_mrkdwn("@ada, @Bo Bay; <@U0ADA> <@U9> @Adam x@ada @here `@Ada`", mentions)
    assert text == "<@U0ADA>, <@U0BO>; <@U0ADA> &lt;@U9&gt; @Adam x@ada @here `@Ada`"


def test_a_mention_inside_a_link_stays_text() -> None:
    assert render_mrkdwn("[@Ada](https://e.com)", {"Ada": "U0ADA"}) == "<https://e.com|@Ada>"


def test_no_blank_lines_are_added_and_no_carriage_return_is_left() -> None:
    text = render_mrkdwn(read(CASES / "torture" / "28_whitespace.md"))
    assert "\r" not in text
    assert "\n\n\n" not in text


def test_deep_nesting_is_shown_to_its_last_word() -> None:
    assert render_mrkdwn(read(CASES / "torture" / "41_redos_quotes.md")).endswith("y")
    assert render_mrkdwn("- " * 300 + "end").endswith("end")


def test_a_page_of_the_renderer_is_counted_in_utf_16() -> None:
    assert MrkdwnRenderer().size("a🚀é") == 4
    assert PAGE_LIMIT.chars_max == 3900


@given(st.text(max_size=200))
def test_rendering_is_stable_and_never_fails(text: str) -> None:
    assert render_mrkdwn(text) == render_mrkdwn(text)


@given(st.text(alphabet=st.sampled_from("ab1 <>&`|\\\n*_"), min_size=1, max_size=80))
def test_code_is_unchanged_byte_for_byte(code: str) -> None:
    leaf = next(iter(parse_blocks("```\nx\n```")))
    assert leaf.kind is LeafKind.CODE
    text = MrkdwnRenderer().render(Piece(leaf=leaf, text=code))
    assert ("\n".join(code_blocks(text)) or code) == code or not code.strip()


@given(st.text(alphabet=st.sampled_from("ab *_~`[]!<>\\$\n重、"), max_size=60))
def test_inline_text_keeps_its_letters(source: str) -> None:
    parse_inline(source)
    letters = [character for character in source if character.isalnum()]
    text = shown(render_mrkdwn("x " + source))
    assert [character for character in text if character.isalnum()][1:] == letters
