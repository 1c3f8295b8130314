"""Instances without a session: what the host would be told is written down instead."""

from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from canvas_provider.canvas.declaration import Canvas, create_canvas
from canvas_provider.canvas.instance import Instance
from canvas_provider.canvas.view import SessionView
from canvas_provider.state.memory import MemoryStore
from canvas_provider.state.registry import StateRegistry


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
            session=cast(SessionView, SimpleNamespace(working_directory="/project")),
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
