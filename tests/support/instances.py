"""An open instance and its app, without a session, a host or a socket."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import httpx

from canvas_provider import Canvas
from canvas_provider.canvas.instance import Instance
from canvas_provider.serving.server import LoopbackServers
from canvas_provider.state.memory import MemoryStore
from canvas_provider.state.registry import StateRegistry
from canvas_provider.state.store import Store
from canvas_provider.testing.asgi import StreamingASGITransport
from canvas_provider.types import Token
from canvas_provider.web.app import InstanceApp, create_app
from canvas_provider.web.service import Served, serve_instance

HOST: Final = "127.0.0.1:4100"
TOKEN: Final = Token("tok-En_of-43-characters-as-token_urlsafe-makes")
BASE: Final = f"http://{HOST}/{TOKEN}/"


class NoSession:
    """Stands where a session would; nothing here needs one."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"a test without a session asked for {name}")


async def _refuse_update(instance: Instance, title: str | None, status: str | None) -> None:
    raise AssertionError("a test without a host asked for an update")


@asynccontextmanager
async def open_instance(
    canvas: Canvas,
    *,
    instance_id: str = "panel",
    store: Store | None = None,
    registry: StateRegistry | None = None,
) -> AsyncIterator[Instance]:
    if registry is None:
        registry = StateRegistry(MemoryStore() if store is None else store)
    instance = Instance(
        canvas,
        instance_id=instance_id,
        session_id="s-1",
        extension_id="project:board",
        registry=lambda context: registry,
        session=NoSession(),
        update=_refuse_update,
    )
    await instance.open({})
    try:
        yield instance
    finally:
        await instance.close(explicit=False)
        await registry.aclose()


@asynccontextmanager
async def open_app(
    canvas: Canvas, store: Store | None = None
) -> AsyncIterator[tuple[InstanceApp, Instance]]:
    """An instance and the app it is served by, at `BASE`."""
    async with open_instance(canvas, store=store) as instance:
        app = create_app(instance, token=TOKEN, host=HOST)
        try:
            yield app, instance
        finally:
            app.close("closed")


@asynccontextmanager
async def open_client(
    canvas: Canvas, store: Store | None = None
) -> AsyncIterator[tuple[httpx.AsyncClient, Instance]]:
    """An instance, and a client at its address."""
    async with open_app(canvas, store) as (app, instance):
        transport = StreamingASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url=BASE) as http:
            yield http, instance


@asynccontextmanager
async def open_served(
    canvas: Canvas, store: Store | None = None
) -> AsyncIterator[tuple[Served, Instance]]:
    """An instance on a real port, for browsers."""
    servers = LoopbackServers()
    async with open_instance(canvas, store=store) as instance:
        served = await serve_instance(instance, servers)
        try:
            yield served, instance
        finally:
            await served.aclose()
            await servers.aclose()
