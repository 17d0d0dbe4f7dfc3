"""Usage, limits and groups over HTTP: administrators set and look, everybody is told when it is enough."""

import csv
import io
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import aiohttp
import jsonschema
import pytest

from adapters.http.schemas import SCHEMAS
from tests.acceptance.api_client import ApiClient, serve_api
from tests.fakes.replica import TestReplica

ADMIN = "api:admin"
NO_LIMITS = {"default_limit_micros": None, "organization_limit_micros": None}
_PAY = """
INSERT INTO usage_records (organization_id, chat_id, identity, channel, bot, model, cost_micros, created_at)
SELECT id, gen_random_uuid(), $1, 'slack:T1:C1', 'wren', $2, $3, now() FROM organizations
"""


@pytest.fixture
async def replica(database_url: str) -> AsyncIterator[TestReplica]:
    async with TestReplica.start(database_url, works=False) as started:
        yield started


@pytest.fixture
async def api(replica: TestReplica) -> AsyncIterator[ApiClient]:
    async with serve_api(replica.engine) as client:
        yield client


async def pay(replica: TestReplica, cost: int | None, *, by: str = ADMIN, model: str = "m") -> None:
    async with replica.replica.pool.session() as connection:
        await connection.execute(_PAY, by, model, cost)


def fits(body: object, name: str) -> None:
    """Hold a body to its schema."""
    schema = {"$ref": f"#/components/schemas/{name}", "components": {"schemas": dict(SCHEMAS)}}
    jsonschema.validate(body, schema)


async def put(api: ApiClient, path: str, body: object = None) -> None:
    reply = await api.call("PUT", path, body)
    assert reply.status in (200, 204), reply


async def test_whoever_is_over_a_limit_is_told_how_much_of_what_and_until_when(
    api: ApiClient, replica: TestReplica
) -> None:
    """E12 (HTTP)"""
    chat = await api.post("/chats", {"content": "hello"})
    (message,) = (await api.get(f"/chats/{chat['id']}/messages"))["messages"]
    await put(api, "/limits", {"period": "day", **NO_LIMITS, "default_limit_micros": 100})
    await pay(replica, 120)
    where = f"/chats/{chat['id']}/messages"
    for method, path in (
        ("POST", "/chats"),
        ("POST", where),
        ("PATCH", f"{where}/{message['id']}"),
    ):
        reply = await api.call(method, path, {"content": "more"})
        assert (reply.status, reply.body["code"]) == (409, "usage_limit")
        fits(reply.body, "Problem")
        resets_at = datetime.fromisoformat(reply.body["resets_at"])
        assert timedelta(0) < resets_at - datetime.now(UTC) <= timedelta(days=1)
        facts = [reply.body[name] for name in ("scope", "spent_micros", "limit_micros")]
        assert facts == ["user", 120, 100]
        assert "spent $0.00012 of your $0.0001 limit" in reply.body["detail"]
        item = (await api.call("GET", "/openapi.json")).body["paths"]
        documented = [paths for paths in item.values() if method.lower() in paths]
        assert any("409" in paths[method.lower()]["responses"] for paths in documented)
    listed = await api.get("/chats")
    assert len(listed["chats"]) == 1


async def test_a_request_that_is_repeated_over_the_limit_is_not_refused(api: ApiClient) -> None:
    chat = await api.post("/chats", {"content": "hello"}, Idempotency_Key="one")
    where = f"/chats/{chat['id']}/messages"
    sent = await api.post(where, {"content": "more"}, Idempotency_Key="two")
    await put(api, "/limits", {**NO_LIMITS, "default_limit_micros": 0})
    again = await api.post("/chats", {"content": "hello"}, Idempotency_Key="one")
    assert again["id"] == chat["id"]
    repeated = await api.post(where, {"content": "more"}, Idempotency_Key="two")
    assert (repeated["effect"], repeated["queued_id"]) == ("duplicate", sent["queued_id"])


async def test_limits_and_groups_are_set_looked_at_and_cleared(
    api: ApiClient, replica: TestReplica
) -> None:
    fits(await api.get("/limits"), "Limits")
    assert (await api.get("/limits"))["enabled"] is False
    channel, person = quote("slack:T1:C1", safe=""), quote("slack:T1:U/1", safe="")
    await put(api, "/limits", {"period": "week", **NO_LIMITS, "organization_limit_micros": 900})
    await put(api, f"/groups/crew/members/{person}")
    await put(api, "/limits/group/crew", {"limit_micros": 300})
    await put(api, f"/limits/channel/{channel}", {"limit_micros": 200})
    body = await api.get("/limits")
    fits(body, "Limits")
    assert body == {
        "enabled": True,
        "period": "week",
        "default_limit_micros": None,
        "organization_limit_micros": 900,
        "limits": [
            {"scope": "channel", "subject": "slack:T1:C1", "limit_micros": 200},
            {"scope": "group", "subject": "crew", "limit_micros": 300},
        ],
    }
    groups = await api.get("/groups")
    fits(groups, "Groups")
    assert groups["groups"] == [{"name": "crew", "members": ["slack:T1:U/1"], "limit_micros": 300}]
    await pay(replica, 50, by="slack:T1:U/1")
    status = await api.get(
        "/limits/status", ("identity", "slack:T1:U/1"), ("channel", "slack:T1:C1")
    )
    fits(status, "LimitStatus")
    assert status["source"] == "group"
    assert status["person"] == {"spent_micros": 50, "limit_micros": 300}
    assert status["channel"] == {"spent_micros": 50, "limit_micros": 200}
    assert status["organization"] == {"spent_micros": 50, "limit_micros": 900}
    for path in (
        f"/limits/channel/{channel}",
        f"/groups/crew/members/{person}",
        "/groups/crew",
    ):
        assert (await api.call("DELETE", path)).status == 204
        assert (await api.call("DELETE", path)).status == 404
    assert (await api.get("/limits"))["limits"] == []


