"""What a run is asked to do and what it measured, as plain values that travel between processes."""

import resource
from pathlib import Path

import msgspec


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """So many chats at once, each answered once with `parts` parts, `interval_ms` apart."""

    system: str
    chats: int
    parts: int
    interval_ms: float
    database_url: str
    model_url: str


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """One run. CPU of this process alone; latencies in milliseconds, memory in KiB a chat."""

    cpu_seconds: float
    turns: int
    parts: int
    statements_per_turn: float
    memory_kib_per_chat: float
    to_request_p50_ms: float
    to_request_p99_ms: float
    late_p50_ms: float
    late_p99_ms: float
    wall_seconds: float


def cpu_seconds() -> float:
    """CPU of this process so far, user and system."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def rss_kib() -> float:
    """Memory of this process that is in RAM."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1024


def percentile(values: list[float], fraction: float) -> float:
    """The value below which that fraction lies; 0 of nothing."""
    if not values:
        return 0.0
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * fraction), len(ordered) - 1)]
