"""Alive, ready, and the numbers: /healthz, /readyz, /metrics. None of them needs a token."""

from collections.abc import Awaitable, Callable, Mapping

from aiohttp import web

from bots.metrics import CONTENT_TYPE, Metrics

Check = Callable[[], Awaitable[str | None]]
"""Says what is wrong, or None."""


def health_routes(
    checks: Mapping[str, Check], metrics: Metrics, *, notes: Mapping[str, Check] | None = None
) -> list[web.RouteDef]:
    """Routes for an orchestrator and for Prometheus. Not ready is 503 with the reasons.

    `notes` say what is wrong with a part that the others do without.
    """

    async def alive(_request: web.Request) -> web.Response:
        return web.json_response({"status": "alive"})

    async def ready(_request: web.Request) -> web.Response:
        problems = await _found_by(checks)
        noted = await _found_by(notes or {})
        body: dict[str, object] = {
            "status": "not ready" if problems else "ready",
            "problems": problems,
        }
        if noted:
            body["notes"] = noted
        return web.json_response(body, status=503 if problems else 200)

    async def numbers(_request: web.Request) -> web.Response:
        return web.Response(body=metrics.render(), headers={"Content-Type": CONTENT_TYPE})

    return [
        web.get("/healthz", alive),
        web.get("/readyz", ready),
        web.get("/metrics", numbers),
    ]


async def _found_by(checks: Mapping[str, Check]) -> dict[str, str]:
    return {name: problem for name, check in checks.items() if (problem := await check())}
