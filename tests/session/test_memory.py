"""What stands for a `MemoryStore` in the development host: one file each, found again."""

from pathlib import Path

from canvas_provider import Canvas, JSONFileStore, MemoryStore, create_canvas
from canvas_provider.session.memory import Memory
from canvas_provider.state.sqlite import SQLiteStore


def canvas(name: str, store: MemoryStore | None = None) -> Canvas:
    return create_canvas(id=name, display_name=name, description="Notes.", state=dict, store=store)


def test_without_a_folder_memory_is_memory() -> None:
    own = MemoryStore()
    memory = Memory({"a": canvas("a", own)}, None)
    assert memory.pick("a", own) is own
    assert isinstance(memory.pick("a", None), MemoryStore)
    assert memory.pick("a", None) is memory.pick("b", None)


def test_a_store_on_disk_stays_what_it_is(tmp_path: Path) -> None:
    store = JSONFileStore(tmp_path)
    assert Memory({}, tmp_path).pick("a", store) is store


def test_the_next_process_finds_the_same_files(tmp_path: Path) -> None:
    def paths(*names: str) -> list[Path | None]:
        """As a process picks them, whichever panel is opened first."""
        shared, own = MemoryStore(), MemoryStore()
        canvases = {
            "a": canvas("a", shared),
            "b": canvas("b", shared),
            "C": canvas("C", own),
            "default": canvas("default"),
        }
        memory = Memory(canvases, tmp_path)
        picked = {}
        for name in names:
            store = canvases[name].store
            assert store is None or isinstance(store, MemoryStore)
            stand_in = memory.pick(name, store)
            assert isinstance(stand_in, SQLiteStore)
            picked[name] = stand_in.path
        return [picked[name] for name in sorted(picked)]

    before = paths("a", "b", "C", "default")
    assert paths("default", "C", "b", "a") == before
    capital, first, second, default = before
    assert first == second
    assert len({capital, first, default}) == 3
