"""A transport whose incoming half can be shut for a while, as if the other side hung.

What arrives meanwhile waits, the end included, and is handed over in order when it is opened again.
"""

from canvas_provider.wire.descriptor import DataCallback, EndCallback
from canvas_provider.wire.transports import Transport

__all__ = ["Gate"]


class Gate:
    """Stands in front of `transport`, and is open at first."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._is_shut = False
        self._waiting: list[bytes] = []
        self._end: tuple[Exception | None] | None = None

    def shut(self) -> None:
        """Hold back what arrives from now on. Idempotent."""
        self._is_shut = True

    def open(self) -> None:
        """Let go of what was held back. Idempotent."""
        self._is_shut = False
        waiting, self._waiting = self._waiting, []
        for data in waiting:
            self._on_data(data)
        if self._end is not None:
            (error,), self._end = self._end, None
            self._on_eof(error)

    def start(self, on_data: DataCallback, on_eof: EndCallback) -> None:
        self._on_data = on_data
        self._on_eof = on_eof
        self._transport.start(self._take, self._take_end)

    def write(self, data: bytes) -> None:
        self._transport.write(data)

    async def drain(self) -> None:
        await self._transport.drain()

    async def aclose(self) -> None:
        self._forget()
        await self._transport.aclose()

    def abort(self) -> None:
        self._forget()
        self._transport.abort()

    def _forget(self) -> None:
        self._waiting.clear()
        self._end = None

    def _take(self, data: bytes) -> None:
        if self._is_shut:
            self._waiting.append(bytes(data))
        else:
            self._on_data(data)

    def _take_end(self, error: Exception | None) -> None:
        if self._is_shut:
            self._end = (error,)
        else:
            self._on_eof(error)
