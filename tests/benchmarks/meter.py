"""Watches a run from inside: when each chat began, asked its model and ended, and memory in between."""

import asyncio
import gc
import time

from tests.benchmarks.load import Load, Measured, cpu_seconds, percentile, rss_kib


class Meter:
    """One run's stopwatch. `begin`, `asked` and `ended` are called with the chat's number."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._began: dict[int, float] = {}
        self._asked: dict[int, float] = {}
        self._ended: dict[int, float] = {}
        gc.collect()
        self._rss_before = rss_kib()
        self._rss_peak = self._rss_before
        self._cpu_before = cpu_seconds()
        self._wall_before = time.perf_counter()

    def begin(self, chat: int) -> None:
        """The event arrived."""
        self._began[chat] = time.perf_counter()

    def asked(self, chat: int) -> None:
        """The request to the model leaves."""
        self._asked.setdefault(chat, time.perf_counter())

    def ended(self, chat: int) -> None:
        """The answer is stored."""
        self._ended[chat] = time.perf_counter()

    async def sample_memory(self) -> None:
        """Look at the memory while all chats stream."""
        seconds = self._load.parts * self._load.interval_ms / 1000
        while True:
            await asyncio.sleep(max(seconds / 8, 0.05))
            self._rss_peak = max(self._rss_peak, rss_kib())

    def result(self, statements: int) -> Measured:
        """What was measured."""
        load = self._load
        cpu = cpu_seconds() - self._cpu_before
        streaming = load.parts * load.interval_ms / 1000
        to_request = [(self._asked[n] - self._began[n]) * 1000 for n in self._asked]
        late = [(self._ended[n] - self._asked[n] - streaming) * 1000 for n in self._ended]
        return Measured(
            cpu_seconds=cpu,
            turns=len(self._ended),
            parts=len(self._ended) * load.parts,
            statements_per_turn=statements / max(len(self._ended), 1),
            memory_kib_per_chat=(self._rss_peak - self._rss_before) / load.chats,
            to_request_p50_ms=percentile(to_request, 0.5),
            to_request_p99_ms=percentile(to_request, 0.99),
            late_p50_ms=percentile(late, 0.5),
            late_p99_ms=percentile(late, 0.99),
            wall_seconds=time.perf_counter() - self._wall_before,
        )
