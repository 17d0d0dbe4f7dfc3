"""A command that cannot do its work says why in one line, or shows that it is a bug."""

import errno
import subprocess
import sys

import pytest

from bots.errors import OperatorError, as_operator_error
from engine.store.errors import DatabaseUnavailable, MigrationFailed


def test_unreachable_database_is_told_with_its_hint() -> None:
    fault = DatabaseUnavailable("postgresql://wren:hush@h/d", reason="refused", hint="Start it.")
    error = as_operator_error(fault)
    assert error is not None
    assert str(error) == "no database at postgresql://********@h/d: refused; Start it."


def test_port_in_use_is_told_with_the_options_that_help() -> None:
    error = as_operator_error(OSError(errno.EADDRINUSE, "address already in use"))
    assert error is not None
    assert "--port" in error.mend


@pytest.mark.parametrize(
    "fault",
    [
        MigrationFailed("0001_river", reason="no"),
        OperatorError("no", mend="yes"),
    ],
)
def test_what_a_person_can_mend_is_found_in_a_group(fault: Exception) -> None:
    assert as_operator_error(ExceptionGroup("tasks", [fault, fault])) is not None


@pytest.mark.parametrize(
    "fault",
    [
        ValueError("x"),
        OSError(errno.EIO, "x"),
        ExceptionGroup("t", [OperatorError("n", mend="y"), ValueError()]),
    ],
)
def test_bug_stays_a_bug(fault: Exception) -> None:
    assert as_operator_error(fault) is None


@pytest.mark.parametrize(
    ("raised", "code", "said"),
    [
        (
            "OperatorError('no luck', mend='try xoxb-1-hush')",
            1,
            "threadwright: no luck; try [redacted]\n",
        ),
        ("KeyboardInterrupt()", 130, ""),
        ("ValueError('ours')", 1, "Traceback"),
    ],
)
def test_command_ends_with_its_line_and_exit_code(raised: str, code: int, said: str) -> None:
    program = (
        "from bots.cli import _run\nfrom bots.errors import OperatorError\n"
        "from config.settings import Settings\n"
        f"async def work():\n    raise {raised}\n"
        "_run(Settings(), work())\n"
    )
    done = subprocess.run(
        (sys.executable, "-c", program), capture_output=True, text=True, check=False
    )
    assert done.returncode == code
    assert done.stderr.startswith(said)
    assert said or done.stderr == ""
