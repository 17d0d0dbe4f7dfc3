"""The line of a key is found whatever way it is written."""

import pytest

from config.toml_lines import line_of

TEXT = '''# worker = 1
top = 1
[ worker ]
text = """
lease_seconds = 1
"""
"lease_seconds" = 2 # a comment
slack.stop_words = [
  "x",
]
[slack.inner]
a . b = 1
[[many]]
x = 1
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("top", 2),
        ("worker", 3),
        ("worker.text", 4),
        ("worker.lease_seconds", 7),
        ("worker.slack", 8),
        ("slack", 11),
        ("slack.inner.a.b", 12),
        ("many.x", 14),
        ("absent", None),
    ],
)
def test_line_of_a_key(path: str, line: int | None) -> None:
    assert line_of(TEXT, path) == line
