"""What else may lie where a document should be, and a disk that is full during a write."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from canvas_provider.errors import StoreError
from canvas_provider.state.json_file import JSONFileStore
from tests.support.stores import commit


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes in folders")
async def test_a_named_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    store = JSONFileStore(tmp_path)
    os.mkfifo(store.path("k"))
    async with asyncio.timeout(5):
        with pytest.raises(StoreError, match="is a pipe"):
            await store.load("k")
        with pytest.raises(StoreError, match="is a pipe"):
            await commit(store, "k", 0, {}, [])
    await store.aclose()


@pytest.mark.parametrize("broken", ["write", "fsync", "replace"])
async def test_a_write_that_fails_leaves_the_old_file_and_no_other(
    tmp_path: Path, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = JSONFileStore(tmp_path)
    await commit(store, "k", 0, {"kept": True}, [])
    before = sorted(os.listdir(tmp_path)), store.path("k").read_bytes()

    def fail(*args: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, broken, fail)
        with pytest.raises(StoreError, match="No space left"):
            await commit(store, "k", 1, {"lost": "x" * 100_000}, [])
    assert (sorted(os.listdir(tmp_path)), store.path("k").read_bytes()) == before
    await commit(store, "k", 1, {"kept": 2}, [])
    await store.aclose()
