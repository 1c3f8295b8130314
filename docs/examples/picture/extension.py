"""A canvas that draws, and gives the agent what it has drawn as a picture."""

import struct
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from canvas_provider import CanvasError, ToolResult, create_canvas, run

SIZE = 16
SCALE = 12
WHITE = "#ffffff"


@dataclass
class Picture:
    pixels: list[str] = field(default_factory=lambda: [WHITE] * SIZE * SIZE)
    """Row by row, each as #rrggbb."""


picture = create_canvas(
    id="picture",
    display_name="Picture",
    description=f"{SIZE} by {SIZE} pixels to draw on with the user. Use it for icons and doodles.",
    state=Picture,
    page=Path(__file__).with_name("page.html"),
)

Place = Annotated[int, f"0 to {SIZE - 1}."]


@picture.action
async def paint(picture: Picture, x: Place, y: Place, color: Annotated[str, "As #rrggbb."]) -> None:
    """Paint one pixel."""
    if not (0 <= x < SIZE and 0 <= y < SIZE):
        raise CanvasError("off_the_picture", f"x and y go from 0 to {SIZE - 1}.")
    try:
        rgb(color)
    except ValueError:
        raise CanvasError("not_a_color", "Write the colour as # and six digits.") from None
    picture.pixels[y * SIZE + x] = color.lower()


@picture.action
async def look(picture: Picture) -> ToolResult:
    """Look at the picture as it is now."""
    colors = len(set(picture.pixels))
    # Models that cannot see get the text only.
    return ToolResult(f"The picture, in {colors} colours.", images=[png(picture.pixels)])


def rgb(color: str) -> bytes:
    if len(color) != 7 or color[0] != "#":
        raise ValueError(color)
    return bytes.fromhex(color[1:])


def png(pixels: list[str]) -> bytes:
    """Encode the pixels, each as a square of SCALE by SCALE."""
    lines = bytearray()
    for start in range(0, SIZE * SIZE, SIZE):
        line = b"".join(rgb(pixel) * SCALE for pixel in pixels[start : start + SIZE])
        lines += (b"\0" + line) * SCALE
    side = SIZE * SCALE
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(bytes(lines))), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(kind, data) for kind, data in parts)


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


if __name__ == "__main__":
    run(picture)
