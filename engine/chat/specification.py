"""The generated parts of README.md, drawn from the transition table. Pure but for `main`.

`python -m engine.chat.specification` rewrites them; a test fails while they are stale.
"""

from collections.abc import Iterable
from pathlib import Path

from engine.chat.state import LETTERS, STATES
from engine.chat.transition_table import TABLE

README = Path(__file__).with_name("README.md")
ARCHIVED = "X"


def render(text: str) -> str:
    """Replace what stands between the marks of each generated part. A missing mark raises."""
    for name, part in (("table", table()), ("diagram", diagram())):
        begin, end = f"<!-- generated: {name} -->\n", f"<!-- end of {name} -->"
        before, _, rest = _split(text, begin)
        _, _, after = _split(rest, end)
        text = f"{before}{begin}{part}\n{end}{after}"
    return text


def table() -> str:
    """The states that each command may lead to; `=` the same one, a dot where it is refused."""
    lines = [
        "| command | " + " | ".join(STATES) + " | refusals |",
        "|---" * (len(STATES) + 2) + "|",
    ]
    for kind, row in TABLE.items():
        cells = " | ".join(_cell(state, row[state]) for state in STATES)
        reasons = dict.fromkeys(
            outcome for state in STATES for outcome in sorted(row[state]) if outcome not in STATES
        )
        lines.append(f"| {kind} | {cells} | {', '.join(reasons)} |")
    return "\n".join(lines)


def diagram() -> str:
    """The statuses and what leads from one to another, for Mermaid."""
    edges: dict[tuple[str, str], list[str]] = {}
    for kind, row in TABLE.items():
        for state, outcomes in row.items():
            for outcome in sorted(set(outcomes).intersection(STATES)):
                source, target = state.rstrip("01"), outcome.rstrip("01")
                names = edges.setdefault((source, target), [])
                if source != target and kind.split()[0] not in names:
                    names.append(kind.split()[0])
    names_of = {letter: status.replace("_", " ") for status, letter in LETTERS.items()}
    nodes = list(dict.fromkeys(state.rstrip("01") for state in STATES))
    lines = ["```mermaid", "stateDiagram-v2"]
    lines += [f"    {node}: {_title(node, names_of[node[0]])}" for node in nodes]
    lines.append("    [*] --> R: CreateChat")
    lines += [
        f"    {source} --> {target}: {'<br/>'.join(edges[source, target])}"
        for source, target in _pairs(nodes)
        if edges.get((source, target))
    ]
    return "\n".join([*lines, "```"])


def _pairs(nodes: list[str]) -> Iterable[tuple[str, str]]:
    return ((source, target) for source in nodes for target in nodes)


def _title(node: str, name: str) -> str:
    return f"{name}, archived" if node.endswith(ARCHIVED) else name


def _cell(state: str, outcomes: Iterable[str]) -> str:
    targets = sorted(set(outcomes).intersection(STATES), key=STATES.index)
    return " ".join("=" if target == state else target for target in targets) or "·"


def _split(text: str, mark: str) -> tuple[str, str, str]:
    before, found, after = text.partition(mark)
    if not found:
        raise ValueError(f"README.md has no mark {mark!r}")
    return before, found, after


def main() -> None:
    """Bring README.md up to date with the table."""
    README.write_text(render(README.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
