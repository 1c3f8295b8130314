"""Extensions for tests that start one: written, and looked at from outside."""

import asyncio
from pathlib import Path

from tests.support.require import ROOT

KANBAN = ROOT / "examples" / "kanban"


def write_extension(folder: Path, name: str, code: str) -> Path:
    """Write the source of an extension, as an author has it."""
    source = folder / name
    source.mkdir()
    (source / "extension.py").write_text(code, encoding="utf-8")
    return source


async def is_listening(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except ConnectionRefusedError:
        return False
    writer.close()
    await writer.wait_closed()
    return True
