"""The one check, the same on a desk and in CI: format, lint, types, contracts, spelling, tests.

Every static step runs, so that one run shows all that is wrong; the tests run only when those
pass. Pytest comes last, so that its closing line is the last line.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("bots", "engine", "adapters", "config")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One tool and how it is called."""

    name: str
    command: tuple[str, ...]


def static_steps() -> tuple[Step, ...]:
    """Return the steps that only read the code."""
    return (
        Step(name="format", command=(tool("ruff"), "format", "--check", "--quiet", ".")),
        Step(name="lint", command=(tool("ruff"), "check", "--quiet", ".")),
        Step(name="types", command=(sys.executable, "-m", "mypy", *ROOMS)),
        Step(name="import contracts", command=(tool("lint-imports"),)),
        Step(name="spelling", command=(tool("codespell"),)),
    )


def test_step(options: argparse.Namespace) -> Step:
    """Return the pytest step for the options."""
    paths = ("tests/unit", "tests/architecture") if options.fast else ("tests",)
    parallel = ("-n", str(options.jobs), "--dist", "loadfile") if options.jobs > 1 else ()
    command = (sys.executable, "-m", "pytest", "-q", *parallel, *paths)
    return Step(name="tests", command=(*command, "--ignore=tests/benchmarks", *options.pytest))


def tool(name: str) -> str:
    """Return the program that belongs to the running interpreter, not another on the PATH."""
    return str(Path(sys.executable).parent / name)


def passes(step: Step) -> bool:
    """Run a step with its output shown, and say how long it took."""
    started = time.monotonic()
    write(f"== {step.name}")
    done = subprocess.run(step.command, cwd=ROOT, stdin=subprocess.DEVNULL, check=False)
    verdict = "ok" if done.returncode == 0 else f"FAILED ({' '.join(step.command[:4])} ...)"
    if step.name != "tests":
        write(f"   {verdict} in {time.monotonic() - started:.1f} s")
    return done.returncode == 0


def write(line: str) -> None:
    """Print a line at once, in order with what the steps print."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.check", description=__doc__)
    parser.add_argument("--static", action="store_true", help="the static steps alone")
    parser.add_argument("--fast", action="store_true", help="unit and architecture tests alone")
    parser.add_argument("-j", "--jobs", type=int, default=2, help="test processes (default 2)")
    parser.add_argument("pytest", nargs="*", help="further arguments for pytest, after --")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    """Return 0 when everything passed."""
    options = parse(arguments)
    failed = [step.name for step in static_steps() if not passes(step)]
    if failed:
        write(f"Failed: {', '.join(failed)}. The tests run once these pass.")
        return 1
    return 0 if options.static or passes(test_step(options)) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
