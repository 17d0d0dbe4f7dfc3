"""Owns the rules that the dialect adds: bare links, formulas, mentions, line breaks, JSON. Pure.

No rule makes a block depend on text further down than its own next line.
"""

from collections.abc import Callable

from markdown_it import rules_inline
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

from adapters.delivery.plain_text import is_cjk

_MATH_SPAN_MAX = 2000
_MATH_LINE_MAX = 300
_URL_END = frozenset(' \t\n<>"`|\\^{}')
_URL_TAIL = "?!.,:;*_~'\""


def _bare_url(state: StateInline, silent: bool) -> bool:  # noqa: FBT001
    """A written-out http or https address, without the punctuation that ends the sentence."""
    source, position = state.src, state.pos
    if state.linkLevel > 0 or not source.startswith("://", position):
        return False
    scheme = next((s for s in ("https", "http") if source[:position].lower().endswith(s)), "")
    start = position - len(scheme)
    pending = state.pending
    if not scheme or pending[-len(scheme) :].lower() != scheme:
        return False
    if start > 0 and (source[start - 1].isalnum() and not is_cjk(source[start - 1])):
        return False
    end = _url_end(source, position + 3, state.posMax)
    if end == position + 3:
        return False
    if not silent:
        state.pending = pending[: -len(scheme)]
        _push_link(state, source[start:end])
    state.pos = end
    return True


def _url_end(source: str, start: int, limit: int) -> int:
    end = start
    while end < limit and source[end] not in _URL_END and not source[end].isspace():
        # Prose in a script without blanks may follow at once; its punctuation ends the address.
        if source[end] in "、。，．！？「」『』（）【】；：":  # noqa: RUF001
            break
        end += 1
    while end > start:
        last = source[end - 1]
        unbalanced = last in ")]" and source.count(last, start, end) > source.count(
            "(" if last == ")" else "[", start, end
        )
        if last not in _URL_TAIL and not unbalanced:
            break
        end -= 1
    return end


def _push_link(state: StateInline, url: str) -> None:
    token = state.push("link_open", "a", 1)
    token.attrs = {"href": state.md.normalizeLink(url)}
    token.info = "auto"
    token = state.push("text", "", 0)
    token.content = url
    token = state.push("link_close", "a", -1)
    token.info = "auto"


def _inline_math(state: StateInline, silent: bool) -> bool:  # noqa: FBT001
    """Keep `$x$`, `$$x$$`, `\\(x\\)` and `\\[x\\]` as they are written."""
    end = _math_end(state.src, state.pos, state.posMax)
    if end < 0:
        return False
    if not silent:
        state.push("math_inline", "", 0).content = state.src[state.pos : end]
    state.pos = end
    return True


def _math_end(source: str, start: int, limit: int) -> int:
    for opener, closer in (("\\(", "\\)"), ("\\[", "\\]"), ("$$", "$$")):
        if source.startswith(opener, start):
            end = source.find(closer, start + 2, min(limit, start + _MATH_SPAN_MAX))
            body = source[start + 2 : end]
            # \[1\] is an escaped bracket more often than a formula.
            is_formula = opener != "\\[" or any(sign in body for sign in "\\^_={}+ \n")
            return end + 2 if end > start + 2 and is_formula else -1
    if source[start] != "$":
        return -1
    end = source.find("$", start + 1, min(limit, start + _MATH_LINE_MAX))
    if end < 0 or "\n" in source[start:end] or source[start + 1 : start + 2].isspace():
        return -1
    # Prices: a closing dollar follows no blank and stands before no digit.
    if end == start + 1 or source[end - 1].isspace() or source[end + 1 : end + 2].isalnum():
        return -1
    return end + 1


def _mention(state: StateInline, silent: bool) -> bool:  # noqa: FBT001
    """A name that the caller has allowed, written as in `env["names"]` (lower case)."""
    names = state.env.get("names")
    start = state.pos
    if not names or state.linkLevel > 0 or state.src[start] not in "@<":
        return False
    if start > 0 and state.src[start - 1].isalnum() and not is_cjk(state.src[start - 1]):
        return False
    for name in names:
        end = start + len(name)
        if state.src[start:end].lower() != name or end > state.posMax:
            continue
        if name[-1].isalnum() and state.src[end : end + 1].isalnum():
            continue
        if not silent:
            state.push("mention", "", 0).content = name
        state.pos = end
        return True
    return False


