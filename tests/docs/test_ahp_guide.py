"""The programs of the guide to AHP, with a host over the embedded runtime."""

import asyncio
import types
from pathlib import Path

import pytest

from tests.docs.test_blocks import run_page
from tests.support.ahp import Desk, hosted
from tests.support.ahp_host import begin, within
from tests.support.origins import open_origin, reply
from tests.support.require import ROOT


@pytest.fixture
def guide(tmp_path: Path) -> types.ModuleType:
    module = types.ModuleType("guide")
    module.__file__ = str(tmp_path / "guide.py")
    run_page(ROOT / "docs" / "guide" / "ahp.md", module)
    return module


async def test_the_first_canvas_is_opened_and_read(guide: types.ModuleType) -> None:
    async with (
        open_origin({"/": reply(b"<p>")}) as origin,
        hosted(desk := Desk(is_cold=True)) as it,
    ):
        desk.shown = {"url": f"{origin.url}/"}
        assert await within(guide.open_first(it.host.url)) == b"<p>"


async def test_titles_are_printed_as_they_change(
    guide: types.ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with hosted(desk := Desk()) as it:
        await desk.runtime.open("board", "b1")
        printed = asyncio.Event()

        def show(kind: str, shown: list[object]) -> None:
            if "My board" in shown:
                printed.set()

        monkeypatch.setitem(guide.__dict__, "print", show)
        watching = begin(guide.watch(it.host.url))
        await within(printed.wait())
        watching.cancel()
        await asyncio.wait([watching])
