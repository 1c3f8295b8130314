"""Instances without a session: what the host would be told is written down instead."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from canvas_provider.canvas.declaration import Canvas, create_canvas
from canvas_provider.canvas.instance import Instance
from canvas_provider.protocol.copilot import SessionCapabilities, SessionEvent
from canvas_provider.state.memory import MemoryStore
from canvas_provider.state.registry import StateRegistry


class Session:
    """The session as handlers see it."""

    working_directory: str | None = "/project"
    workspace_path = "/workspace"
    capabilities: SessionCapabilities = {}
    canvas: Any = None

    async def log(self, message: str, *, level: str = "info", ephemeral: bool = False) -> str:
        return "event"

    async def send(self, prompt: str, *, mode: str = "enqueue") -> str:
        return "message"

    def on(self, event: str, listener: Callable[[SessionEvent], object]) -> Callable[[], None]:
        return lambda: None


class Make:
    """Makes canvases and instances of them; `told` is what `update` told the host."""

    def __init__(self) -> None:
        self.registry = StateRegistry(MemoryStore())
        self.told: list[tuple[str | None, str | None]] = []
        self.instances: list[Instance] = []

    def canvas(self, **settings: Any) -> Canvas:
        given = {"id": "kanban", "display_name": "Kanban", "description": "A board."} | settings
        return create_canvas(**given)

    def instance(self, canvas: Canvas, instance_id: str = "panel", **settings: Any) -> Instance:
        given: dict[str, Any] = {
            "registry": lambda context: self.registry,
            "update": self.update,
        } | settings
        instance = Instance(
            canvas,
            instance_id=instance_id,
            session_id="session",
            extension_id="project:kanban",
            session=Session(),
            **given,
        )
        self.instances.append(instance)
        return instance

    async def opened(self, canvas: Canvas, **settings: Any) -> Instance:
        instance = self.instance(canvas, **settings)
        await instance.open()
        return instance

    async def update(self, instance: Instance, title: str | None, status: str | None) -> None:
        self.told.append((title, status))


@pytest.fixture
async def make() -> AsyncIterator[Make]:
    made = Make()
    yield made
    for instance in made.instances:
        await instance.close(explicit=False)
    await made.registry.aclose()
