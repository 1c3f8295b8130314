"""Extensions for tests that start one: written, installed, and looked at from outside."""

import asyncio
import subprocess
import sys
from pathlib import Path

from tests.support.require import ROOT

KANBAN = ROOT / "examples" / "kanban"


def install(source: Path, project: Path, *options: str) -> Path:
    """Run `canvas-provider install` as a person does, and return where the extension is."""
    command = [sys.executable, "-m", "canvas_provider", "install", str(source)]
    done = subprocess.run(
        [*command, "--project", str(project), *options],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    name = source.stem if source.suffix == ".py" else source.name
    return project / ".github" / "extensions" / name


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