@pytest.mark.parametrize(
    ("request_", "body", "status", "field"),
    [
        ("PUT /limits/planet/earth", {"limit_micros": 1}, 404, None),
        ("PUT /limits/group/nobodys", {"limit_micros": 1}, 404, None),
        ("PUT /limits/user/slack:T1:ada", {}, 422, "limit_micros"),
        ("PUT /limits/user/slack:T1:ada", {"limit_micros": -1}, 422, "limit_micros"),
        ("PUT /limits/user/slack:T1:ada", {"limit_micros": 1.5}, 422, "limit_micros"),
        ("PUT /limits/user/slack:T1:ada", {"limit_micros": 2**63}, 422, "limit_micros"),
        ("PUT /limits/user/ada", {"limit_micros": 1}, 422, "subject"),
        ("PUT /limits/user/slack:T1", {"limit_micros": 1}, 422, "subject"),
        ("PUT /limits/user/api:token:ada", {"limit_micros": 1}, 422, "subject"),
        ("PUT /limits/channel/slack:T1:", {"limit_micros": 1}, 422, "subject"),
        ("PUT /limits/channel/api:admin", {"limit_micros": 1}, 422, "subject"),
        ("PUT /groups/crew/members/ada", None, 422, "identity"),
        ("PUT /limits/user/a%00", {"limit_micros": 1}, 422, "subject"),
        ("PUT /limits/user/" + "a" * 401, {"limit_micros": 1}, 422, "subject"),
        ("PUT /groups/a%0Ab/members/slack:T1:ada", None, 422, "group"),
        ("PUT /limits", {"period": "year", **NO_LIMITS}, 422, "period"),
        ("PUT /limits", {"default_limit": 1, **NO_LIMITS}, 400, "default_limit"),
        ("PUT /limits", {"default_limit_micros": 1}, 422, "organization_limit_micros"),
        ("PUT /limits", [], 422, "body"),
        ("GET /usage?by=mood", None, 422, "by"),
        ("GET /usage?since=yesterday", None, 422, "since"),
        ("GET /usage?since=2026-12-02&until=2026-12-01", None, 422, "since"),
        ("GET /usage?until=2026-13-01", None, 422, "until"),
        ("GET /usage?since=0001-01-01T00:00:00%2B23:59", None, 422, "since"),
        ("GET /usage?format=xml", None, 422, "format"),
        ("GET /usage?bye=user", None, 400, "bye"),
        ("GET /limits/status?identity=a&identity=b", None, 422, "identity"),
    ],
)
async def test_what_is_wrong_is_named(
    api: ApiClient, request_: str, body: object, status: int, field: str | None
) -> None:
    method, _, path = request_.partition(" ")
    async with api.session.request(
        method,
        aiohttp.client.URL(api.url(path), encoded=True),
        json=body,
        headers=api.authorization,
    ) as response:
        problem = await response.json()
        assert response.status == status, problem
    fits(problem, "Problem")
    assert [item["field"] for item in problem.get("validations", [])] == ([field] if field else [])


async def test_only_administrators_may_look_or_set(api: ApiClient) -> None:
    made = await api.post("/tokens", {"name": "a program"})
    client = api.as_caller(made["token"])
    for method, path in (
        ("GET", "/usage"),
        ("GET", "/limits"),
        ("PUT", "/limits"),
        ("GET", "/limits/status"),
        ("PUT", "/limits/user/ada"),
        ("DELETE", "/limits/user/ada"),
        ("GET", "/groups"),
        ("DELETE", "/groups/crew"),
        ("PUT", "/groups/crew/members/ada"),
        ("DELETE", "/groups/crew/members/ada"),
    ):
        reply = await client.call(method, path)
        assert (reply.status, reply.body["code"]) == (403, "forbidden"), path


async def test_usage_is_reported_as_json_and_as_a_safe_csv(
    api: ApiClient, replica: TestReplica
) -> None:
    await pay(replica, 5, model='=HYPERLINK("http://x","y")')
    await pay(replica, None, model="free")
    body = await api.get("/usage", ("by", "model"), ("since", "2020-01-01"))
    fits(body, "Usage")
    assert [(row["key"], row["cost_micros"]) for row in body["rows"]] == [
        ('=HYPERLINK("http://x","y")', 5),
        ("free", None),
    ]
    assert (body["total_cost_micros"], body["is_cut"]) == (5, False)
    until = datetime.now(UTC) - timedelta(days=1)
    assert (await api.get("/usage", ("until", until.isoformat())))["rows"] == []

    url = api.url("/usage")
    for headers, params in (({"Accept": "text/csv"}, {}), ({}, {"format": "csv"})):
        async with api.session.get(
            url, params={"by": "model", **params}, headers={**api.authorization, **headers}
        ) as response:
            assert response.content_type == "text/csv"
            assert "attachment" in response.headers["Content-Disposition"]
            assert response.headers["X-Content-Type-Options"] == "nosniff"
            rows = list(csv.reader(io.StringIO(await response.text(), newline="")))
        assert rows[0][:2] == ["model", "calls"]
        assert [row[0] for row in rows[1:]] == ['\'=HYPERLINK("http://x","y")', "free"]
    reply = await api.call(
        "GET", "/usage", headers={"Accept": "text/csv"}, params=[("format", "json")]
    )
    assert reply.body["by"] == "user", "what the query says goes before what the header says"
