"""A secret is never printed by accident."""

import copy
import pickle

import pytest

from config.secret import Secret, SecretUrl
from config.settings import Settings, SlackSettings


def test_no_textual_form_shows_the_value() -> None:
    secret = Secret("xoxb-hush")
    settings = Settings(slack=SlackSettings(bot_token=secret))
    for text in (str(secret), repr(secret), f"{secret}", f"{secret!r}", repr(settings)):
        assert "hush" not in text
    assert secret.reveal() == "xoxb-hush"


def test_address_keeps_everything_but_its_password() -> None:
    url = SecretUrl("postgresql://wren:hush@db.harbour:5432/chats?sslmode=require")
    assert str(url) == "postgresql://********@db.harbour:5432/chats?sslmode=require"
    assert str(SecretUrl("redis://:p@ss@h/0")) == "redis://********@h/0"
    by_query = SecretUrl("postgresql://h/d?user=wren&password=hush&sslmode=disable")
    assert str(by_query) == "postgresql://h/d?user=********&password=********&sslmode=disable"
    assert str(SecretUrl("redis://h:6379/0")) == "redis://h:6379/0"


def test_secret_cannot_be_pickled() -> None:
    with pytest.raises(TypeError):
        pickle.dumps(Secret("hush"))
    with pytest.raises(TypeError):
        copy.deepcopy(Secret("hush"))
