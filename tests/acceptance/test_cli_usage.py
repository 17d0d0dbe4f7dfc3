"""`threadwright usage`, `limits` and `groups`, as an administrator uses them."""

import csv
import io
import os
import subprocess
import sys
from typing import Any

from engine.store.catalog import Catalog
from engine.store.pool import Pool
from tests.store.story import sql

_PAY = """
INSERT INTO usage_records (organization_id, chat_id, identity, channel, bot, model, cost_micros, created_at)
SELECT id, gen_random_uuid(), 'slack:T1:U1', 'slack:T1:C1', 'wren', '=1+1', $1, $2::text::timestamptz
FROM organizations
"""


def threadwright(database_url: str, *words: str) -> subprocess.CompletedProcess[str]:
    environ = {"PATH": os.environ["PATH"], "DATABASE_URL": database_url}
    command = [sys.executable, "-m", "bots", *words]
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=False)


def done(database_url: str, *words: str) -> str:
    """What a command that must succeed prints."""
    ended = threadwright(database_url, *words)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


async def test_limits_and_groups_are_set_shown_and_cleared(database_url: str, pool: Pool) -> None:
    assert "Nothing is limited" in done(database_url, "limits", "show")
    done(database_url, "limits", "set", "default", "5")
    done(database_url, "limits", "set", "period", "week")
    done(database_url, "limits", "set", "organization", "$1,000")
    done(database_url, "limits", "set", "user", "slack:T1:U1", "0.25")
    refused = threadwright(database_url, "limits", "set", "group", "crew", "3")
    assert refused.returncode == 1
    assert "groups add crew IDENTITY" in refused.stderr
    done(database_url, "groups", "add", "crew", "slack:T1:U1", "slack:T1:U2")
    again = done(database_url, "groups", "add", "crew", "slack:T1:U2", "slack:T1:U3", "slack:T1:U3")
    assert again == "crew: 1 added.\n"
    done(database_url, "groups", "remove", "crew", "slack:T1:U3")
    for words in (
        ("limits", "set", "user", "ada", "5"),
        ("limits", "set", "channel", "C1", "5"),
        ("groups", "add", "crew", "ada"),
    ):
        wrong = threadwright(database_url, *words)
        assert (wrong.returncode, "such as slack:T012:" in wrong.stderr) == (1, True), wrong.stderr
    assert done(database_url, "limits", "set", "group", "crew", "3") == "group crew: $3.00\n"
    shown = done(database_url, "limits", "show").splitlines()
    assert shown[0] == "Limits are for a week of UTC."
    assert [line.split() for line in shown[2:]] == [
        ["default", "everybody", "$5.00"],
        ["organization", "$1,000.00"],
        ["group", "crew", "$3.00"],
        ["user", "slack:T1:U1", "$0.25"],
    ]
    await sql(pool, _PAY, 200_000, "now")
    standing = done(database_url, "limits", "show", "--identity", "slack:T1:U1")
    assert standing.splitlines()[1].split() == ["user", "slack:T1:U1", "user", "$0.20", "$0.25"]
    assert "The week ends at" in standing
    assert done(database_url, "groups", "list").splitlines()[1].split() == [
        "crew",
        "slack:T1:U1,",
        "slack:T1:U2",
        "$3.00",
    ]
    done(database_url, "limits", "clear", "user", "slack:T1:U1")
    done(database_url, "limits", "clear", "organization")
    again = threadwright(database_url, "limits", "clear", "user", "slack:T1:U1")
    assert (again.returncode, "has no limit of its own" in again.stderr) == (1, True)
    done(database_url, "groups", "remove", "crew", "slack:T1:U2")
    done(database_url, "groups", "remove", "crew")
    assert done(database_url, "groups", "list") == ""
    done(database_url, "limits", "off")
    assert "Limits are off" in done(database_url, "limits", "show")


async def test_models_that_never_count_are_told_with_limits(database_url: str, pool: Pool) -> None:
    ended = threadwright(database_url, "limits", "set", "default", "5")
    assert "never count towards a limit: that of the settings" in ended.stderr
    catalog = Catalog(pool)
    await catalog.create_provider({"name": "harbour", "wire": "responses"})
    priced = {"input_price": 0, "output_price": 1}
    for name, fields in (("a", priced), ("b", {}), ("c", {"enabled": False})):
        await catalog.create_model("harbour", {"name": name, "context_limit": 9000, **fields})
    told = threadwright(database_url, "limits", "show").stderr
    assert told == "Models without a price never count towards a limit: harbour:b.\n"


async def test_usage_is_a_table_or_a_csv_that_runs_nothing(database_url: str, pool: Pool) -> None:
    assert done(database_url, "usage") == "No model was asked in this time.\n"
    costs: list[tuple[Any, str]] = [
        (1_500_000, "2026-11-30"),
        (2, "2026-12-01"),
        (None, "2026-12-01"),
    ]
    for cost, day in costs:
        await sql(pool, _PAY, cost, f"{day} 12:00Z")
    table = done(database_url, "usage", "--by", "day").splitlines()
    assert [line.split()[0] for line in table[1:4]] == ["2026-11-30", "2026-12-01", "total"]
    assert "$1.50" in table[1]
    assert "$0.000002" in table[2]
    words = ("--by", "model", "--csv", "--since", "2026-12-01", "--until", "2026-12-02")
    rows = list(csv.reader(io.StringIO(done(database_url, "usage", *words), newline="")))
    assert [row[:3] for row in rows] == [["model", "calls", "unpriced_calls"], ["'=1+1", "2", "1"]]


async def test_moments_have_a_zone_or_are_of_utc(database_url: str, pool: Pool) -> None:
    await sql(pool, _PAY, 2, "2026-12-01 12:00Z")
    for since, calls in (
        ("2026-12-01T11:59:59", "1"),
        ("2026-12-01T12:00:01Z", None),
        ("2026-12-01T13:30:00+02:00", "1"),
        ("2026-12-01T11:30:00-02:00", None),
    ):
        lines = done(database_url, "usage", "--since", since).splitlines()
        assert (lines[1].split()[1] if len(lines) > 1 else None) == calls, since


async def test_wrong_usage_is_said(database_url: str) -> None:
    for words, said in (
        (("limits", "set", "user", "5"), "user needs to be told which"),
        (("limits", "set", "default", "ada", "5"), "default takes no subject"),
        (("limits", "set", "default", "five"), "not an amount"),
        (("limits", "set", "default", "-1"), "'-1' is not an amount between 0"),
        (("limits", "set", "period", "year"), "day, week, month"),
        (("limits", "clear", "user"), "user needs to be told which"),
        (("usage", "--since", "yesterday"), "2026-12-31 or 2026-12-31T08:00:00Z"),
        (("usage", "--since", "2026-12-02", "--until", "2026-12-01"), "--since is after --until"),
    ):
        ended = threadwright(database_url, *words)
        assert (ended.returncode, said in ended.stderr) == (2, True), (words, ended.stderr)
    other = threadwright(database_url, "usage", "--organization", "nobody's")
    assert (other.returncode, "there is no organization" in other.stderr) == (1, True)
