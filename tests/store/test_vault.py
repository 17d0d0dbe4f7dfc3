"""What is sealed opens for its own place and key alone."""

import pytest

from config.secret import Secret
from engine.store.errors import SealBroken, SecretKeyMissing, SecretKeyUnknown
from engine.store.vault import Sealed, Vault

KEY = Secret("the key of the lighthouse, long enough")
FORMER = Secret("the key of last year, long enough too")
PLACE = ("model_providers", "7", "api_key")


def test_sealed_text_opens_again_and_is_not_to_be_read() -> None:
    vault = Vault(KEY)
    sealed = vault.seal("sk-ünder the sea", PLACE)
    assert vault.open(sealed, PLACE) == "sk-ünder the sea"
    assert b"under" not in sealed.data
    assert b"sk-" not in sealed.data
    assert sealed.key_id == vault.key_id


def test_same_text_is_never_sealed_alike() -> None:
    vault = Vault(KEY)
    assert vault.seal("x", PLACE).data != vault.seal("x", PLACE).data


@pytest.mark.parametrize(
    "other",
    [
        ("model_providers", "8", "api_key"),
        ("model_providers", "7", "headers"),
        ("user_provider_keys", "7", "api_key"),
        ("model_providers", "7api_key"),
        ("model_providers", "7", "api_key", ""),
    ],
)
def test_sealed_text_does_not_open_elsewhere(other: tuple[str, ...]) -> None:
    vault = Vault(KEY)
    with pytest.raises(SealBroken):
        vault.open(vault.seal("x", PLACE), other)


@pytest.mark.parametrize("index", [0, 1, 5, 13, 20, -1])
def test_damaged_seal_does_not_open(index: int) -> None:
    vault = Vault(KEY)
    sealed = vault.seal("a secret", PLACE)
    data = bytearray(sealed.data)
    data[index] ^= 1
    with pytest.raises(SealBroken):
        vault.open(Sealed(data=bytes(data), key_id=sealed.key_id), PLACE)


@pytest.mark.parametrize("length", [0, 1, 5, 13, 20])
def test_torn_seal_does_not_open(length: int) -> None:
    vault = Vault(KEY)
    sealed = vault.seal("a secret", PLACE)
    with pytest.raises(SealBroken):
        vault.open(Sealed(data=sealed.data[:length], key_id=sealed.key_id), PLACE)


def test_former_key_opens_and_does_not_seal() -> None:
    sealed = Vault(FORMER).seal("x", PLACE)
    vault = Vault(KEY, FORMER)
    assert vault.open(sealed, PLACE) == "x"
    assert vault.seal("x", PLACE).key_id == Vault(KEY).key_id != sealed.key_id


def test_former_key_alone_seals_nothing() -> None:
    with pytest.raises(SecretKeyMissing, match="set THREADWRIGHT_SECRET_KEY"):
        Vault(None, FORMER).seal("x", PLACE)


def test_unknown_key_is_named_by_its_id() -> None:
    sealed = Vault(FORMER).seal("x", PLACE)
    with pytest.raises(SecretKeyUnknown, match=f"secret key {sealed.key_id}, which is not set"):
        Vault(KEY).open(sealed, PLACE)


def test_key_from_a_file_with_a_newline_is_the_same_key() -> None:
    assert Vault(Secret("long enough a key\n")).key_id == Vault(Secret("long enough a key")).key_id


def test_id_of_a_key_says_nothing_of_it() -> None:
    key_id = Vault(KEY).key_id
    assert key_id is not None
    assert len(key_id) == 12
    assert "lighthouse" not in key_id
