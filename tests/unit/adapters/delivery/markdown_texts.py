"""Made-up Markdown whose words are numbered, so that a lost, doubled or moved one is seen."""

from hypothesis import strategies as st

_INLINE = (
    "{w} {w} {w}",
    "{w} **{w} {w}** {w}",
    "*{w}*, _{w}_ and ~~{w}~~",
    "**{w} *{w} {w}* {w}**",
    "`{w} {w}` {w}",
    "[{w} {w}](https://example.com/a_b?c=1&d=2) {w}",
    "https://example.com/path_(x) {w}",
    "{w} & {w} < {w} > {w} &amp; {w}",
    "{w}重要**{w}**です。{w}、{w}",
    "$a_1 * b$ {w} \\(x^2\\) {w}",
    "{w} 👩\u200d💻 {w} 🇯🇵🇩🇪 e\u0301 {w}",
    "a * {w} * b snake_case_{w} 2*3*4 {w}",
    "{w}  \n{w}\\\n{w}",
    "<!channel> <@U1> {w} <b>{w}</b>",
    "**{w}",
    "{w} [ {w} ` {w}",
    "![{w}](https://example.com/i.png) {w}",
)
_BLOCKS = (
    "# {i}",
    "### {i}",
    "{i}",
    "{i}\n{i}\n{i}",
    "{i}. {i}! {i}? {i}. {i}. {i}. {i}. {i}.",
    "- {i}\n- {i}\n  - {i}\n    1. {i}\n    2. {i}\n- [x] {i}\n- [ ] {i}",
    "1. {i}\n1. {i}\n\n   {i}\n2. {i}\n   ```py\n   {c}\n   {c}\n   ```\n3. {i}",
    "> {i}\n> {i}\n>\n> - {i}\n> - {i}",
    "```python\n{c}\n    {c}\n\n{c}\n```",
    "~~~\n{c}\n```\n{c}\n~~~",
    "| Head | Head |\n|---|--:|\n| {k} | {k} |\n| {k} | {k} |\n| {k} | {k} |",
    "    {c}\n    {c}",
    "---",
    "$$\n{c} = \\frac{{a}}{{b}}\n$$",
    "{i}\n===",
    '{{\n  "{c}": 1,\n  "b": ["{c}"]\n}}',
    "- ```\n  {c}\n  ```\n- | Head | Head |\n  |---|---|\n  | {k} | {k} |",
)


@st.composite
def markdown_texts(draw: st.DrawFn, *, blocks_max: int = 12) -> str:
    """A document. Its words are w0x, w1x, ..., in order."""
    count = 0

    def word() -> str:
        nonlocal count
        count += 1
        return f"w{count - 1}x"

    def words(template: str) -> str:
        while "{w}" in template:
            template = template.replace("{w}", word(), 1)
        return template

    def value_of(mark: str) -> str:
        if mark == "{i}":
            return words(draw(st.sampled_from(_INLINE)))
        return " ".join(word() for _ in range(draw(st.sampled_from((1, 2, 9)))))

    parts = []
    for template in draw(st.lists(st.sampled_from(_BLOCKS), min_size=1, max_size=blocks_max)):
        text = template
        # Words are numbered in the order of the text, whatever they stand for.
        while found := [mark for mark in ("{i}", "{c}", "{k}") if mark in text]:
            first = min(found, key=text.index)
            head, _, tail = text.partition(first)
            text = head + value_of(first) + tail
        parts.append(text.replace("{{", "{").replace("}}", "}"))
        parts.append(draw(st.sampled_from(("\n\n", "\n\n", "\n", "\n\n\n\n"))))
    return "".join(parts)


_SOUP = (
    *("a", "b ", "word word word ", "重要", "👩\u200d💻", "e\u0301", "\ud83d", "\ude00", "\0"),
    *(
        "\n",
        "\n\n",
        "\r\n",
        "\t",
        "  ",
        "\n    ",
        "\n- ",
        "\n1. ",
        "\n> ",
        "\n# ",
        "\n---\n",
        "\n===\n",
    ),
    *("`", "``", "```", "\n```\n", "**", "*", "_", "~~", "$", "$$", "\n$$\n", "\\", "\\(", "\\)"),
    *(
        "[",
        "](",
        ")",
        "[x](https://e.com)",
        "http://x.y/z ",
        "<",
        ">",
        "&",
        "&amp;",
        "<br>",
        "<!here>",
    ),
    *("|", "{\n", '{\n"k":1\n}'),
)

markup_soup = st.lists(st.sampled_from(_SOUP), max_size=250).map("".join)
"""Text in which every construct meets every other, most of them broken. It holds no tables."""
