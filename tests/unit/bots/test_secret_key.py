"""The embedded database has a secret key of its own, made once."""

import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from bots.errors import OperatorError
from bots.secret_key import with_secret_key
from config.secret import Secret, SecretUrl
from config.settings import DatabaseSettings, Settings


def settings_in(folder: Path) -> Settings:
    return replace(Settings(), state_dir=str(folder / "state"))


def test_key_is_made_once_for_the_owner_alone(tmp_path: Path) -> None:
    first = with_secret_key(settings_in(tmp_path)).secret_key
    assert first is not None
    assert len(first.reveal()) == 64
    assert with_secret_key(settings_in(tmp_path)).secret_key == first
    (file,) = (tmp_path / "state").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_processes_that_start_at_once_have_the_same_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(with_secret_key, [settings_in(tmp_path)] * 8))
    assert len({each.secret_key for each in made}) == 1
    assert [file.name for file in (tmp_path / "state").iterdir()] == ["secret-key"]


def test_key_that_is_set_and_a_database_of_ones_own_are_left_alone(tmp_path: Path) -> None:
    own = replace(settings_in(tmp_path), secret_key=Secret("a key of my own, long"))
    assert with_secret_key(own) is own
    served = replace(
        settings_in(tmp_path), database=DatabaseSettings(url=SecretUrl("postgresql://h/d"))
    )
    assert with_secret_key(served).secret_key is None
    assert not (tmp_path / "state").exists()


def test_key_that_cannot_be_read_says_how_to_mend_it(tmp_path: Path) -> None:
    (tmp_path / "state" / "secret-key").mkdir(parents=True)
    with pytest.raises(OperatorError, match="mend its rights, or set THREADWRIGHT_SECRET_KEY"):
        with_secret_key(settings_in(tmp_path))
