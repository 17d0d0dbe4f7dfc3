"""What it costs to turn Markdown into pages: `python -m tests.benchmarks.render_run`.

CPU of this process per KB (1,024 characters) of source, for texts that come whole and for texts that
are looked at every 50 characters as they grow, as a thread does that is never held up by its platform.
A text that comes whole is measured cold, and the best of some runs is taken, since other work disturbs
only upwards. The rows `paragraphs` and `one block` are synthetic and grow, so that whatever is not linear is seen.
"""

import json
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from markdown_it import MarkdownIt

from adapters.delivery.markdown_parser import parse_placed
from adapters.delivery.pagination import NO_PAGES, paginate
from adapters.slack.limits import PAGE_LIMIT
from adapters.slack.markup import MrkdwnRenderer
from tests.benchmarks.load import percentile
from tests.benchmarks.table import print_table

CASES = Path(__file__).parents[1] / "recordings" / "markdown"
RESULTS = Path(__file__).parent / "results-render.json"
STEP = 50
RUNS = 3
KB = 1024
SIZES_KB = (10, 40)
_PARAGRAPH = (
    "Ada keeps the **lighthouse** and `writes` [a log](https://example.com/log) each day.\n\n"
)
_SENTENCE = "Bo sails to the *harbour* at noon, and the wind is fair. "


def main() -> None:
    """Measure every folder of cases and the growing texts; print the table."""
    rows = [_row(name, texts) for name, texts in _texts()]
    RESULTS.write_text(json.dumps(rows, indent=1) + "\n")
    print_table(rows)


def _texts() -> Iterable[tuple[str, list[str]]]:
    for folder in sorted(path for path in CASES.iterdir() if path.is_dir()):
        files = sorted(folder.glob("*.md"))
        yield folder.name, [file.read_bytes().decode("utf-8", "surrogatepass") for file in files]
    for size in SIZES_KB:
        yield f"paragraphs {size} KB", [_PARAGRAPH * (size * KB // len(_PARAGRAPH))]
    for size in SIZES_KB:
        yield f"one block {size} KB", [_SENTENCE * (size * KB // len(_SENTENCE))]


def _row(name: str, texts: list[str]) -> dict[str, object]:
    size = sum(map(len, texts)) / KB
    looks = [_looks(text) for text in texts]
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    return {
        "texts": name,
        "size_kb": size,
        "parser_alone_ms_per_kb": _cpu_ms(texts, lambda text: parser.parse(_whole(text))) / size,
        "whole_ms_per_kb": _cpu_ms(texts, _render_whole) / size,
        "streamed_ms_per_kb": sum(map(sum, looks)) / size,
        "look_p99_ms": percentile([spent for text in looks for spent in text], 0.99),
    }


def _whole(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _cpu_ms(texts: list[str], render: Callable[[str], object]) -> float:
    return sum(min(_timed(text, render) for _ in range(RUNS)) for text in texts)


def _timed(text: str, render: Callable[[str], object]) -> float:
    parse_placed.cache_clear()
    started = time.process_time()
    render(text)
    return (time.process_time() - started) * 1000


def _render_whole(text: str) -> None:
    paginate(text, render=MrkdwnRenderer(), limit=PAGE_LIMIT)


def _looks(text: str) -> list[float]:
    """The CPU of each look at a growing text, in milliseconds."""
    renderer, pages, spent = MrkdwnRenderer(), NO_PAGES, []
    for length in [*range(STEP, len(text), STEP), len(text)]:
        started = time.process_time()
        pages = paginate(
            text[:length],
            render=renderer,
            limit=PAGE_LIMIT,
            known=pages,
            final=length == len(text),
        )
        spent.append((time.process_time() - started) * 1000)
    return spent


if __name__ == "__main__":
    main()
