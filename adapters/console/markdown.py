"""Markdown to HTML that is safe to show (pure): no HTML of its own, no images, only web and mail links.

Laying out one text costs a bounded amount of work, whatever the text is: see pieces.py.
"""

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from adapters.console.pieces import Piece, pieces_of

_SCHEMES: Final = frozenset({"http", "https", "mailto"})
_HEADING_SHIFT: Final = 2
"""The page has its own first and second level."""
_ALIGNMENTS: Final = {"text-align:right": "right", "text-align:center": "center"}


class Markdown:
    """Renders Markdown. One instance serves everybody."""

    def __init__(self) -> None:
        parser = _SafeMarkdown("commonmark", {"html": False, "breaks": True})
        parser.enable(["table", "strikethrough"])
        for name, rule in (
            ("fence", _fence),
            ("code_block", _fence),
            ("image", _image),
            ("link_open", _link_open),
            ("th_open", _cell),
            ("td_open", _cell),
        ):
            parser.add_render_rule(name, rule)
        self._parser = parser

    def blocks(self, text: str) -> list[str]:
        """The HTML of each top-level block: while a text grows, only the last ones change."""
        return [block for piece in pieces_of(text) for block in self.blocks_of(piece)]

    def blocks_of(self, piece: Piece) -> list[str]:
        """The HTML of one piece; of one that is not laid out, its text as it is."""
        return self._laid_out(piece.text) if piece.is_laid_out else self.plain_blocks(piece.text)

    def plain_blocks(self, text: str) -> list[str]:
        """The text as it is."""
        return [f'<p class="plain">{escapeHtml(text)}</p>'] if text else []

    def _laid_out(self, text: str) -> list[str]:
        tokens = self._parser.parse(text)
        rendered = []
        begin = 0
        for index, token in enumerate(tokens):
            if token.type in ("heading_open", "heading_close"):
                token.tag = f"h{min(6, int(token.tag[1]) + _HEADING_SHIFT)}"
            if token.level == 0 and token.nesting <= 0:
                rendered.append(self._render(tokens[begin : index + 1]))
                begin = index + 1
        return rendered

    def _render(self, tokens: list[Token]) -> str:
        html: str = self._parser.renderer.render(tokens, self._parser.options, {})
        return html


class _SafeMarkdown(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802 - the library's name
        try:
            parts = urlsplit(url)
        except ValueError:
            return False
        return parts.scheme.lower() in _SCHEMES and bool(parts.netloc or parts.scheme == "mailto")


def _fence(
    _renderer: Any, tokens: Sequence[Token], index: int, _options: OptionsDict, _env: EnvType
) -> str:
    token = tokens[index]
    language = token.info.split(maxsplit=1)[0] if token.info.strip() else ""
    name = f' data-language="{escapeHtml(language)}"' if language else ""
    return f'<pre tabindex="0"{name}><code>{escapeHtml(token.content)}</code></pre>\n'


def _image(
    _renderer: Any, tokens: Sequence[Token], index: int, _options: OptionsDict, _env: EnvType
) -> str:
    """A link instead: loading it would tell its host who reads."""
    token = tokens[index]
    address = escapeHtml(str(token.attrGet("src") or ""))
    text = escapeHtml(token.content or "image")
    return f'<a href="{address}" rel="noopener noreferrer nofollow" target="_blank">{text}</a>'


def _link_open(
    renderer: Any, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    tokens[index].attrSet("rel", "noopener noreferrer nofollow")
    tokens[index].attrSet("target", "_blank")
    return str(renderer.renderToken(tokens, index, options, env))


def _cell(
    renderer: Any, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    """A class instead of a style, which the page's content security policy forbids."""
    style = tokens[index].attrs.pop("style", None)
    if style in _ALIGNMENTS:
        tokens[index].attrSet("class", _ALIGNMENTS[str(style)])
    return str(renderer.renderToken(tokens, index, options, env))