def _line_break(state: StateInline, silent: bool) -> bool:  # noqa: FBT001
    """`<br>`: the one piece of HTML that models write in table cells."""
    for tag in ("<br>", "<br/>", "<br />"):
        end = state.pos + len(tag)
        if state.src[state.pos : end].lower() == tag and end <= state.posMax:
            if not silent:
                state.push("hardbreak", "br", 0)
            state.pos = end
            return True
    return False


def block_math(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:  # noqa: FBT001
    """Lines from `$$`, `\\[` or `\\begin{x}` to the end mark or the next blank line, verbatim."""
    if state.is_code_block(start_line):
        return False
    first = state.src[
        state.bMarks[start_line] + state.tShift[start_line] : state.eMarks[start_line]
    ]
    opener, closer = _block_math_marks(first)
    if not opener:
        return False
    end = first.find(closer, len(opener))
    if end >= 0 and first[end + len(closer) :].strip(" \t.,;"):
        return False
    if silent:
        return True
    line = start_line + 1
    while end < 0 and line < end_line and not state.isEmpty(line):
        if state.sCount[line] < state.blkIndent:
            break
        end = state.src.find(closer, state.bMarks[line], state.eMarks[line])
        line += 1
    token = state.push("math_block", "", 0)
    token.content = state.getLines(start_line, line, state.blkIndent, False).strip("\n")  # noqa: FBT003
    token.map = [start_line, line]
    state.line = line
    return True


def block_json(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:  # noqa: FBT001
    """A bare JSON document, from its opening bracket's line to its closing one's or a blank line."""
    if silent or start_line + 1 >= end_line or state.is_code_block(start_line):
        return False
    first, second = (_line(state, line) for line in (start_line, start_line + 1))
    if first not in ("{", "[", "[{") or second[:1] not in ('"', "{", "[", "}", "]"):
        return False
    line = start_line + 1
    indent = state.sCount[start_line]
    while line < end_line and not state.isEmpty(line) and state.sCount[line] >= state.blkIndent:
        line += 1
        if state.sCount[line - 1] <= indent and _line(state, line - 1)[:1] in ("}", "]"):
            break
    token = state.push("code_block", "code", 0)
    token.content = state.getLines(start_line, line, state.blkIndent, False)  # noqa: FBT003
    token.map = [start_line, line]
    state.line = line
    return True


def _line(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].rstrip()


def _block_math_marks(line: str) -> tuple[str, str]:
    if line.startswith("$$") and not line.startswith("$$$"):
        return "$$", "$$"
    if line.startswith("\\[") and not line[2:3].isalnum():
        return "\\[", "\\]"
    if line.startswith("\\begin{") and (name := line[7:].partition("}")[0]).rstrip("*").isalpha():
        return f"\\begin{{{name}}}", f"\\end{{{name}}}"
    return "", ""


def link(state: StateInline, silent: bool) -> bool:  # noqa: FBT001
    """A link or an image, looked for only where a target still follows: this keeps `[[[[` linear."""
    if state.env["last_target"] < state.pos:
        return False
    if state.src[state.pos] == "!":
        return rules_inline.image(state, silent)
    return rules_inline.link(state, silent)


_InlineRule = Callable[[StateInline, bool], bool]

INLINE_RULES: tuple[tuple[str, _InlineRule], ...] = (
    ("math", _inline_math),
    ("url", _bare_url),
    ("mention", _mention),
    ("line_break", _line_break),
)

TRIGGERS: dict[str, tuple[tuple[str, _InlineRule], ...]] = {
    "\n": (("newline", rules_inline.newline),),
    "\\": (("math", _inline_math), ("escape", rules_inline.escape)),
    "$": (("math", _inline_math),),
    "`": (("backticks", rules_inline.backtick),),
    "~": (("strikethrough", rules_inline.strikethrough.tokenize),),
    "*": (("emphasis", rules_inline.emphasis.tokenize),),
    "_": (("emphasis", rules_inline.emphasis.tokenize),),
    "[": (("link", link),),
    "!": (("link", link),),
    "<": (
        ("mention", _mention),
        ("line_break", _line_break),
        ("autolink", rules_inline.autolink),
    ),
    "@": (("mention", _mention),),
    "&": (("entity", rules_inline.entity),),
    ":": (("url", _bare_url),),
}
"""The rules to try at each character; no rule can match at another."""
