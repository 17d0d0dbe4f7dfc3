"""The recorded replies and how they may be cut."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SSE = Path(__file__).parents[3] / "recordings" / "sse"
CUTS: dict[str, list[int]] = json.loads((SSE / "chunking.json").read_text())["sizes"]


def names(kind: str) -> list[str]:
    return [
        str(path.relative_to(SSE)).removesuffix(".expected.json")
        for path in sorted(SSE.rglob("*.expected.json"))
        if json.loads(path.read_text())["kind"] == kind
    ]


def body(name: str) -> bytes:
    return (SSE / f"{name}.sse").read_bytes()


def expected(name: str) -> dict[str, Any]:
    return dict(json.loads((SSE / f"{name}.expected.json").read_text()))


def pieces(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


def cuts(name: str) -> Iterator[list[bytes]]:
    """Whole, in the sizes that the recording asks for, and at random places."""
    data = body(name)
    yield [data]
    for size in CUTS.get(name, [1] if len(data) < 5000 else [1000]):
        yield pieces(data, size)
    dice = random.Random(name)  # noqa: S311 - cuts, not secrets
    for _ in range(5):
        places = sorted(dice.randrange(len(data) + 1) for _ in range(dice.randrange(1, 40)))
        yield [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]
