"""One measured process: reads a Load from its arguments, prints what it Measured."""

import sys

import msgspec

from bots.event_loop import run
from tests.benchmarks.engine_run import run_engine
from tests.benchmarks.floor import run_floor
from tests.benchmarks.load import Load


def main() -> None:
    """Run the load of the first argument."""
    load = msgspec.json.decode(sys.argv[1], type=Load)
    measured = run(run_floor(load) if load.system == "floor" else run_engine(load))
    sys.stdout.write(msgspec.json.encode(measured).decode() + "\n")


if __name__ == "__main__":
    main()
