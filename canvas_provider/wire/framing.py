"""Frames: `Content-Length: N`, an empty line, then N bytes of body. Sans-IO.

Knows bytes, not JSON. The header block is the one of the Language Server Protocol, as the Copilot
runtime reads and writes it (observed with Copilot CLI 1.0.102): names in any case, other headers
allowed and ignored. Whatever cannot be a header is refused as early as it can be told, since
nothing behind it can be found again.
"""

from typing import Final

from canvas_provider.errors import FrameError

__all__ = ["MAX_FRAME_SIZE", "MAX_HEADER_SIZE", "FrameDecoder", "encode_frame"]

MAX_FRAME_SIZE: Final = 64 * 1024 * 1024
"""Largest body a decoder accepts unless told otherwise, in bytes."""

MAX_HEADER_SIZE: Final = 8 * 1024
"""Largest header block, with the empty line that ends it, in bytes."""

END_OF_HEADER: Final = b"\r\n\r\n"
USUAL_HEADER: Final = b"Content-Length: "

MAX_LENGTH_DIGITS: Final = 18
"""More digits are no size of anything, and cost time to convert."""


def encode_frame(body: bytes) -> bytes:
    """Put the header before a body."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class FrameDecoder:
    """Cut a stream into bodies: `feed()` what arrived, then take `frames()`.

    Never raises on bad input: it keeps the reason in `error` and ignores what follows. Frames that
    were whole before are still handed over. Work and memory are proportional to the bytes that
    arrived, however they are split; an announced length alone allocates nothing.

    Args:
        max_frame_size: Largest accepted body in bytes.
    """

    def __init__(self, max_frame_size: int = MAX_FRAME_SIZE) -> None:
        self.max_frame_size = max_frame_size
        self.error: FrameError | None = None
        """Why the stream cannot be read any further."""
        self._frames: list[bytes] = []
        # At most one of these holds bytes: an unfinished header or an unfinished body.
        self._header = b""
        self._body = bytearray()
        # Size of the body in progress; None between frames.
        self._size: int | None = None

    @property
    def is_within_frame(self) -> bool:
        """Whether the stream, if it ended now, would end in the middle of a frame."""
        return self._size is not None or bool(self._header)

    def feed(self, data: bytes) -> None:
        """Take what arrived, in pieces of any size. Next, call `frames()`."""
        if self.error is not None:
            return
        try:
            self._parse(data)
        except FrameError as error:
            self.error = error
            self._header, self._body = b"", bytearray()

    def frames(self) -> list[bytes]:
        """Hand over the bodies that are complete, in order."""
        frames, self._frames = self._frames, []
        return frames

    def _parse(self, data: bytes) -> None:
        position = 0
        # Where the end of the header may begin, at the earliest.
        search = 0
        if self._size is not None:
            position = search = self._fill_body(data, self._size)
        elif self._header:
            search = max(len(self._header) - len(END_OF_HEADER) + 1, 0)
            data = self._header + data
            self._header = b""
        while position < len(data):
            end = data.find(END_OF_HEADER, search)
            if end < 0:
                self._keep_header(data[position:])
                return
            size = _parse_header(data, position, end)
            if size > self.max_frame_size:
                raise FrameError(
                    f"a frame of {size} bytes exceeds the limit of {self.max_frame_size}"
                )
            start = end + len(END_OF_HEADER)
            position = search = start + size
            if position > len(data):
                self._body += memoryview(data)[start:]
                self._size = size
            else:
                self._frames.append(data[start:position])

    def _fill_body(self, data: bytes, size: int) -> int:
        """Append to the body in progress; return how much of `data` belongs to it."""
        missing = size - len(self._body)
        if len(data) < missing:
            self._body += data
            return len(data)
        self._body += memoryview(data)[:missing]
        self._frames.append(bytes(self._body))
        self._body = bytearray()
        self._size = None
        return missing

    def _keep_header(self, part: bytes) -> None:
        # Without this, the rest of a line that something printed would be waited for in vain.
        if part.count(b"\n") != part.count(b"\r\n"):
            raise FrameError("a header line ends in LF alone")
        if len(part) > MAX_HEADER_SIZE:
            raise FrameError(f"the header block exceeds {MAX_HEADER_SIZE} bytes")
        self._header = part


def _parse_header(data: bytes, start: int, end: int) -> int:
    """Read the one `Content-Length` of a header block.

    Raises:
        FrameError: there is none, more than one, or it is no length; or some line is no header.
    """
    # Nearly every header is just this. The rest of the function would read it alike.
    digits = data[start + len(USUAL_HEADER) : end]
    if data.startswith(USUAL_HEADER, start) and digits.isdigit():
        return _parse_length(digits)
    if end + len(END_OF_HEADER) - start > MAX_HEADER_SIZE:
        raise FrameError(f"the header block exceeds {MAX_HEADER_SIZE} bytes")
    fields = [line.partition(b":") for line in data[start:end].split(b"\r\n")]
    if any(not colon or b"\n" in name + value for name, colon, value in fields):
        raise FrameError("a header line is not of the form NAME: VALUE")
    lengths = [value for name, _, value in fields if name.lower() == b"content-length"]
    if len(lengths) != 1:
        raise FrameError(f"{len(lengths)} Content-Length headers, where one is needed")
    return _parse_length(lengths[0].strip(b" \t"))


def _parse_length(digits: bytes) -> int:
    if not digits.isdigit():
        raise FrameError("Content-Length is not a number of bytes")
    if len(digits) > MAX_LENGTH_DIGITS:
        raise FrameError("Content-Length is far beyond any limit")
    return int(digits)
