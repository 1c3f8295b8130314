"""A session over memory, with the embedded runtime or a bare peer at its other end."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from canvas_provider import Canvas
from canvas_provider.canvas.instance import Instance
from canvas_provider.config import Settings
from canvas_provider.host.link import ProviderLink
from canvas_provider.host.runtime import Runtime
from canvas_provider.session.contributions import Contributions
from canvas_provider.session.handshake import Handshake
from canvas_provider.session.session import Session, WebStack
from canvas_provider.session.watch import Clock
from canvas_provider.wire.transports import MemoryTransport, memory_pair

EXTENSION = "project:board"


class NoServed:
    """A page that nobody can reach; it only remembers how it ended."""

    def __init__(self, instance: Instance) -> None:
        self.url = f"http://127.0.0.1:1/{instance.instance_id}/"
        self.ended: list[str] = []
        self.visited = False

    def drop_streams(self) -> int:
        return 0

    async def aclose(self, reason: str) -> None:
        self.ended.append(reason)


class NoWeb:
    """A web stack without sockets."""

    def __init__(self) -> None:
        self.served: dict[str, NoServed] = {}
        self.closed = False

    async def serve(self, instance: Instance) -> NoServed:
        served = NoServed(instance)
        self.served[instance.instance_id] = served
        return served

    async def aclose(self) -> None:
        self.closed = True


def make_session(
    canvases: Sequence[Canvas],
    transport: MemoryTransport,
    *,
    session_id: str = "s-1",
    web: WebStack | None = None,
    settings: Settings | None = None,
    clock: Clock | None = None,
    contributions: Contributions | None = None,
) -> Session:
    handshake = Handshake.begin(
        canvases, contributions, session_id=session_id, settings=settings or Settings()
    )
    return Session(handshake, transport, web if web is not None else NoWeb(), clock=clock)


@dataclass
class Joined:
    runtime: Runtime
    session: Session
    web: NoWeb
    link: ProviderLink


@asynccontextmanager
async def joined(
    *canvases: Canvas,
    runtime: Runtime | None = None,
    contributions: Contributions | None = None,
    settings: Settings | None = None,
) -> AsyncIterator[Joined]:
    """Join the canvases to a runtime; the runtime given survives, as Copilot does a reload."""
    host = runtime or Runtime(working_directory="/project", workspace_path="/workspace")
    ours, theirs = memory_pair()
    link = await host.attach(theirs, extension_id=EXTENSION, extension_name="board")
    web = NoWeb()
    session = make_session(
        canvases,
        ours,
        session_id=host.session_id,
        web=web,
        contributions=contributions,
        settings=settings,
    )
    await session.join()
    try:
        yield Joined(host, session, web, link)
    finally:
        await session.aclose()
        if runtime is None:
            await host.aclose()
