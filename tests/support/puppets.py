"""The puppet's strings: what it is told beside its calls, and what it noted."""

import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from canvas_provider.types import JSONObject, JSONValue
from tests.support.copilot import until

__all__ = ["Puppet", "canvas"]

SOURCE: Final = Path(__file__).parent / "puppet" / "extension.py"

ACTIONS: Final = (
    *("echo", "fail", "wait", "release", "sleep", "die", "say", "write", "call"),
    *("declare", "declare_within"),
)


def canvas(canvas_id: str, **fields: JSONValue) -> JSONObject:
    """Declare a canvas with everything that the puppet can do."""
    return {
        "id": canvas_id,
        "displayName": canvas_id.title(),
        "description": "Does as it is told.",
        "actions": [{"name": name} for name in ACTIONS],
        **fields,
    }


class Puppet:
    """One extension of a session, as the test holds it."""

    def __init__(self, folder: Path, config: JSONObject) -> None:
        self.folder = folder
        """Where it is installed."""
        self.id = f"project:{folder.name}"
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(SOURCE, folder / "extension.py")
        self.configure(config)

    def configure(self, config: JSONObject) -> None:
        """Decide what it declares, and how it behaves, from its next start on."""
        (self.folder / "puppet.json").write_text(json.dumps(config), encoding="utf-8")

    def get_well(self) -> None:
        """Let its opens succeed that were told to fail."""
        (self.folder / "well").touch()

    def fall_ill(self) -> None:
        """Let them fail again."""
        (self.folder / "well").unlink()

    def names(self) -> list[str]:
        """What it noted since its last start, in order: only the names."""
        names = [name for name, _, _ in self._notes()]
        return names[len(names) - names[::-1].index("start") :]

    def notes(self, what: str) -> list[Any]:
        """What it noted under this name, oldest first: params of the calls, by method."""
        return [value for name, value, _ in self._notes() if name == what]

    def times(self, what: str) -> list[float]:
        """When it noted this, by the clock that all processes share, in seconds."""
        return [seconds for name, _, seconds in self._notes() if name == what]

    def calls(self, method: str, instance_id: str) -> list[JSONObject]:
        """The params of the calls of an instance."""
        return [each for each in self.notes(method) if each["instanceId"] == instance_id]

    def inputs(self, instance_id: str) -> list[JSONValue]:
        """The input of each `canvas.open` of an instance; "absent" where there was none."""
        return [each.get("input", "absent") for each in self.calls("canvas.open", instance_id)]

    async def wait_until(
        self,
        holds: Callable[[], bool],
        timeout: float = 20,  # noqa: ASYNC109
    ) -> None:
        """Wait for something that it notes."""
        await until(holds, timeout, lambda: f"{self.folder.name} noted {self._notes()[-10:]}")

    async def wait_noted(self, what: str, count: int = 1, timeout: float = 20) -> Any:  # noqa: ASYNC109
        """Wait until it has noted this so often, and return the last."""
        await self.wait_until(lambda: len(self.notes(what)) >= count, timeout)
        return self.notes(what)[-1]

    @property
    def pid(self) -> int:
        """The process of its last start."""
        return int(self.notes("start")[-1])

    def kill(self) -> None:
        """Kill it from outside, as `kill -9` does."""
        os.kill(self.pid, signal.SIGKILL)

    @property
    def is_running(self) -> bool:
        try:
            os.kill(self.pid, 0)
            return Path(f"/proc/{self.pid}/stat").read_text().split()[2] != "Z"
        except (ProcessLookupError, FileNotFoundError):
            return False

    def _notes(self) -> list[Any]:
        try:
            lines = (self.folder / "notes.jsonl").read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []
        return [json.loads(line) for line in lines]
