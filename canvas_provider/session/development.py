"""What the development host may ask, beyond what Copilot does. Loaded when it first asks."""

import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, cast

from canvas_provider.canvas.declaration import Canvas
from canvas_provider.errors import MethodNotFound
from canvas_provider.protocol.development import (
    DevelopmentMethod,
    DropStreamsResult,
    SourcesResult,
)
from canvas_provider.session import revisions
from canvas_provider.session.instances import Instances
from canvas_provider.types import JSONObject, JSONValue

__all__ = ["answer", "list_own_modules"]

INSTALLED: Final = frozenset({"site-packages", "dist-packages"})
"""Folders of this name hold what was installed, also where another environment's is used."""

OURS: Final = Path(__file__).parents[1]


async def answer(
    method: str, params: JSONObject, canvases: Mapping[str, Canvas], instances: Instances
) -> JSONValue:
    """Answer a request of `protocol.development`.

    Raises:
        MethodNotFound: there is no such request.
        CanvasError: it cannot be done.
    """
    if method == DevelopmentMethod.SOURCES:
        pages = [str(each.page.resolve()) for each in canvases.values() if each.page is not None]
        sources: SourcesResult = {"modules": list_own_modules(), "pages": pages}
        return cast(JSONValue, sources)
    if method == DevelopmentMethod.DROP_STREAMS:
        dropped = instances.drop_streams(str(params.get("instanceId")))
        result: DropStreamsResult = {"dropped": dropped}
        return cast(JSONValue, result)
    if method == DevelopmentMethod.HISTORY:
        return cast(JSONValue, await revisions.follow(instances, params))
    if method == DevelopmentMethod.UNDO:
        return cast(JSONValue, await revisions.undo(instances, params))
    if method == DevelopmentMethod.REDO:
        return cast(JSONValue, await revisions.redo(instances, params))
    raise MethodNotFound(method)


def list_own_modules() -> list[str]:
    """Return the files of imported modules that an author may be editing."""
    installed = [Path(path).resolve() for path in _installed()]
    files = {Path(name).resolve() for name in _files(sys.modules.copy().values())}
    return sorted(
        str(file)
        for file in files
        if INSTALLED.isdisjoint(file.parts) and not any(map(file.is_relative_to, installed))
    )


def _installed() -> Iterator[str]:
    paths = sysconfig.get_paths()
    for name in ("stdlib", "platstdlib", "purelib", "platlib"):
        yield paths[name]
    yield str(OURS)


def _files(modules: Iterable[object]) -> Iterator[str]:
    for module in modules:
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and file.endswith(".py"):
            yield file
