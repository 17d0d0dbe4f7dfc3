import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.console.markdown import Markdown

MARKDOWN = Markdown()
TAGS = {
    "a", "blockquote", "br", "code", "em", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre",
    "s", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip


def html(text: str) -> str:
    return "".join(MARKDOWN.blocks(text))


def test_what_models_write_is_laid_out() -> None:
    assert html("# A\n\n**b** `c` ~~d~~") == (
        "<h3>A</h3>\n<p><strong>b</strong> <code>c</code> <s>d</s></p>\n"
    )
    assert '<td class="right">3</td>' in html("| a | b |\n|---|--:|\n| x | 3 |")
    assert 'data-language="python"' in html("```python\nx < 1\n```")


@pytest.mark.parametrize(
    "attack",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](java\tscript:alert(1))",
        "[x](&#106;avascript:alert(1))",
        "[x](data:text/html,<script>)",
        "[x](vbscript:x)",
        "[x](file:///etc/passwd)",
        "[x](//evil.example)",
        "[x](/chats/1/archive)",
        "<javascript:alert(1)>",
        "![x](javascript:alert(1))",
        "[x]: javascript:alert(1)\n\n[x]",
        '```"><script>alert(1)</script>\nx\n```',
        '[x](http://a.example/"onclick="alert(1))',
        "[x](http://[)",
    ],
)
def test_attack_is_only_text(attack: str) -> None:
    shown = html(attack)
    assert set(re.findall(r"<(\w+)", shown)) <= TAGS
    assert not re.search(r'(href|src)="(?!https?://|mailto:)', shown)
    assert not re.search(r"<[^>]*\son\w+=", shown)


@given(st.text(alphabet=st.sampled_from("<>&\"'`[]()!*_#|-\n :/abjsript1"), max_size=80))
def test_no_text_makes_a_tag_that_is_not_ours(text: str) -> None:
    shown = html(text)
    assert set(re.findall(r"<([a-z]\w*)", shown)) <= TAGS
    assert "style=" not in re.sub(r">[^<]*<", "><", shown)


def test_links_leave_no_trace_and_open_apart() -> None:
    shown = html("[x](https://a.example/?q=1)")
    assert 'rel="noopener noreferrer nofollow"' in shown
    assert 'target="_blank"' in shown


def test_images_are_links_for_loading_them_would_tell_who_reads() -> None:
    shown = html("![a cat](https://a.example/cat.png)")
    assert "<img" not in shown
    assert ">a cat</a>" in shown


def test_blocks_that_are_done_do_not_change_while_text_grows() -> None:
    text = "# A\n\nfirst *paragraph*\n\n- one\n- two\n\n```\ncode\n```\n\nlast"
    before = MARKDOWN.blocks(text)
    after = MARKDOWN.blocks(text + " words")
    assert len(before) == 5
    assert before[:-1] == after[:-1]
    assert before[-1] != after[-1]
