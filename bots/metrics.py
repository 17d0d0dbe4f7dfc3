"""What Prometheus may scrape: gauges read when asked, and a counter of every action that is logged."""

import logging
from collections.abc import Callable, Iterator, Mapping

from prometheus_client import CollectorRegistry, Counter, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """The metrics of one process."""

    def __init__(self, gauges: Mapping[str, tuple[str, Callable[[], float]]]) -> None:
        """`gauges`: by name, what it is and how to read it."""
        self._registry = CollectorRegistry()
        self._registry.register(_Gauges(gauges))
        self._actions = Counter(
            "threadwright_actions",
            "Log lines by their stable action name.",
            ("action", "level"),
            registry=self._registry,
        )

    def count_logs(self) -> logging.Handler:
        """A handler that counts every line that carries an action; add it to the root logger."""
        return _ActionCounter(self._actions)

    def render(self) -> bytes:
        """The exposition in Prometheus' text format."""
        return generate_latest(self._registry)


class _Gauges(Collector):
    def __init__(self, gauges: Mapping[str, tuple[str, Callable[[], float]]]) -> None:
        self._gauges = gauges

    def collect(self) -> Iterator[GaugeMetricFamily]:
        for name, (meaning, read) in self._gauges.items():
            yield GaugeMetricFamily(f"threadwright_{name}", meaning, value=read())


class _ActionCounter(logging.Handler):
    def __init__(self, counter: Counter) -> None:
        super().__init__(logging.INFO)
        self._counter = counter

    def emit(self, record: logging.LogRecord) -> None:
        action = getattr(record, "action", None)
        if isinstance(action, str):
            self._counter.labels(action=action, level=record.levelname.lower()).inc()
