"""One measured process of a scale run: reads a ScaleLoad, prints what it measured."""

import sys

import msgspec

from bots.event_loop import run
from tests.benchmarks.scale.floor import run_floor
from tests.benchmarks.scale.load import ScaleLoad
from tests.benchmarks.scale.replica import run_replica

if __name__ == "__main__":
    load = msgspec.json.decode(sys.argv[1], type=ScaleLoad)
    measured = run(run_floor(load) if load.system == "floor" else run_replica(load))
    sys.stdout.write(msgspec.json.encode(measured).decode() + "\n")
