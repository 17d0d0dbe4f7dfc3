"""No address shows its password, and one that cannot be understood is refused."""

import pytest

from config.address import MASK, is_address, masked_address

POSTGRES = ("postgresql", "postgres")
REDIS = ("redis", "rediss", "unix")
HTTP = ("http", "https")


@pytest.mark.parametrize(
    "address",
    [
        f"{scheme}://{rest}"
        for scheme in ("postgresql", "redis", "https", "x y")
        for rest in (
            "u:pw#canary@h/db",
            "u:pw/canary@h/db",
            "u:pw?canary@h/db",
            "u:5/canary@h/db",
            "u:p@canary@h/db",
            "u:a=canary@h",
            "u:canary",
            "canary@h",
            "u:[canary@h",
            "[canary",
            "h/db?passwd=canary",
            "h/db?Pwd=canary",
            "h/db?password=a@canary",
            "h/db?sslmode=require;password=canary",
            "h/db?pass%77ord=canary",
            "h/db?canary",
            "h/db#canary",
            "h:canary/db",
            "u:p w@canary:canary@h",
        )
    ]
    + ["postgresql:u:canary@h", "canary", "://canary@h"],
)
def test_no_form_of_an_address_shows_its_password(address: str) -> None:
    assert "canary" not in masked_address(address)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("redis://h:6379/0", "redis://h:6379/0"),
        ("postgresql://u:p/w@h:1/db", f"postgresql://{MASK}@h:1/db"),
        (
            "postgresql://a:1,b:2/db?sslmode=require&x=y",
            f"postgresql://a:1,b:2/db?sslmode=require&x={MASK}",
        ),
        ("https://[::1]:80/v1", "https://[::1]:80/v1"),
        ("unix://:p@/run/redis.sock?db=1", f"unix://{MASK}@/run/redis.sock?db=1"),
        ("postgresql:///db?host=/run/pg", "postgresql:///db?host=/run/pg"),
    ],
)
def test_what_is_harmless_stays_readable(address: str, shown: str) -> None:
    assert masked_address(address) == shown


@pytest.mark.parametrize(
    ("address", "schemes"),
    [
        ("postgresql://u:[x@h/db", POSTGRES),
        ("postgresql://u:pw#x@h/db", POSTGRES),
        ("postgresql://u:5/x@h/db", POSTGRES),
        ("postgresql://u:5?x@h/db", POSTGRES),
        ("postgresql://u:p@h:70000/db", POSTGRES),
        ("redis://[x", REDIS),
        ("redis://:pw#x@h", REDIS),
        ("redis:h", REDIS),
        ("http://", HTTP),
        ("http://h:x/", HTTP),
        ("http://h /", HTTP),
        ("ftp://h/", HTTP),
    ],
)
def test_address_that_cannot_be_taken_apart_is_refused(
    address: str, schemes: tuple[str, ...]
) -> None:
    assert not is_address(address, schemes)


@pytest.mark.parametrize(
    ("address", "schemes"),
    [
        ("postgresql://u:p%23@h:5432/db?sslmode=require", POSTGRES),
        ("postgres://a:1,b:2/db", POSTGRES),
        ("postgresql:///db?host=/run/pg", POSTGRES),
        ("redis://:p@ss@h/0", REDIS),
        ("unix:///run/redis.sock", REDIS),
        ("http://[::1]:11434/v1", HTTP),
        ("https://h/@cf/v1", HTTP),
    ],
)
def test_usable_address_is_taken(address: str, schemes: tuple[str, ...]) -> None:
    assert is_address(address, schemes)
