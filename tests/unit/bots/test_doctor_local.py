"""The checks of this machine say what is wrong and how to mend it."""

import email.utils
import time
from pathlib import Path

import pytest

from bots.doctor_local import check_secrets, check_state_dir, clock_findings
from bots.finding import Status
from config.secret import Secret, SecretUrl
from config.settings import AdminSettings, DatabaseSettings, ServerSettings, Settings


@pytest.mark.parametrize(
    ("behind_seconds", "status"),
    [
        (0, Status.OK),
        (30, Status.WARN),
        (-30, Status.WARN),
        (600, Status.FAIL),
        (-600, Status.FAIL),
    ],
)
def test_clock_that_is_apart_is_found(behind_seconds: int, status: Status) -> None:
    date = email.utils.formatdate(time.time() + behind_seconds, usegmt=True)
    (finding,) = clock_findings(date, "Slack")
    assert finding.status is status
    assert (finding.mend is None) == (status is Status.OK)


@pytest.mark.parametrize("date", [None, "", "yesterday"])
def test_answer_without_a_date_says_nothing_about_the_clock(date: str | None) -> None:
    assert clock_findings(date, "Slack") == []


def test_state_directory_below_a_file_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (finding,) = check_state_dir(Settings(state_dir=str(tmp_path / "file" / "state")))
    assert finding.status is Status.FAIL


def test_state_directory_that_does_not_exist_yet_is_fine(tmp_path: Path) -> None:
    (finding,) = check_state_dir(Settings(state_dir=str(tmp_path / "a" / "b")))
    assert finding.status is Status.OK


def test_server_that_others_can_reach_wants_keys() -> None:
    open_server = Settings(
        server=ServerSettings(host="0.0.0.0"),  # noqa: S104 - what the check is about
        database=DatabaseSettings(url=SecretUrl("postgresql://h/d")),
    )
    assert {finding.check for finding in check_secrets(open_server)} == {
        "secret key",
        "admin token",
    }
    assert check_secrets(Settings()) == []
    closed = Settings(
        server=ServerSettings(host="0.0.0.0"),  # noqa: S104 - what the check is about
        database=DatabaseSettings(url=SecretUrl("postgresql://h/d")),
        secret_key=Secret("k" * 32),
        admin=AdminSettings(token=Secret("t" * 16)),
    )
    assert check_secrets(closed) == []
