"""What one process of a scale run is asked to do and what it measured: values between processes."""

from pathlib import Path

import msgspec

TICKS = 100
"""Clock ticks a second in /proc; fixed on Linux."""


class ScaleLoad(msgspec.Struct, frozen=True, kw_only=True):
    """Process `index` of `processes` drives every chat whose number it is modulo `processes`.

    `pause_seconds` between the end of a chat's turn and the next; 0: as fast as it goes.
    `probes`: chats of the next process that this one follows part by part.
    """

    system: str
    index: int
    processes: int
    chats: int
    turns: int
    pause_seconds: float
    probes: int
    database_url: str
    redis_url: str
    model_url: str

    @property
    def own(self) -> range:
        """The numbers of the chats that this process drives."""
        return range(self.index, self.chats, self.processes)


class ScaleMeasured(msgspec.Struct, frozen=True, kw_only=True):
    """One process. Latencies in milliseconds, unsorted; memory in KiB."""

    turns: int
    cpu_seconds: float
    wall_seconds: float
    statements: int
    heartbeats: int
    memory_kib: float
    to_request_ms: list[float]
    to_follower_ms: list[float]
    turn_ms: list[float]


def tree_cpu_seconds(pid: int) -> float:
    """CPU of a process and all that descend from it, the ended ones among them."""
    total = 0.0
    family = {pid}
    for stat in sorted(Path("/proc").glob("[0-9]*/stat"), key=lambda path: int(path.parent.name)):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        number, parent = int(stat.parent.name), int(fields[1])
        if number in family or parent in family:
            family.add(number)
            total += sum(int(fields[place]) for place in (11, 12, 13, 14)) / TICKS
    return total
