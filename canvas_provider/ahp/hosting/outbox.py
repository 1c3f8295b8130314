"""What a client has still to be sent: bounded, however slow it is. Sans-IO.

Every state is sent as a whole. So for a client that lags behind, the newest frame of a kind stands
for those before it: it sees fewer states in between, and ends with the same one. A client that
lags behind even so is to be cut; it can reconnect, and gets a replay or snapshots.
"""

from typing import Final, TypeAlias

__all__ = ["Outbox"]

Key: TypeAlias = tuple[str, str]

LAG: Final = 64
"""Frames that may wait before the superfluous ones among them are left out."""

MAX_FRAMES: Final = 2048

MAX_SIZE: Final = 32 * 1024 * 1024
"""Characters. The largest resource of a relay fits in."""


class Outbox:
    """The frames of one client, in order."""

    def __init__(
        self, *, lag: int = LAG, max_frames: int = MAX_FRAMES, max_size: int = MAX_SIZE
    ) -> None:
        self.size = 0
        """Characters that wait."""
        self._lag = lag
        self._max_frames = max_frames
        self._max_size = max_size
        self._frames: dict[int, tuple[str, Key | None]] = {}
        self._newest: dict[Key, int] = {}
        self._last = 0

    def __len__(self) -> int:
        return len(self._frames)

    def put(self, frame: str, key: Key | None = None) -> bool:
        """Add a frame; False: it is too much, and the client is to be cut."""
        self._last += 1
        if key is not None:
            before = self._newest.get(key)
            if before is not None and len(self._frames) >= self._lag:
                self.size -= len(self._frames.pop(before)[0])
            self._newest[key] = self._last
        self._frames[self._last] = frame, key
        self.size += len(frame)
        return len(self._frames) <= self._max_frames and self.size <= self._max_size

    def take(self) -> str | None:
        """Remove the oldest frame and return it; None if there is none."""
        number = next(iter(self._frames), None)
        if number is None:
            return None
        frame, key = self._frames.pop(number)
        self.size -= len(frame)
        if key is not None and self._newest[key] == number:
            del self._newest[key]
        return frame

    def clear(self) -> None:
        """Forget everything."""
        self._frames.clear()
        self._newest.clear()
        self.size = 0
