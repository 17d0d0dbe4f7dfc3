"""Break the pure rooms sign by sign and see whether their unit tests notice.

Works in a scratch copy, so that the tree is never touched. Fails when a mutant survives that
survivors.txt has not reviewed, or when a reviewed one no longer does.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.mutation.reviewed import Reviewed, read_reviewed
from tests.mutation.verdicts import FileVerdict, read_verdict

ROOT = Path(__file__).resolve().parent.parent.parent
REVIEWED = Path(__file__).parent / "survivors.txt"
ROOMS = {
    "engine/chat": "tests/unit/engine/chat",
    "engine/models": "tests/unit/engine/models",
}
COPIED = ("bots", "adapters", "config", "tests")
# Shells around networks and clocks: their tests wait, and so would each mutant of theirs.
LEFT_OUT = ("client.py", "demo.py", "live_catalog.py", "recording.py")
CONFIGURATION = """
[tool.mutmut]
source_paths = ["engine"]
only_mutate = {files}
also_copy = {copied}
pytest_add_cli_args_test_selection = ["{tests}"]
pytest_add_cli_args = ["-p", "tests.mutation.quick_first", "-p", "no:xdist", "-p", "no:cacheprovider"]
timeout_multiplier = 5.0
timeout_constant = 3.0
type_check_command = ["{python}", "-m", "mypy", {mypy}, "--output", "json", "--no-warn-unused-ignores"]
"""


def main(arguments: Sequence[str]) -> int:
    """Return 0 when every survivor is a reviewed one."""
    options = parse(arguments)
    reviewed = read_reviewed(REVIEWED)
    verdicts: list[FileVerdict] = []
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="threadwright-mutation-") as folder:
        for room, tests in ROOMS.items():
            if files := chosen(room, options.files):
                scratch = Path(folder) / room
                verdicts += mutate(scratch, files, tests, jobs=options.jobs)
    return report(verdicts, reviewed, minutes=(time.monotonic() - started) / 60)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("-j", "--jobs", type=int, default=2, help="mutants at once (default 2)")
    parser.add_argument("files", nargs="*", help="files of engine/chat or engine/models to mutate")
    options = parser.parse_args(arguments)
    known = {file for room in ROOMS for file in files_of(room)}
    if strange := sorted(set(options.files) - known):
        parser.error(f"{strange[0]} is no file of {' or '.join(ROOMS)}")
    return options


def chosen(room: str, named: Sequence[str]) -> list[str]:
    """Return the room's files that were named; all of the room when none were."""
    if named:
        return [file for file in files_of(room) if file in named]
    return [file for file in files_of(room) if Path(file).name not in LEFT_OUT]


def files_of(room: str) -> list[str]:
    """Return the room's modules, as paths from the root."""
    return sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / room).glob("*.py"))


def mutate(scratch: Path, files: list[str], tests: str, *, jobs: int) -> list[FileVerdict]:
    """Run mutmut over the files in a copy of the tree and read what became of each mutant."""
    copy_tree(scratch)
    with (scratch / "pyproject.toml").open("a", encoding="utf-8") as project:
        project.write(configuration(files, tests))
    write(f"Mutating {len(files)} files against {tests} ...")
    command = (str(Path(sys.executable).parent / "mutmut"), "run", "--max-children", str(jobs))
    quiet = None if sys.stdout.isatty() else subprocess.PIPE
    done = subprocess.run(
        command,
        cwd=scratch,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        stdin=subprocess.DEVNULL,
        stdout=quiet,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if done.returncode:
        write((done.stdout or b"").decode()[-4000:])
        raise SystemExit(f"mutmut failed with {done.returncode}.")
    return [read_verdict(scratch / "mutants", file) for file in files]


def copy_tree(scratch: Path) -> None:
    """Copy what the tests of a room read."""
    ignored = shutil.ignore_patterns("__pycache__", "benchmarks", "soak")
    for folder in ("engine", *COPIED):
        shutil.copytree(ROOT / folder, scratch / folder, ignore=ignored)
    for file in ROOT.glob("*.*"):
        if file.suffix in {".md", ".toml"}:
            shutil.copy2(file, scratch / file.name)


def configuration(files: list[str], tests: str) -> str:
    """Return mutmut's table. It can be read from the working folder's pyproject.toml only."""
    copied = [*COPIED, *(path.name for path in ROOT.glob("*.md"))]
    return CONFIGURATION.format(
        files=files,
        copied=copied,
        tests=tests,
        python=sys.executable,
        mypy=", ".join(f'"{file}"' for file in files),
    )


def report(verdicts: list[FileVerdict], reviewed: Reviewed, *, minutes: float) -> int:
    """Print a line per file, the survivors nobody reviewed and the reviews nobody needs."""
    write(f"{'killed':>7} {'survived':>9} {'timeout':>8} {'untested':>9}")
    for verdict in verdicts:
        write(
            f"{verdict.killed:>7} {len(verdict.survivors):>9} {verdict.timeouts:>8}"
            f" {len(verdict.untested):>9}  {verdict.file}"
        )
    alive = [line for verdict in verdicts for line in (*verdict.survivors, *verdict.untested)]
    unknown = [line for line in alive if not reviewed.knows(line)]
    modules = [verdict.module for verdict in verdicts]
    stale = reviewed.stale(alive, modules)
    for line in unknown:
        write(f"survived: {line}")
    for pattern in stale:
        write(f"reviewed, but no longer there: {pattern}")
    total = sum(verdict.total for verdict in verdicts)
    write(
        f"{total} mutants in {minutes:.1f} minutes: {len(alive)} survived,"
        f" {len(alive) - len(unknown)} of them reviewed."
    )
    return 1 if unknown or stale else 0


def write(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
